//! The documents that the tests ask about: a copy of `fixtures/documents`, with
//! what a repository cannot hold well laid beside it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A word that stands only in places that must not be searched.
pub const HIDDEN_WORD: &str = "xylophone";

pub struct Documents {
    directory: TempDir,
}

impl Documents {
    /// Markdown, text, reStructuredText, HTML and code; a file that .gitignore
    /// leaves out, a binary one, and one with a name and words beyond ASCII.
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let target = directory.path();
        copy(&fixtures().join("documents"), target);
        write(target, ".gitignore", b"drafts/\n*.log\n");
        write(
            target,
            "drafts/secret.md",
            format!("# Draft\n\nThe password is on the underside of the {HIDDEN_WORD}.\n")
                .as_bytes(),
        );
        write(target, "server.log", format!("a {HIDDEN_WORD} fell over\n").as_bytes());
        let mut picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x20\0\0\0\x20\x08\0\0\0\0".to_vec();
        picture.extend_from_slice(format!("\0\0tEXtComment\0{HIDDEN_WORD} tides\0").as_bytes());
        picture.extend((0..=255_u8).cycle().take(4096));
        write(target, "notes/chart.png", &picture);
        write(
            target,
            "notes/übersicht.md",
            "# Übersicht\n\nDie Gezeiten im Hafen werden alle sechs Minuten gemessen. Der Pegel \
             steht an der\nMole und meldet seinen Wert über Funk.\n\n\
             潮汐は約12時間25分ごとに満潮になる。\n"
                .as_bytes(),
        );
        Self { directory }
    }

    /// Enough documents to be busy with for a while: `files` of about 200 KB.
    pub fn many(files: usize) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for number in 0..files {
            let mut text = format!("# Log book {number}\n\n");
            for entry in 0..2000 {
                let _ = write!(
                    text,
                    "Entry {entry} of book {number}: the sounding at station {} was {} metres.\n\n",
                    (entry * 7 + number * 13) % 101,
                    (entry * 31 + number * 17) % 997,
                );
            }
            write(directory.path(), &format!("book-{number:04}.md"), text.as_bytes());
        }
        Self { directory }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn write(&self, name: &str, contents: &[u8]) {
        write(self.path(), name, contents);
    }
}

pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures")
}

fn write(directory: &Path, name: &str, contents: &[u8]) {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().expect("a file has a parent")).expect("a directory");
    fs::write(&path, contents).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

fn copy(from: &Path, to: &Path) {
    let entries = fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    for entry in entries {
        let entry = entry.expect("a readable directory");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a file type").is_dir() {
            fs::create_dir_all(&target).expect("a directory");
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).expect("a copy");
        }
    }
}
