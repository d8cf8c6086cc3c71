//! `--docs`: refused at once when it names nothing that can be read. What may be
//! read of it is decided below, by grants.

use std::io;
use std::path::{Path, PathBuf};

use crate::tasks::ErrorReport;

pub fn check(directories: &[PathBuf]) -> Result<(), ErrorReport> {
    directories.iter().try_for_each(|directory| check_one(directory))
}

fn check_one(directory: &Path) -> Result<(), ErrorReport> {
    let shown = directory.display();
    let (message, hint) = match std::fs::read_dir(directory) {
        Ok(_) => return Ok(()),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound => (
                format!("--docs {shown}: there is no such directory"),
                "name a directory that exists, such as `--docs .`".to_owned(),
            ),
            io::ErrorKind::NotADirectory => (
                format!("--docs {shown}: this is a file, not a directory"),
                format!(
                    "name the directory that it is in: `--docs {}`",
                    parent(directory).display()
                ),
            ),
            io::ErrorKind::PermissionDenied => (
                format!("--docs {shown}: this directory may not be read"),
                "give yourself the right to read it, or name another".to_owned(),
            ),
            _ => {
                (format!("--docs {shown}: {error}"), "name a directory that can be read".to_owned())
            }
        },
    };
    Err(ErrorReport { code: "INVALID_INPUT".to_owned(), message, hint: Some(hint) })
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_directory_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file.md");
        std::fs::write(&file, "x").unwrap();
        check(&[directory.path().to_owned()]).unwrap();
        let missing =
            check(&[directory.path().to_owned(), directory.path().join("none")]).unwrap_err();
        assert!(missing.message.ends_with("none: there is no such directory"), "{missing:?}");
        let file = check(&[file]).unwrap_err();
        assert!(file.message.ends_with("file.md: this is a file, not a directory"), "{file:?}");
        assert!(file.hint.unwrap().contains(&directory.path().display().to_string()));
    }
}
