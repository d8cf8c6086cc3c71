//! A program's private directory: an empty working directory, a home and a
//! temporary directory side by side, gone when it is dropped.
//!
//! They are siblings so that what a program keeps in its home is not part of what
//! it is asked to work on.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use cap_std::fs::{Dir, OpenOptionsExt as _};

use crate::gates::{GateError, GateErrorKind};

const PREFIX: &str = "bathysphere-run-";
const WORK: &str = "work";
const HOME: &str = "home";
const TEMPORARY: &str = "tmp";

/// What a name in the private home begins with.
const HOME_PREFIX: &str = "~/";

/// What is listed at the most, and how deep: a program that makes more directories
/// than this has not made them for us to read.
const LISTED: usize = 4096;
const LISTED_DEPTH: usize = 16;

/// One that is younger than this may still be in the making.
const YOUNG: Duration = Duration::from_mins(1);

/// How many there are, until they are removed.
static PRESENT: AtomicUsize = AtomicUsize::new(0);

/// How many directories of programs are still there, or just being removed.
pub(super) fn present() -> usize {
    PRESENT.load(Ordering::Acquire)
}

pub(super) struct PrivateDirectory {
    path: PathBuf,
    /// Locked as long as it is open, so that another process that clears up what
    /// a crash has left lets it be.
    _lock: fs::File,
    /// Opened before a program was here, so that one that puts a link in a
    /// directory's place does not lead us elsewhere.
    root: Dir,
}

