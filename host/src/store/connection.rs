//! Opening the file: the directory above it, who may read it, and how every
//! connection is set up.

use std::fs::{DirBuilder, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use super::error::{Fault, Result, StoreError};
use super::identity::Identity;
use super::schema;

/// Where the file is, and how long to wait for other processes that write to it.
#[derive(Debug, Clone)]
pub(super) struct Location {
    pub(super) path: PathBuf,
    pub(super) busy_timeout: Duration,
}

/// A connection, and the file that it is to.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) connection: Connection,
    pub(super) identity: Identity,
}

/// Held while the file is made and opened. Closing a file drops every POSIX lock
/// that this process holds on it, those of SQLite as well, so nobody may open
/// the database between our making the file and our closing it.
static OPENING: Mutex<()> = Mutex::new(());

impl Location {
    /// The directory that holds the file.
    pub(super) fn directory(&self) -> &Path {
        match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        }
    }

    /// A connection that may write, to a database that has the newest schema.
    pub(super) fn open_writer(&self) -> Result<Opened> {
        self.try_open_writer().map_err(|error| error.at(&self.path))
    }

    fn try_open_writer(&self) -> Result<Opened> {
        make_directory(self.directory())?;
        let guard = OPENING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.make_file()?;
        let identity = self.identity()?;
        let mut connection = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        drop(guard);
        // SQLite falls back to reading alone when it may not write.
        if connection.is_readonly("main")? {
            return Err(StoreError::database(Fault::ReadOnly, &self.path, "permission denied"));
        }
        // Before anything is written: a foreign or newer file is left alone.
        schema::check(&connection)?;
        self.use_write_ahead_log(&connection)?;
        connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")?;
        schema::migrate(&mut connection)?;
        self.keep_private();
        Ok(Opened { connection, identity })
    }

    /// A connection that only reads. The database must be there.
    pub(super) fn open_reader(&self) -> Result<Opened> {
        let open = || -> Result<Opened> {
            let identity = self.identity()?;
            let connection = self.connect(OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            if schema::check(&connection)? < schema::known_version() {
                return Err(StoreError::database(
                    Fault::CannotOpen,
                    &self.path,
                    "its schema is from an older version, and it cannot be written",
                ));
            }
            Ok(Opened { connection, identity })
        };
        open().map_err(|error| error.at(&self.path))
    }

    fn identity(&self) -> Result<Identity> {
        Identity::of(&self.path)
            .map_err(|error| StoreError::database(Fault::CannotOpen, &self.path, error.to_string()))
    }

    fn connect(&self, flags: OpenFlags) -> Result<Connection> {
        // Each connection stays with one thread at a time, so SQLite's own mutex
        // is not needed.
        let connection =
            Connection::open_with_flags(&self.path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(self.busy_timeout)?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(connection)
    }

    /// SQLite does not wait for the lock that changing the mode takes, so where
    /// several processes make the database together we wait ourselves.
    fn use_write_ahead_log(&self, connection: &Connection) -> Result<()> {
        let deadline = Instant::now() + self.busy_timeout;
        loop {
            let answer = connection
                .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0))
                .map_err(StoreError::from);
            match answer {
                Ok(mode) if mode == "wal" => return Ok(()),
                Ok(mode) => {
                    return Err(StoreError::database(
                        Fault::Other,
                        &self.path,
                        format!(
                            "its journal mode stays {mode}, this file system may not support shared memory"
                        ),
                    ));
                }
                Err(error) if error.fault() == Some(Fault::Locked) && Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes the file where there is none, so that from its first byte nobody
    /// else may read it. SQLite gives the files beside it the same permissions.
    fn make_file(&self) -> Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&self.path) {
            Ok(_) => Ok(()),
            Err(error) => match error.kind() {
                ErrorKind::AlreadyExists => Ok(()),
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                    Err(StoreError::database(Fault::ReadOnly, &self.path, error.to_string()))
                }
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                    Err(StoreError::database(Fault::Full, &self.path, error.to_string()))
                }
                _ => Err(StoreError::database(Fault::CannotOpen, &self.path, error.to_string())),
            },
        }
    }

    /// Takes back what an older umask or a copy gave away. Not being allowed to
    /// is no reason to refuse the user their own data.
    #[cfg(unix)]
    fn keep_private(&self) {
        use std::os::unix::fs::PermissionsExt;
        for ending in ["", "-wal", "-shm"] {
            let mut name = self.path.clone().into_os_string();
            name.push(ending);
            let Ok(metadata) = std::fs::metadata(&name) else {
                continue;
            };
            let others = metadata.permissions().mode() & 0o077;
            if others == 0 {
                continue;
            }
            if let Err(error) =
                std::fs::set_permissions(&name, std::fs::Permissions::from_mode(0o600))
            {
                let file = Path::new(&name).display();
                tracing::warn!("{file} can be read by other users: {error}");
            }
        }
    }

    #[cfg(not(unix))]
    #[expect(clippy::unused_self, reason = "the same call on every platform")]
    fn keep_private(&self) {}
}

/// Makes a directory that only its owner may enter; one that is there already
/// stays as the user made it.
pub(super) fn make_directory(path: &Path) -> Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(|error| StoreError::directory(path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_may_make_the_database_together() {
        for _ in 0..10 {
            let directory = tempfile::tempdir().unwrap();
            let location = Location {
                path: directory.path().join("tasks.db"),
                busy_timeout: Duration::from_secs(10),
            };
            let start = std::sync::Barrier::new(8);
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        start.wait();
                        location.open_writer().unwrap();
                    });
                }
            });
        }
    }

    #[test]
    fn changing_the_mode_waits_for_whoever_writes() {
        let directory = tempfile::tempdir().unwrap();
        let location = Location {
            path: directory.path().join("tasks.db"),
            busy_timeout: Duration::from_millis(50),
        };
        let mut other = Connection::open(&location.path).unwrap();
        let _lock =
            other.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
        let start = Instant::now();
        let error = location.open_writer().unwrap_err();
        assert_eq!(error.fault(), Some(Fault::Locked), "{error}");
        assert!(start.elapsed() >= location.busy_timeout);
    }

    #[test]
    fn a_file_in_the_working_directory_has_a_directory() {
        let location = Location { path: PathBuf::from("tasks.db"), busy_timeout: Duration::ZERO };
        assert_eq!(location.directory(), Path::new("."));
    }
}
