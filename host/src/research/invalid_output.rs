//! Text that could not be read, laid into a file for the agent that is to correct
//! it. Each file has a private directory to itself, because an agent's program is
//! given that directory to read; and it is locked while it is needed, so that
//! another process that clears up what a crash has left lets it be.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// Below the configuration directory.
const DIRECTORY: &str = "corrections";
const PREFIX: &str = "temp-invalid-output-";
const SUFFIX: &str = ".txt";
/// As long as it is not locked.
const UNLOCKED: &str = ".new";

/// The file; dropping it removes it.
#[derive(Debug)]
pub struct InvalidOutput {
    directory: PathBuf,
    path: PathBuf,
    /// Locked as long as it is open.
    _file: File,
}

impl InvalidOutput {
    /// Writes the text below the configuration directory.
    pub fn write(configuration: &Path, text: &str) -> io::Result<Self> {
        let parent = configuration.join(DIRECTORY);
        if parent.is_symlink() {
            return Err(io::Error::other(format!(
                "{} is a link, which is not followed; a directory has to be there",
                parent.display()
            )));
        }
        loop {
            // Two corrections in the same second do not meet.
            let directory = parent.join(Uuid::new_v4().to_string());
            match Self::write_into(&directory, text) {
                // Another process took the directory for one that a crash left.
                Err(error) if error.kind() == io::ErrorKind::NotFound && parent.is_dir() => {}
                Err(error) => {
                    let _ = fs::remove_dir_all(&directory);
                    return Err(error);
                }
                written => return written,
            }
        }
    }

