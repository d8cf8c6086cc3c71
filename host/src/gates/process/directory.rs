//! A program's working directory: private, empty but for what is laid into it,
//! and gone when it is dropped.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::thread;
use std::time::Duration;

use cap_std::fs::OpenOptionsExt as _;

use crate::gates::{GateError, GateErrorKind};

pub(super) struct WorkingDirectory {
    path: PathBuf,
}

impl WorkingDirectory {
    pub(super) fn create() -> Result<Self, GateError> {
        let create = || {
            let path = tempfile::Builder::new()
                .prefix("bathysphere-")
                .permissions(fs::Permissions::from_mode(0o700))
                .tempdir()?
                .keep();
            let directory = Self { path };
            fs::create_dir(directory.home())?;
            fs::create_dir(directory.temporary())?;
            Ok(directory)
        };
        create().map_err(|error: io::Error| {
            GateError::new(
                GateErrorKind::Unavailable,
                format!("cannot make a directory for the program: {error}"),
            )
            .with_hint("see that the directory named by TMPDIR can be written to")
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn home(&self) -> PathBuf {
        self.path.join("home")
    }

    pub(super) fn temporary(&self) -> PathBuf {
        self.path.join("tmp")
    }

    /// Lays files into the directory, before a program has been there.
    pub(super) fn lay(&self, files: &[(String, Vec<u8>)]) -> Result<(), GateError> {
        for (name, contents) in files {
            let path = self.path.join(checked(name)?);
            let write = || {
                if let Some(parent) = path.parent() {
                    fs::create_dir_all(parent)?;
                }
                let mut options = fs::OpenOptions::new();
                options.write(true).create_new(true).mode(0o600);
                options.open(&path)?.write_all(contents)
            };
            write().map_err(|error: io::Error| {
                let kind = match error.kind() {
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                        GateErrorKind::Unavailable
                    }
                    _ => GateErrorKind::InvalidInput,
                };
                GateError::new(kind, format!("cannot lay the file `{name}` out: {error}"))
            })?;
        }
        Ok(())
    }

    /// Reads what a program has left, without following a link out of here and
    /// without waiting for a pipe.
    pub(super) fn read(&self, name: &str, most: u64) -> Result<Vec<u8>, GateError> {
        let relative = checked(name)?;
        let failed = |error: io::Error| {
            let kind = match error.kind() {
                io::ErrorKind::NotFound => GateErrorKind::NotFound,
                io::ErrorKind::PermissionDenied => GateErrorKind::Refused,
                _ => GateErrorKind::Unavailable,
            };
            GateError::new(kind, format!("cannot read `{name}`: {error}"))
        };
        let directory =
            cap_std::fs::Dir::open_ambient_dir(&self.path, cap_std::ambient_authority())
                .map_err(failed)?;
        let mut options = cap_std::fs::OpenOptions::new();
        options.read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
        let file = directory.open_with(relative, &options).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(GateError::new(
                GateErrorKind::InvalidInput,
                format!("`{name}` is not a plain file"),
            ));
        }
        let mut bytes = Vec::new();
        file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > most {
            return Err(GateError::other(
                "too-large",
                format!("`{name}` has more than {most} bytes"),
            ));
        }
        Ok(bytes)
    }

    /// Removes all of it; calling it again does no harm.
    pub(super) fn remove(&self) {
        for _ in 0..5 {
            match fs::remove_dir_all(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {}
                _ => return,
            }
            // Either a directory was closed to us, or a program that is just
            // dying has added a file meanwhile.
            open_directories(&self.path);
            thread::sleep(Duration::from_millis(5));
        }
        tracing::warn!(path = %self.path.display(), "cannot remove a program's directory");
    }
}

impl Drop for WorkingDirectory {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Gives us back the directories that a program has closed.
fn open_directories(root: &Path) {
    let mut waiting = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        // What cannot be opened cannot be removed either, which is then told.
        let _ = fs::set_permissions(&directory, fs::Permissions::from_mode(0o700));
        let Ok(entries) = fs::read_dir(&directory) else {
            continue;
        };
        waiting.extend(
            entries
                .flatten()
                // Not through links: `file_type` does not follow them.
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path()),
        );
    }
}

/// A relative name that stays below the directory.
fn checked(name: &str) -> Result<&Path, GateError> {
    let path = Path::new(name);
    let below = path.components().all(|part| matches!(part, Component::Normal(_)));
    if name.is_empty() || name.contains('\0') || !below {
        return Err(GateError::new(
            GateErrorKind::InvalidInput,
            format!(
                "`{}` is not a file name relative to the working directory, without `..`",
                name.escape_debug()
            ),
        ));
    }
    Ok(path)
}
