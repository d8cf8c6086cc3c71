//! Who works on a task. Each process that takes on tasks holds a lock on a file
//! of its own; the operating system lets go of it when the process ends, however
//! it ends. A running task whose owner's file is free, or gone, is interrupted.
//!
//! Names are never used again by another process, so whoever gets a shared lock on such a file knows
//! that its owner is dead for good. Only shared locks are taken to find out: two
//! processes that look at the same time do not take each other for the owner.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::connection::make_directory;
use super::error::{Result, StoreError};
use super::identity::Identity;

/// This process's lock, held until it is dropped.
#[derive(Debug)]
pub(super) struct Owner {
    id: String,
    path: PathBuf,
    /// Locked as long as it is open.
    file: File,
}

impl Owner {
    /// Takes a new name in the directory, and clears away what dead owners left.
    pub(super) fn take(directory: &Path) -> Result<Self> {
        make_directory(directory)?;
        clear(directory);
        let id = Uuid::new_v4().to_string();
        let path = lock_path(directory, &id);
        let file = make_locked(&path).map_err(|error| StoreError::directory(directory, &error))?;
        Ok(Self { id, path, file })
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Makes the file anew under the same name if someone has deleted it, so
    /// that the tasks of this process do not pass for interrupted. One that was
    /// taken over meanwhile stays with its new owner: its epoch is another.
    pub(super) fn renew(&mut self, directory: &Path) -> Result<()> {
        let held = Identity::of_file(&self.file);
        if held.is_ok_and(|held| held.is_at(&self.path)) {
            return Ok(());
        }
        make_directory(directory)?;
        self.file =
            make_locked(&self.path).map_err(|error| StoreError::directory(directory, &error))?;
        Ok(())
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // What stays behind is cleared away by the next process.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether the process of that name still runs.
pub(super) fn is_alive(directory: &Path, id: &str) -> bool {
    match File::open(lock_path(directory, id)) {
        Ok(file) => !is_free(&file),
        // A file that is there and cannot be opened says nothing; taking over a
        // task that someone works on is the greater harm.
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

fn is_free(file: &File) -> bool {
    file.try_lock_shared().is_ok()
}

fn lock_path(directory: &Path, id: &str) -> PathBuf {
    directory.join(format!("{id}.lock"))
}

/// The file has its name only once it is locked. Until then it has another, and
/// may be cleared away by someone who takes it for a dead one's.
fn make_locked(path: &Path) -> io::Result<File> {
    let unlocked = path.with_extension("new");
    loop {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&unlocked)?;
        file.lock()?;
        match std::fs::rename(&unlocked, path) {
            Ok(()) => return Ok(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
}

/// Removes the files of dead owners. What cannot be removed is left: it does no
/// harm but to lie there.
fn clear(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let ours =
            path.extension().is_some_and(|extension| extension == "lock" || extension == "new");
        if !ours {
            continue;
        }
        // Held while the file is removed, so that a process about to lock it
        // finds out that it is gone.
        if let Ok(file) = File::open(&path) {
            match file.try_lock_shared() {
                Ok(()) => {
                    let _ = std::fs::remove_file(&path);
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => {
                    tracing::debug!("{}: {error}", path.display());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn an_owner_is_alive_until_it_is_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let owner = Owner::take(directory.path()).unwrap();
        let id = owner.id().to_owned();
        assert!(is_alive(directory.path(), &id));
        drop(owner);
        assert!(!is_alive(directory.path(), &id));
        assert_eq!(names(directory.path()), [""; 0]);
    }

    #[test]
    fn a_free_file_is_that_of_a_dead_owner_and_is_cleared_away() {
        let directory = tempfile::tempdir().unwrap();
        let living = Owner::take(directory.path()).unwrap();
        std::fs::write(directory.path().join("dead.lock"), "").unwrap();
        std::fs::write(directory.path().join("half.new"), "").unwrap();
        std::fs::write(directory.path().join("notes.txt"), "").unwrap();
        assert!(!is_alive(directory.path(), "dead"));
        let later = Owner::take(directory.path()).unwrap();
        let mut expected = vec![
            format!("{}.lock", living.id()),
            format!("{}.lock", later.id()),
            "notes.txt".to_owned(),
        ];
        expected.sort();
        assert_eq!(names(directory.path()), expected);
        assert!(is_alive(directory.path(), living.id()));
    }

    #[test]
    fn an_owner_whose_file_is_deleted_makes_it_anew() {
        let all = tempfile::tempdir().unwrap();
        let directory = all.path().join("owners");
        let mut owner = Owner::take(&directory).unwrap();
        let id = owner.id().to_owned();
        std::fs::remove_dir_all(&directory).unwrap();
        assert!(!is_alive(&directory, &id));
        owner.renew(&directory).unwrap();
        assert!(is_alive(&directory, &id));
        owner.renew(&directory).unwrap();
        assert_eq!(names(&directory), [format!("{id}.lock")]);
        drop(owner);
        assert!(!is_alive(&directory, &id));
    }

    #[test]
    fn looking_twice_at_once_gives_the_same_answer() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("dead.lock");
        std::fs::write(&path, "").unwrap();
        let onlooker = File::open(&path).unwrap();
        onlooker.lock_shared().unwrap();
        assert!(!is_alive(directory.path(), "dead"));
    }

    #[test]
    fn owners_that_start_together_do_not_clear_each_other_away() {
        let directory = tempfile::tempdir().unwrap();
        let owners: Vec<Owner> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..16).map(|_| scope.spawn(|| Owner::take(directory.path()).unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for owner in &owners {
            assert!(is_alive(directory.path(), owner.id()));
        }
        assert_eq!(names(directory.path()).len(), 16);
    }
}