impl PrivateDirectory {
    pub(super) fn create() -> Result<Self, GateError> {
        let create = || {
            let temporary = tempfile::Builder::new()
                .prefix(PREFIX)
                .permissions(fs::Permissions::from_mode(0o700))
                .tempdir()?;
            let root = Dir::open_ambient_dir(temporary.path(), cap_std::ambient_authority())?;
            let lock = fs::File::open(temporary.path())?;
            lock.lock()?;
            PRESENT.fetch_add(1, Ordering::AcqRel);
            let directory = Self { path: temporary.keep(), _lock: lock, root };
            for name in [WORK, HOME, TEMPORARY] {
                fs::create_dir(directory.path.join(name))?;
            }
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

    #[cfg(test)]
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn work(&self) -> PathBuf {
        self.path.join(WORK)
    }

    pub(super) fn home(&self) -> PathBuf {
        self.path.join(HOME)
    }

    pub(super) fn temporary(&self) -> PathBuf {
        self.path.join(TEMPORARY)
    }

    /// Lays files into the directory, before a program has been there.
    pub(super) fn lay(&self, files: &[(String, Vec<u8>)]) -> Result<(), GateError> {
        for (name, contents) in files {
            let path = self.path.join(located(name)?);
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
        let relative = located(name)?;
        let failed = |error: io::Error| {
            let kind = match error.kind() {
                io::ErrorKind::NotFound => GateErrorKind::NotFound,
                io::ErrorKind::PermissionDenied => GateErrorKind::Refused,
                _ => GateErrorKind::Unavailable,
            };
            GateError::new(kind, format!("cannot read `{name}`: {error}"))
        };
        let mut options = cap_std::fs::OpenOptions::new();
        options.read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
        let file = self.root.open_with(relative, &options).map_err(failed)?;
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

    /// The plain files that a program has left, as `read` takes them, in order.
    /// Links are neither listed nor followed.
    pub(super) fn list(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut visited = 0;
        for (place, prefix) in [(WORK, ""), (HOME, HOME_PREFIX)] {
            if let Ok(directory) = self.root.open_dir(place) {
                list_into(&mut names, &mut visited, &directory, prefix, 0);
            }
        }
        names.sort_unstable();
        names
    }

    /// Removes all of it; calling it again does no harm.
    pub(super) fn remove(&self) {
        remove(&self.path);
    }
}

fn remove(path: &Path) -> bool {
    for _ in 0..5 {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {}
            _ => return true,
        }
        // Either a directory was closed to us, or a program that is just
        // dying has added a file meanwhile.
        open_directories(path);
        thread::sleep(Duration::from_millis(5));
    }
    tracing::warn!(path = %path.display(), "cannot remove a program's directory");
    false
}

/// Removes the directories that processes of this user which were killed have left
/// among the temporary files, and tells how many there were.
pub fn clear_leftovers(temporary: &Path) -> usize {
    let entries = fs::read_dir(temporary).into_iter().flatten().flatten();
    let left = entries.filter(|entry| {
        entry.file_name().to_string_lossy().starts_with(PREFIX) && is_left(&entry.path())
    });
    left.filter(|entry| remove(&entry.path())).count()
}

/// Made by us, some time ago, and held by nobody.
fn is_left(path: &Path) -> bool {
    let ours = || -> io::Result<bool> {
        let metadata = fs::symlink_metadata(path)?;
        let young = metadata.modified()?.elapsed().is_ok_and(|age| age < YOUNG);
        if !metadata.is_dir() || young || metadata.uid() != rustix::process::geteuid().as_raw() {
            return Ok(false);
        }
        Ok(fs::File::open(path)?.try_lock().is_ok())
    };
    ours().unwrap_or(false)
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        self.remove();
        PRESENT.fetch_sub(1, Ordering::AcqRel);
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

/// Adds the files below a directory. What cannot be read, or has no name in
/// UTF-8, is left out: it could not be asked for either.
fn list_into(
    names: &mut Vec<String>,
    visited: &mut usize,
    directory: &Dir,
    prefix: &str,
    depth: usize,
) {
    let Ok(entries) = directory.entries() else { return };
    for entry in entries.flatten() {
        *visited += 1;
        if *visited > LISTED {
            return;
        }
        let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else {
            continue;
        };
        if kind.is_file() {
            names.push(format!("{prefix}{name}"));
        } else if kind.is_dir()
            && depth < LISTED_DEPTH
            && let Ok(below) = entry.open_dir()
        {
            list_into(names, visited, &below, &format!("{prefix}{name}/"), depth + 1);
        }
    }
}

/// Where a plugin's name for a file leads, from the private directory: into the
/// working directory, or with `~/` into the home, and never out of them.
fn located(name: &str) -> Result<PathBuf, GateError> {
    let (place, relative) = match name.strip_prefix(HOME_PREFIX) {
        Some(relative) => (HOME, relative),
        None => (WORK, name),
    };
    let below = Path::new(relative).components().all(|part| matches!(part, Component::Normal(_)));
    if relative.is_empty() || relative.contains('\0') || !below {
        return Err(GateError::new(
            GateErrorKind::InvalidInput,
            format!(
                "`{}` is not a file name relative to the working directory or to `~/`, without \
                 `..`",
                name.escape_debug()
            ),
        ));
    }
    Ok(Path::new(place).join(relative))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn what_killed_processes_left_is_removed_and_nothing_else() {
        let temporary = tempfile::tempdir().unwrap();
        let make = |name: &str, age: u64| {
            let path = temporary.path().join(name);
            fs::create_dir_all(path.join(HOME)).unwrap();
            let then = SystemTime::now() - Duration::from_secs(age);
            fs::File::open(&path).unwrap().set_modified(then).unwrap();
            path
        };
        let left = make("bathysphere-run-left", 3600);
        let held = make("bathysphere-run-held", 3600);
        let young = make("bathysphere-run-young", 5);
        let other = make("bathysphere-notes", 3600);
        let lock = fs::File::open(&held).unwrap();
        lock.lock().unwrap();

        assert_eq!(clear_leftovers(temporary.path()), 1);
        assert!(!left.exists());
        assert!(held.exists() && young.exists() && other.exists());
        drop(lock);
        assert_eq!(clear_leftovers(temporary.path()), 1);
        assert_eq!(clear_leftovers(&temporary.path().join("nothing")), 0);
    }

    #[test]
    fn a_directory_in_use_is_held() {
        let directory = PrivateDirectory::create().unwrap();
        assert!(fs::File::open(directory.path()).unwrap().try_lock().is_err());
    }
}
