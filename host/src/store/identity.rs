//! Which file a path leads to. An open file outlives its name: whoever keeps one
//! open and never looks again goes on writing to a file that was deleted or
//! replaced, and what is written there is lost.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::path::Path;

/// A file as the file system knows it, whatever its name. While the file is open
/// no other gets the same identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    #[cfg(unix)]
    device: u64,
    #[cfg(unix)]
    inode: u64,
}

impl Identity {
    /// Of the file at the path. Ask before opening the file: should it be
    /// replaced in between, it is opened once too often rather than never again.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        std::fs::metadata(path).map(|metadata| Self::from(&metadata))
    }

    pub(super) fn of_file(file: &File) -> io::Result<Self> {
        file.metadata().map(|metadata| Self::from(&metadata))
    }

    /// Whether the path still leads to this file.
    pub(super) fn is_at(self, path: &Path) -> bool {
        match Self::of(path) {
            Ok(there) => there == self,
            // A path that cannot be looked at says nothing of what is there.
            Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
        }
    }
}

/// Where a file that is open cannot be deleted, that it is there is enough.
impl From<&Metadata> for Identity {
    #[cfg(unix)]
    fn from(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { device: metadata.dev(), inode: metadata.ino() }
    }

    #[cfg(not(unix))]
    fn from(_: &Metadata) -> Self {
        Self {}
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_more_than_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let other = directory.path().join("other");
        let file = File::create(&path).unwrap();
        let identity = Identity::of(&path).unwrap();
        assert_eq!(Identity::of_file(&file).unwrap(), identity);
        assert!(identity.is_at(&path));

        std::fs::rename(&path, &other).unwrap();
        assert!(!identity.is_at(&path), "it is gone");
        assert!(identity.is_at(&other));
        std::fs::write(&path, "").unwrap();
        assert!(!identity.is_at(&path), "another has its name");
        std::fs::rename(&other, &path).unwrap();
        assert!(identity.is_at(&path));
        assert!(!identity.is_at(&path.join("below a file")));
    }
}
