//! The index as a file: where it lies, how it is opened, and when it is thrown
//! away. It belongs to one root and one plugin; another version of the plugin
//! may split documents otherwise, so it starts over.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};
use sha2::{Digest, Sha256};

use super::IndexError;
use super::catalogue::Catalogue;
use crate::store::identity::Identity;

/// How long to wait for another pass over the same root, and how often to look.
/// The first pass over many documents takes minutes, and nobody is to wait for
/// that without a word.
const PATIENCE: Duration = Duration::from_secs(5);
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Raised whenever tables or words change.
const SCHEMA_VERSION: i64 = 1;

const SCHEMA: &str = "
    CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
    CREATE TABLE documents (
        id INTEGER PRIMARY KEY,
        path TEXT NOT NULL UNIQUE,
        title TEXT NOT NULL,
        size INTEGER NOT NULL,
        modified INTEGER NOT NULL,
        changed INTEGER NOT NULL,
        -- The document's head, with its title and path, is the row of `words`
        -- before its first passage; the passages follow without a gap.
        head INTEGER NOT NULL,
        passages INTEGER NOT NULL,
        length INTEGER NOT NULL
    );
    CREATE TABLE passages (
        id INTEGER PRIMARY KEY,
        start_line INTEGER NOT NULL,
        end_line INTEGER NOT NULL,
        length INTEGER NOT NULL,
        heading TEXT NOT NULL,
        text TEXT NOT NULL
    );
    -- Words arrive levelled and joined by spaces, so the simplest tokenizer does.
    CREATE VIRTUAL TABLE words USING fts5 (
        title, path, heading, body,
        content = '', contentless_delete = 1, tokenize = 'ascii'
    );
    INSERT INTO words (words, rank) VALUES ('hashsize', 4000000);
    CREATE VIRTUAL TABLE places USING fts5vocab (words, instance);
";

/// One root's index. Cheap to clone.
#[derive(Clone)]
pub struct Index {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    digest: String,
    /// For reading; opened at first use.
    reader: Mutex<Reader>,
}

#[derive(Default)]
pub(super) struct Reader {
    opened: Option<Opened>,
    catalogue: Option<Arc<Catalogue>>,
}

/// A connection, and the file that it is to.
pub(super) struct Opened {
    pub(super) connection: Connection,
    /// None for a file that was not there before.
    pub(super) identity: Option<Identity>,
}

impl Index {
    /// Names the index; touches nothing yet. `root` is the directory's canonical
    /// path.
    pub fn new(directory: &Path, root: &Path, plugin: &str, digest: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(root.as_os_str().as_encoded_bytes());
        hash.update([0]);
        hash.update(plugin.as_bytes());
        let mut first = [0; 16];
        first.copy_from_slice(&hash.finalize()[..16]);
        let name = format!("{:032x}", u128::from_be_bytes(first));
        Self {
            inner: Arc::new(Inner {
                path: directory.join(format!("{name}.sqlite3")),
                digest: digest.to_owned(),
                reader: Mutex::default(),
            }),
        }
    }

    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Waits, though not for long, until no other pass over this root is under
    /// way, here or in another process, and keeps others out until the file is
    /// dropped.
    pub fn lock(&self) -> Result<File, IndexError> {
        self.wait(PATIENCE, || self.try_lock())
    }

