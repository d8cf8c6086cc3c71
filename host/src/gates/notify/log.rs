//! The line that stands in for a notification: in a file of the data directory, for
//! the user alone, which forgets its older half when it grows too large.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

pub const NAME: &str = "notifications.log";

const MOST_BYTES: u64 = 256 << 10;

/// One line, whatever is in it; a log that cannot be written is no reason to fail.
pub fn append(directory: &Path, text: &str) {
    let path = directory.join(NAME);
    let line = format!("{} {}\n", jiff::Timestamp::now().strftime("%FT%TZ"), one_line(text));
    if let Err(error) = write(&path, line.as_bytes(), MOST_BYTES) {
        tracing::warn!("cannot write to {}: {error}", path.display());
    }
}

/// Without what would end the line, or steer the terminal that shows it.
pub(super) fn one_line(text: &str) -> String {
    let spaced: String = text.chars().map(|one| if one.is_control() { ' ' } else { one }).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn write(path: &Path, line: &[u8], most: u64) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        // A link would lead what is written elsewhere.
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32)
        .open(path)?;
    // Several may tell of several tasks at once. Whoever does not get the lock soon
    // writes all the same, and leaves the file as long as it is.
    let locked = lock(&file);
    if locked && file.metadata()?.len() + line.len() as u64 > most {
        forget(&mut file, most / 2)?;
    }
    file.write_all(line)
}

fn lock(file: &File) -> bool {
    (0..50).any(|attempt| {
        if attempt > 0 {
            thread::sleep(Duration::from_millis(2));
        }
        file.try_lock().is_ok()
    })
}

/// Keeps whole lines, no more than `most` bytes of the newest.
fn forget(file: &mut File, most: u64) -> io::Result<()> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut rest = Vec::new();
    file.read_to_end(&mut rest)?;
    let first = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |end| end + 1);
    file.set_len(0)?;
    file.write_all(&rest[first..])
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_line_stays_a_line_and_is_nobody_elses() {
        let directory = tempfile::tempdir().unwrap();
        append(directory.path(), "first\nof two \u{1b}[31mlines");
        append(directory.path(), "second");
        let path = directory.path().join(NAME);
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].ends_with("Z first of two [31mlines"), "{text}");
        assert!(lines[1].ends_with("Z second") && lines.len() == 2, "{text}");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn it_forgets_whole_lines_and_the_oldest_first() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(NAME);
        for number in 0..100 {
            write(&path, format!("line {number:03}\n").as_bytes(), 200).unwrap();
            assert!(path.metadata().unwrap().len() <= 200);
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.ends_with("line 098\nline 099\n"), "{text}");
        assert!(text.lines().count() >= 10 && text.lines().all(|line| line.len() == 8), "{text}");
    }

    #[test]
    fn a_link_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let elsewhere = directory.path().join("elsewhere");
        std::os::unix::fs::symlink(&elsewhere, directory.path().join(NAME)).unwrap();
        append(directory.path(), "text");
        assert!(!elsewhere.exists());
    }
}
