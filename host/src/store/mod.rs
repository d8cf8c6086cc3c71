//! SQLite: tasks, their rounds, calls and results.
//!
//! The store is the bottom of the house. It knows nothing of plugins or of
//! research: a question, a plan, a round or an outcome comes and goes as JSON
//! text, beside the few columns that are searched or listed.
//!
//! Several processes share one file, because each MCP client starts a server of
//! its own. Within a process one thread writes (`writer`), one transaction at a
//! time, and a few read-only connections read beside it. A write that was
//! answered is on the disk. Every write to a task carries a [`Claim`], and is
//! refused once another process has taken the task over.
//!
//! What is written is written whether or not the caller still waits for it:
//! dropping a future does not take the write back.

mod background;
mod calls;
mod connection;
pub mod documents;
mod error;
mod forecasts;
mod identity;
mod jobs;
mod ledger;
mod notices;
mod owner;
mod restore;
mod results;
mod rounds;
mod schema;
mod tasks;
#[cfg(test)]
mod tests;
mod words;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, Transaction};
use tokio::sync::Semaphore;

use connection::{Location, Opened};
use identity::Identity;
use owner::Owner;
use writer::{Session, Writer};

pub use background::Cancelled;
pub use calls::{CallEnd, CallRecord, CallState, NewCall};
pub use error::{Fault, Result, StoreError};
pub use forecasts::{ForecastRecord, NewForecast, PastTask};
pub use jobs::{JobRecord, NewJob};
pub use ledger::{Budget, LedgerBy, LedgerRow, Spent};
pub use restore::Restored;
pub use results::{NewResult, ResultRecord};
pub use rounds::{NewRound, RoundRecord};
pub use tasks::{Claim, Ending, NewTask, Status, TaskEnd, TaskFilter, TaskRecord};

/// How long a write waits for other processes. They write in milliseconds; what
/// holds the file for longer is not one of ours.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads at the same time; further ones wait.
const READERS: usize = 4;

/// The database, open for this process. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    location: Location,
    owners: PathBuf,
    writer: Writer,
    /// The file that the writer has opened, so it has our schema.
    ready: Mutex<Option<Identity>>,
    /// Connections that nobody reads from just now.
    idle_readers: Mutex<Vec<Opened>>,
    reading: Arc<Semaphore>,
}

impl Store {
    /// Returns at once: the file is opened, made or migrated in the background,
    /// and what is wrong with it is told to whoever first uses it. After an
    /// error the next use tries again. The locks of processes that own tasks lie
    /// in `owners/` beside the file.
    pub fn open(path: impl Into<PathBuf>) -> Self {
        Self::open_with(path, BUSY_TIMEOUT)
    }

    fn open_with(path: impl Into<PathBuf>, busy_timeout: Duration) -> Self {
        let location = Location { path: path.into(), busy_timeout };
        let owners = location.directory().join("owners");
        Self {
            shared: Arc::new(Shared {
                writer: Writer::start(location.clone(), owners.clone()),
                location,
                owners,
                ready: Mutex::new(None),
                idle_readers: Mutex::new(Vec::new()),
                reading: Arc::new(Semaphore::new(READERS)),
            }),
        }
    }

    pub fn path(&self) -> &Path {
        &self.shared.location.path
    }

    /// Whether there is a database, without making one.
    pub fn exists(&self) -> bool {
        self.path().exists()
    }

    /// Waits until the database is open, and says what is wrong with it if it
    /// cannot be.
    pub async fn check(&self) -> Result<()> {
        let identity = self.shared.writer.submit(Session::open).await?;
        *self.ready() = Some(identity);
        Ok(())
    }

    /// Finishes what was to be written, closes the files and lets go of this
    /// process's lock; every later use is refused. A task that still runs is
    /// seen as interrupted from now on. A process that ends without this loses
    /// nothing but a little tidiness, so whoever is in a hurry may wait for only
    /// so long: another process that holds the file can delay this.
    pub async fn close(&self) {
        // The readers first, so that the writer is the last to close the file
        // and can fold the write-ahead log into it.
        if let Ok(all) = self.shared.reading.acquire_many(READERS as u32).await {
            self.shared.reading.close();
            self.idle_readers().clear();
            drop(all);
        }
        self.shared.writer.close().await;
    }

    /// One transaction on the writer's thread.
    async fn write<T, F>(&self, work: F) -> Result<T>
    where
        F: FnOnce(&Transaction<'_>) -> Result<T> + Send + 'static,
        T: Send + 'static,
    {
        self.shared.writer.submit(move |session| session.transact(work)).await
    }

    /// The same for what makes this process the owner of a task.
    async fn write_as_owner<T, F>(&self, work: F) -> Result<T>
    where
        F: FnOnce(&Transaction<'_>, &Owner) -> Result<T> + Send + 'static,
        T: Send + 'static,
    {
        self.shared.writer.submit(move |session| session.transact_as_owner(work)).await
    }

    /// Runs on a thread for blocking work, beside the writer.
    async fn read<T, F>(&self, work: F) -> Result<T>
    where
        F: FnOnce(&Reading<'_>) -> Result<T> + Send + 'static,
        T: Send + 'static,
    {
        let ready = *self.ready();
        if ready.is_none_or(|identity| !identity.is_at(self.path())) {
            match self.check().await {
                Ok(()) => {}
                // What cannot be written may still be read.
                Err(error) if is_about_writing(&error) => {
                    return self.read_now(work).await.map_err(|_| error);
                }
                Err(error) => return Err(error),
            }
        }
        self.read_now(work).await
    }

    async fn read_now<T, F>(&self, work: F) -> Result<T>
    where
        F: FnOnce(&Reading<'_>) -> Result<T> + Send + 'static,
        T: Send + 'static,
    {
        let Ok(permit) = self.shared.reading.clone().acquire_owned().await else {
            return Err(StoreError::Closed);
        };
        let store = self.clone();
        tokio::task::spawn_blocking(move || {
            // One to a file that was deleted or replaced is not used again.
            let idle = store.idle_readers().pop();
            let opened = match idle.filter(|opened| opened.identity.is_at(store.path())) {
                // A newer version may have changed the schema meanwhile.
                Some(opened) => {
                    schema::check(&opened.connection)
                        .map_err(|error| error.at(&store.shared.location.path))?;
                    opened
                }
                None => store.shared.location.open_reader()?,
            };
            let answer =
                work(&Reading { connection: &opened.connection, owners: &store.shared.owners });
            // A connection that met trouble is not used again.
            if !matches!(answer, Err(StoreError::Database { .. })) {
                store.idle_readers().push(opened);
            }
            // Held here, not by the caller, who may have stopped waiting.
            drop(permit);
            answer.map_err(|error| error.at(&store.shared.location.path))
        })
        .await
        // The runtime is being shut down, or the read panicked.
        .unwrap_or(Err(StoreError::Closed))
    }

    fn ready(&self) -> MutexGuard<'_, Option<Identity>> {
        self.shared.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn idle_readers(&self) -> MutexGuard<'_, Vec<Opened>> {
        self.shared.idle_readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a read may use.
struct Reading<'a> {
    connection: &'a Connection,
    owners: &'a Path,
}

fn is_about_writing(error: &StoreError) -> bool {
    matches!(error.fault(), Some(Fault::ReadOnly | Fault::Full | Fault::Locked))
}

/// Milliseconds since 1970, UTC: the only form of time in the database.
fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_millis() as i64)
}