    /// Looks again and again, until there is something or patience runs out.
    pub(super) fn wait<T>(
        &self,
        patience: Duration,
        look: impl Fn() -> Result<Option<T>, IndexError>,
    ) -> Result<T, IndexError> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(found) = look()? {
                return Ok(found);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(IndexError::Busy { path: self.inner.path.display().to_string() });
            }
            std::thread::sleep(BETWEEN_LOOKS.min(left));
        }
    }

    /// None while another pass holds it.
    pub(super) fn try_lock(&self) -> Result<Option<File>, IndexError> {
        let path = self.inner.path.with_extension("lock");
        let failed = |source| IndexError::File { path: path.display().to_string(), source };
        if let Some(directory) = path.parent() {
            create_private_directory(directory).map_err(failed)?;
        }
        let file =
            File::options().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        // A lock on a file that was deleted keeps nobody out.
        let held = Identity::of_file(&file).map_err(failed)?;
        Ok(held.is_at(&path).then_some(file))
    }

    /// A connection of one's own, to an index that is there and fits. Whoever
    /// holds the lock says so, and need not wait for it.
    pub(super) fn connect(&self, locked: bool) -> Result<Opened, IndexError> {
        self.wait(PATIENCE, || {
            if self.inner.path.exists()
                && let Ok(opened) = self.open()
                && self.fits(&opened.connection)
            {
                return Ok(Some(opened));
            }
            if locked {
                return self.rebuild().map(Some);
            }
            // Whoever holds the lock makes an index that fits long before they
            // let go of it.
            match self.try_lock()? {
                Some(_lock) => self.rebuild().map(Some),
                None => Ok(None),
            }
        })
    }

    /// Whether the index is still the file that was opened. The cache may be
    /// deleted at any time, by the user or by another process that finds the
    /// index damaged.
    pub(super) fn is_current(&self, opened: &Opened) -> bool {
        self.is_at(opened.identity)
    }

    fn is_at(&self, file: Option<Identity>) -> bool {
        file.is_some_and(|identity| identity.is_at(&self.inner.path))
    }

    fn open(&self) -> Result<Opened, rusqlite::Error> {
        let identity = Identity::of(&self.inner.path).ok();
        let connection = Connection::open(&self.inner.path)?;
        connection.busy_timeout(Duration::from_secs(10))?;
        // The index can be rebuilt, so losing the last writes to a power cut is
        // no loss, and waiting for the disk is not worth it.
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -8000;
             PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = 4000000;",
        )?;
        Ok(Opened { connection, identity })
    }

    fn fits(&self, connection: &Connection) -> bool {
        let version: Result<i64, _> =
            connection.query_row("PRAGMA user_version", [], |row| row.get(0));
        let digest: Result<String, _> =
            connection
                .query_row("SELECT value FROM meta WHERE key = 'digest'", [], |row| row.get(0));
        version.is_ok_and(|version| version == SCHEMA_VERSION)
            && digest.is_ok_and(|digest| digest == self.inner.digest)
    }

    /// Makes an empty index. The caller holds the lock.
    fn rebuild(&self) -> Result<Opened, IndexError> {
        if let Ok(opened) = self.open() {
            if self.fits(&opened.connection) {
                // Another process was faster.
                return Ok(opened);
            }
            let version: Result<i64, _> =
                opened.connection.query_row("PRAGMA user_version", [], |row| row.get(0));
            if version.is_ok_and(|version| version == SCHEMA_VERSION)
                && self.clear(&opened.connection).is_ok()
            {
                return Ok(opened);
            }
        }
        self.remove();
        let Opened { connection, .. } = self.open().map_err(|source| self.database(source))?;
        connection
            .execute_batch(&format!("BEGIN IMMEDIATE; {SCHEMA} PRAGMA user_version = {SCHEMA_VERSION};"))
            .and_then(|()| {
                connection.execute(
                    "INSERT INTO meta (key, value) VALUES ('digest', ?1), ('generation', 0), ('next', 1)",
                    [&self.inner.digest],
                )
            })
            .and_then(|_| connection.execute_batch("COMMIT"))
            .map_err(|source| self.database(source))?;
        restrict(&self.inner.path);
        drop(connection);
        // Only now is there a file to be known again.
        self.open().map_err(|source| self.database(source))
    }

    /// Empties an index that another version of the plugin filled, in place, so
    /// that other processes that have it open see it too.
    fn clear(&self, connection: &Connection) -> Result<(), rusqlite::Error> {
        connection.execute_batch(
            "BEGIN IMMEDIATE; DELETE FROM documents; DELETE FROM passages;
             INSERT INTO words (words) VALUES ('delete-all');
             UPDATE meta SET value = value + 1 WHERE key = 'generation';",
        )?;
        connection
            .execute("UPDATE meta SET value = ?1 WHERE key = 'digest'", [&self.inner.digest])?;
        connection.execute_batch("COMMIT")
    }

    fn remove(&self) {
        for ending in ["sqlite3", "sqlite3-wal", "sqlite3-shm"] {
            // What cannot be removed shows when the file is opened next.
            let _ = fs::remove_file(self.inner.path.with_extension(ending));
        }
    }

    /// Reads from the index: `work` gets a connection and what the index holds
    /// now. An index that was deleted or replaced is opened or made anew, a
    /// damaged one is removed.
    pub(super) fn read<T>(
        &self,
        work: impl FnOnce(&Connection, &Arc<Catalogue>) -> Result<T, rusqlite::Error>,
    ) -> Result<T, IndexError> {
        let mut reader = self.inner.reader.lock().unwrap_or_else(PoisonError::into_inner);
        if reader.opened.as_ref().is_none_or(|opened| !self.is_current(opened)) {
            // The catalogue as well: another file may have reached the same
            // generation with other documents.
            *reader = Reader::default();
            reader.opened = Some(self.connect(false)?);
        }
        let Reader { opened: Some(opened), catalogue } = &mut *reader else {
            return Err(self.database(rusqlite::Error::InvalidQuery));
        };
        let identity = opened.identity;
        // One transaction, so that the catalogue and the words belong together.
        let result = opened.connection.unchecked_transaction().and_then(|transaction| {
            let current = Catalogue::current(&transaction, catalogue.take())?;
            *catalogue = Some(Arc::clone(&current));
            work(&transaction, &current)
        });
        result.map_err(|source| {
            // Closed first: not every platform lets an open file be removed.
            *reader = Reader::default();
            self.failure(source, identity, false)
        })
    }

    /// What an error means for the index: a damaged file is removed. Whoever
    /// holds the lock says so.
    pub(super) fn failure(
        &self,
        source: rusqlite::Error,
        file: Option<Identity>,
        locked: bool,
    ) -> IndexError {
        let damaged = matches!(
            source.sqlite_error_code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        );
        if !damaged {
            return self.database(source);
        }
        // Not under a pass of someone else, who meets the damage as well; nor a
        // file that has been put in the damaged one's place.
        let lock = if locked { None } else { self.try_lock().ok().flatten() };
        if (locked || lock.is_some()) && self.is_at(file) {
            self.remove();
        }
        IndexError::Damaged { path: self.inner.path.display().to_string() }
    }

    fn database(&self, source: rusqlite::Error) -> IndexError {
        IndexError::Database { path: self.inner.path.display().to_string(), source }
    }

    pub(super) fn replaced(&self) -> IndexError {
        IndexError::Replaced { path: self.inner.path.display().to_string() }
    }

    pub(super) fn ended(&self) -> IndexError {
        IndexError::Ended { path: self.inner.path.display().to_string() }
    }

    /// What the index knows of every file.
    pub fn stamps(&self) -> Result<Stamps, IndexError> {
        self.read(|_, catalogue| Ok(Stamps { catalogue: Arc::clone(catalogue) }))
    }
}

/// Which files the index holds as they are now.
#[derive(Clone)]
pub struct Stamps {
    catalogue: Arc<Catalogue>,
}

impl Stamps {
    pub fn holds(&self, path: &str, stamp: super::Stamp) -> bool {
        stamp.is_settled() && self.catalogue.stamp(path) == Some(stamp)
    }

    /// How many documents are not among `paths`.
    pub fn missing<'a>(&self, paths: impl Iterator<Item = &'a str>) -> usize {
        self.catalogue.missing(paths)
    }
}

fn create_private_directory(path: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// The index holds what the documents say: no one else may read it.
fn restrict(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        for ending in ["sqlite3", "sqlite3-wal", "sqlite3-shm"] {
            // The directory is private already; this is the second lock.
            let _ =
                fs::set_permissions(path.with_extension(ending), fs::Permissions::from_mode(0o600));
        }
    }
    #[cfg(not(unix))]
    let _ = path;
}