    fn write_into(directory: &Path, text: &str) -> io::Result<Self> {
        make_private(directory)?;
        let seconds = jiff::Timestamp::now().as_second();
        let path = directory.join(format!("{PREFIX}{seconds}{SUFFIX}"));
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        // It has its name only once it is locked. Who clears up in between takes the
        // other one away, and then it is written again.
        let unlocked = directory.join(format!("{PREFIX}{seconds}{UNLOCKED}"));
        let mut file = options.open(&unlocked)?;
        file.lock()?;
        file.write_all(text.as_bytes())?;
        fs::rename(&unlocked, &path)?;
        Ok(Self { _file: file, directory: directory.to_owned(), path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for InvalidOutput {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.directory) {
            tracing::error!("cannot remove {}: {error}", self.path.display());
        }
    }
}

fn make_private(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

/// Removes the files that crashed processes have left, and tells how many there
/// were. Those of living processes stay, and a directory that cannot be read does
/// not keep the others from being cleared.
pub fn clear(configuration: &Path) -> io::Result<usize> {
    let mut removed = remove_free(configuration)?;
    let parent = configuration.join(DIRECTORY);
    // A link leads elsewhere, where nothing is ours.
    if parent.is_symlink() {
        tracing::warn!("{} is a link, and is not cleared", parent.display());
        return Ok(removed);
    }
    let directories = match fs::read_dir(&parent) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(removed),
        Err(error) => return Err(error),
    };
    for directory in directories.flatten().map(|entry| entry.path()) {
        if directory.is_symlink() || !directory.is_dir() {
            continue;
        }
        match remove_free(&directory) {
            Ok(count) => removed += count,
            // Another process has cleared it just now.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                tracing::warn!("cannot clear {}: {error}", directory.display());
                continue;
            }
        }
        // Fails where a file is still needed, as it should.
        let _ = fs::remove_dir(&directory);
    }
    Ok(removed)
}

/// Removes the files of this name that nobody holds.
fn remove_free(directory: &Path) -> io::Result<usize> {
    let mut removed = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let plain = entry.file_type().is_ok_and(|kind| kind.is_file());
        let ours =
            name.starts_with(PREFIX) && [SUFFIX, UNLOCKED].iter().any(|end| name.ends_with(end));
        if !plain || !ours {
            continue;
        }
        let free = File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
        if !free {
            continue;
        }
        match fs::remove_file(entry.path()) {
            Ok(()) => removed += 1,
            // It was given its name, or removed, in between.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!("cannot remove {}: {error}", entry.path().display()),
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_there_while_it_is_needed_and_gone_afterwards() {
        let configuration = tempfile::tempdir().unwrap();
        let output = InvalidOutput::write(configuration.path(), "no JSON").unwrap();
        let path = output.path().to_owned();
        let name = path.file_name().unwrap().to_str().unwrap();
        let seconds = name.strip_prefix("temp-invalid-output-").unwrap();
        assert!(seconds.strip_suffix(".txt").unwrap().parse::<i64>().unwrap() > 1_700_000_000);
        assert_eq!(fs::read_to_string(&path).unwrap(), "no JSON");
        let alone = fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(alone, 1, "the directory holds only the one file");
        drop(output);
        assert!(!path.exists());
        assert!(!path.parent().unwrap().exists());
    }

    #[test]
    fn two_in_the_same_second_do_not_meet() {
        let configuration = tempfile::tempdir().unwrap();
        let one = InvalidOutput::write(configuration.path(), "one").unwrap();
        let other = InvalidOutput::write(configuration.path(), "other").unwrap();
        assert_ne!(one.path(), other.path());
        drop(one);
        assert_eq!(fs::read_to_string(other.path()).unwrap(), "other");
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_may_read_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let configuration = tempfile::tempdir().unwrap();
        let output = InvalidOutput::write(configuration.path(), "private").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(output.path()), 0o600);
        assert_eq!(mode(output.path().parent().unwrap()), 0o700);
    }

    #[test]
    fn what_crashes_left_is_cleared_and_what_is_needed_stays() {
        let configuration = tempfile::tempdir().unwrap();
        let orphan = configuration.path().join(DIRECTORY).join("gone");
        fs::create_dir_all(&orphan).unwrap();
        fs::write(orphan.join("temp-invalid-output-1.txt"), "").unwrap();
        fs::write(configuration.path().join("temp-invalid-output-2.txt"), "").unwrap();
        fs::write(configuration.path().join("plugins.toml"), "").unwrap();
        fs::write(configuration.path().join("temp-invalid-output-3.md"), "").unwrap();
        let needed = InvalidOutput::write(configuration.path(), "needed").unwrap();

        assert_eq!(clear(configuration.path()).unwrap(), 2);
        assert!(!orphan.exists());
        assert!(needed.path().exists());
        assert!(configuration.path().join("plugins.toml").exists());
        assert!(configuration.path().join("temp-invalid-output-3.md").exists());
        assert_eq!(clear(configuration.path()).unwrap(), 0);
    }

    #[test]
    fn what_was_cut_off_before_it_had_its_name_is_cleared() {
        let configuration = tempfile::tempdir().unwrap();
        let (cut, held) = (configuration.path().join(DIRECTORY).join("cut"), "held");
        let held = configuration.path().join(DIRECTORY).join(held);
        for directory in [&cut, &held] {
            fs::create_dir_all(directory).unwrap();
            fs::write(directory.join("temp-invalid-output-1.new"), "half").unwrap();
        }
        let living = File::open(held.join("temp-invalid-output-1.new")).unwrap();
        living.lock().unwrap();
        assert_eq!(clear(configuration.path()).unwrap(), 1);
        assert!(!cut.exists());
        assert!(held.join("temp-invalid-output-1.new").exists());
    }

    #[cfg(unix)]
    #[test]
    fn one_directory_that_cannot_be_read_does_not_keep_the_others() {
        use std::os::unix::fs::PermissionsExt as _;
        let configuration = tempfile::tempdir().unwrap();
        let parent = configuration.path().join(DIRECTORY);
        for name in ["a", "b", "c"] {
            fs::create_dir_all(parent.join(name)).unwrap();
            fs::write(parent.join(name).join("temp-invalid-output-1.txt"), "").unwrap();
        }
        fs::set_permissions(parent.join("b"), fs::Permissions::from_mode(0o000)).unwrap();
        // Whoever is root can read it all the same.
        let readable = fs::read_dir(parent.join("b")).is_ok();
        assert_eq!(clear(configuration.path()).unwrap(), if readable { 3 } else { 2 });
        assert_eq!(parent.join("b").exists(), !readable);
        assert!(!parent.join("a").exists() && !parent.join("c").exists());
        if !readable {
            fs::set_permissions(parent.join("b"), fs::Permissions::from_mode(0o700)).unwrap();
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_not_followed() {
        let configuration = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let foreign = elsewhere.path().join("one/temp-invalid-output-1.txt");
        fs::create_dir(elsewhere.path().join("one")).unwrap();
        fs::write(&foreign, "").unwrap();
        let link = configuration.path().join(DIRECTORY);
        std::os::unix::fs::symlink(elsewhere.path(), &link).unwrap();
        assert_eq!(clear(configuration.path()).unwrap(), 0);
        assert!(foreign.exists());
        let error = InvalidOutput::write(configuration.path(), "text").unwrap_err();
        assert!(error.to_string().contains("is a link"), "{error}");
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1);

        fs::remove_file(&link).unwrap();
        fs::create_dir(&link).unwrap();
        std::os::unix::fs::symlink(elsewhere.path().join("one"), link.join("one")).unwrap();
        assert_eq!(clear(configuration.path()).unwrap(), 0);
        assert!(foreign.exists());
    }

    #[test]
    fn a_directory_that_cannot_be_read_is_an_error() {
        let configuration = tempfile::tempdir().unwrap();
        assert!(clear(&configuration.path().join("nothing")).is_err());
        let file = configuration.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(clear(&file).is_err());
    }
}
