//! Saving a report: the file is there whole, or what was there before is.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    #[error("cannot write the report to {}: it is a directory", .0.display())]
    Directory(PathBuf),
    #[error("cannot write the report to {}: there is no directory {}", .path.display(), .parent.display())]
    NoParent { path: PathBuf, parent: PathBuf },
    #[error("cannot write the report to {}: {source}", .path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// What would keep `save` from working, known before hours are spent on a report.
pub fn can_save(path: &Path) -> Result<(), SaveError> {
    if path.is_dir() {
        return Err(SaveError::Directory(path.to_owned()));
    }
    let parent = parent(path);
    if !parent.is_dir() {
        return Err(SaveError::NoParent { path: path.to_owned(), parent: parent.to_owned() });
    }
    Ok(())
}

pub fn save(path: &Path, text: &str) -> Result<(), SaveError> {
    can_save(path)?;
    let failed = |source| SaveError::Write { path: path.to_owned(), source };
    // A pipe, a device or a link is written through; replacing it by a file is
    // not what was asked for.
    if fs::symlink_metadata(path).is_ok_and(|existing| !existing.is_file()) {
        let mut file = File::options().write(true).truncate(true).open(path).map_err(failed)?;
        return file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(failed);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = parent(path).join(format!(".{name}.{}.part", uuid::Uuid::new_v4().simple()));
    let written = write_beside(&beside, text).and_then(|()| {
        if let Ok(existing) = fs::metadata(path) {
            fs::set_permissions(&beside, existing.permissions())?;
        }
        fs::rename(&beside, path)
    });
    if written.is_err() {
        // Best effort: the error that matters is the one being returned.
        let _ = fs::remove_file(&beside);
    }
    written.map_err(failed)
}

fn write_beside(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_replaces_the_old_one_and_leaves_nothing_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.md");
        save(&path, "first, and longer\n").unwrap();
        save(&path, "second\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second\n");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_said_before_and_after() {
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(can_save(directory.path()), Err(SaveError::Directory(_))));
        let error = save(&directory.path().join("none/report.md"), "x").unwrap_err();
        assert!(matches!(error, SaveError::NoParent { .. }), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_written_through() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("target.md");
        let link = directory.path().join("link.md");
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        save(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
