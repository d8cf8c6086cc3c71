//! The one thread that writes. Work comes by a channel and is answered when it
//! is on the disk; nothing else in the process holds a connection that can
//! write.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::oneshot;

use super::connection::{Location, Opened};
use super::error::{Fault, Result, StoreError};
use super::identity::Identity;
use super::owner::Owner;
use super::schema;

/// How long a write waits where the one before has found the file locked for as long
/// as it may wait. Each in a long queue would otherwise wait in vain all over again.
const SHORT: Duration = Duration::from_secs(1);

type Job = Box<dyn FnOnce(&mut Session) + Send>;

/// The way to the thread, which ends when this is dropped and all work is done.
pub(super) struct Writer {
    /// None once it is closed.
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
}

impl Writer {
    /// Starts the thread, which opens the database right away.
    pub(super) fn start(location: Location, owners: PathBuf) -> Self {
        let (jobs, queue) = mpsc::channel::<Job>();
        let run = move || {
            let mut session = Session {
                location,
                owners,
                opened: None,
                owner: None,
                asked: Instant::now(),
                locked: None,
            };
            // What is wrong is told to the first who asks, after another try.
            let _ = session.open();
            for job in queue {
                job(&mut session);
            }
        };
        let thread = std::thread::Builder::new().name("store".to_owned());
        let jobs = match thread.spawn(run) {
            Ok(_) => Some(jobs),
            Err(error) => {
                tracing::error!("the store's thread could not be started: {error}");
                None
            }
        };
        Self { jobs: Mutex::new(jobs) }
    }

    /// Runs the work on the thread, after what was submitted before it.
    pub(super) async fn submit<T, F>(&self, work: F) -> Result<T>
    where
        F: FnOnce(&mut Session) -> Result<T> + Send + 'static,
        T: Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let asked = Instant::now();
        let job: Job = Box::new(move |session| {
            session.asked = asked;
            // The caller may have stopped waiting.
            let _ = reply.send(work(session));
        });
        self.slot()
            .as_ref()
            .ok_or(StoreError::Closed)?
            .send(job)
            .map_err(|_| StoreError::Closed)?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Does what was submitted before, then closes the file and lets go of the
    /// lock. What comes later is refused.
    pub(super) async fn close(&self) {
        let Some(jobs) = self.slot().take() else {
            return;
        };
        let (reply, closed) = oneshot::channel();
        let close: Job = Box::new(move |session| {
            session.opened = None;
            session.owner = None;
            let _ = reply.send(());
        });
        if jobs.send(close).is_ok() {
            let _ = closed.await;
        }
    }

    fn slot(&self) -> MutexGuard<'_, Option<mpsc::Sender<Job>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the thread holds.
pub(super) struct Session {
    location: Location,
    owners: PathBuf,
    opened: Option<Opened>,
    /// Taken with the first task: a process that only reads owns nothing.
    owner: Option<Owner>,
    /// When what is being done was asked for.
    asked: Instant,
    /// When the file was found locked, where it was when it was last used.
    locked: Option<Instant>,
}

impl Session {
    /// Opens the database, if it is not open or no longer the file that has its
    /// name, and tells which file it is.
    pub(super) fn open(&mut self) -> Result<Identity> {
        self.opened().map(|opened| opened.identity)
    }

    #[cfg(test)]
    pub(super) fn connection(&mut self) -> Result<&mut Connection> {
        self.opened().map(|opened| &mut opened.connection)
    }

    fn opened(&mut self) -> Result<&mut Opened> {
        let known = self.opened.take().filter(|opened| opened.identity.is_at(&self.location.path));
        let opened = if let Some(opened) = known {
            opened
        } else {
            let location = Location { busy_timeout: self.patience(), ..self.location.clone() };
            let opened = location.open_writer();
            self.note_lock(&opened);
            opened?
        };
        Ok(self.opened.insert(opened))
    }

    /// All of the work is committed, or none of it.
    pub(super) fn transact<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        // The directory is made with the database.
        self.open()?;
        if let Some(owner) = &mut self.owner
            && let Err(error) = owner.renew(&self.owners)
        {
            // The write can be made all the same; at worst the task passes for
            // interrupted.
            tracing::warn!("{error}");
        }
        self.run(work)
    }

    /// How long to wait for other processes. Where they have let nobody in for long,
    /// what has waited in the queue meanwhile has waited enough.
    fn patience(&self) -> Duration {
        let most = self.location.busy_timeout;
        match self.locked {
            None => most,
            Some(then) if self.asked <= then => Duration::ZERO,
            Some(_) => most.min(SHORT),
        }
    }

    fn note_lock<T>(&mut self, answer: &Result<T>) {
        let fault = answer.as_ref().err().and_then(StoreError::fault);
        self.locked = (fault == Some(Fault::Locked)).then(Instant::now);
    }

    fn run<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let patience = self.patience();
        let opened = self.opened()?;
        let identity = opened.identity;
        let mut answer = opened
            .connection
            .busy_timeout(patience)
            .map_err(StoreError::from)
            .and_then(|()| commit(&mut opened.connection, work));
        self.note_lock(&answer);
        // What went into a file that nobody can open again is not saved.
        if answer.is_ok() && !identity.is_at(&self.location.path) {
            answer = Err(StoreError::database(Fault::Replaced, &self.location.path, ""));
        }
        if let Err(StoreError::Database { fault, .. }) = &answer
            && *fault != Fault::Locked
        {
            // A connection that met trouble with its file may hold a wrong
            // picture of it; the next use opens a new one.
            self.opened = None;
        }
        answer.map_err(|error| error.at(&self.location.path))
    }

    pub(super) fn transact_as_owner<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>, &Owner) -> Result<T>,
    ) -> Result<T> {
        // The directory is made with the database.
        self.open()?;
        if let Some(owner) = &mut self.owner {
            owner.renew(&self.owners)?;
        }
        let owner = match self.owner.take() {
            Some(owner) => owner,
            None => Owner::take(&self.owners)?,
        };
        let answer = self.run(|transaction| work(transaction, &owner));
        self.owner = Some(owner);
        answer
    }
}

fn commit<T>(
    connection: &mut Connection,
    work: impl FnOnce(&Transaction<'_>) -> Result<T>,
) -> Result<T> {
    // Immediate: the lock is taken at once, and waited for. A lock asked for in
    // the middle of a transaction is refused without waiting.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // A newer version may have changed the schema meanwhile, and then knows better.
    schema::inspect(&transaction)?;
    let answer = work(&transaction)?;
    transaction.commit()?;
    Ok(answer)
}
