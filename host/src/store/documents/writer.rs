//! Fills the index. Two threads stand behind it, one that levels words and one
//! that writes, so that the plugin goes on reading and splitting meanwhile; what
//! waits between them is bounded, and `put` waits when it is full.

use std::collections::HashSet;
use std::fs::File;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::file::Opened;
use super::words::{Role, Words};
use super::{Document, Index, IndexError, Stamp};

/// Text that may wait to be written, in kilobytes.
const WAITING: u32 = 12_000;

/// Text after which a transaction ends: large ones make fewer, larger segments,
/// small ones less to hold in memory.
const TRANSACTION: usize = 24_000_000;

enum Job {
    Put(Vec<Document>, OwnedSemaphorePermit),
    Retain(Vec<String>, oneshot::Sender<Result<u32, IndexError>>),
}

enum Prepared {
    Put(Vec<Levelled>, OwnedSemaphorePermit),
    Retain(Vec<String>, oneshot::Sender<Result<u32, IndexError>>),
}

/// A document whose words are levelled.
struct Levelled {
    document: Document,
    /// All words in one piece: title, path, and heading and body of each passage.
    words: String,
    /// Where each of these ends.
    ends: Vec<usize>,
    /// How many words each passage has.
    lengths: Vec<u32>,
}

/// A pass over one root, holding its lock. Dropping it ends the pass: what was
/// put is kept.
pub struct Writer {
    index: Index,
    jobs: mpsc::Sender<Job>,
    room: Arc<Semaphore>,
    failure: Arc<Mutex<Option<IndexError>>>,
}

impl Writer {
    /// Waits for the root's lock, if not for long, so it must not be called on an async worker.
    pub fn start(index: &Index) -> Result<Self, IndexError> {
        let lock = index.lock()?;
        let opened = index.connect(true)?;
        let (jobs, waiting) = mpsc::channel(64);
        let (prepared, ready) = sync_channel(2);
        let failure = Arc::new(Mutex::new(None));
        let no_thread =
            |source| IndexError::File { path: index.path().display().to_string(), source };
        std::thread::Builder::new()
            .name("index-words".to_owned())
            .spawn(move || level(waiting, &prepared))
            .map_err(no_thread)?;
        let shared = Arc::clone(&failure);
        let owner = index.clone();
        std::thread::Builder::new()
            .name("index-writer".to_owned())
            .spawn(move || {
                if let Err(error) = write(&owner, opened, &ready, lock) {
                    *shared.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
            })
            .map_err(no_thread)?;
        let room = Arc::new(Semaphore::new(WAITING as usize));
        Ok(Self { index: index.clone(), jobs, room, failure })
    }

    /// Hands documents over; returns once there is room for them, not once they
    /// are written.
    pub async fn put(&self, documents: Vec<Document>) -> Result<(), IndexError> {
        let bytes: usize = documents
            .iter()
            .flat_map(|document| &document.passages)
            .map(|passage| passage.text.len())
            .sum();
        let size = u32::try_from(bytes / 1000 + 1).unwrap_or(u32::MAX).min(WAITING);
        let Ok(room) = Arc::clone(&self.room).acquire_many_owned(size).await else {
            return Err(self.cause());
        };
        self.jobs.send(Job::Put(documents, room)).await.map_err(|_| self.cause())
    }

    /// Ends the pass: forgets all other documents, and tells how many.
    pub async fn retain(self, paths: Vec<String>) -> Result<u32, IndexError> {
        let (reply, result) = oneshot::channel();
        if self.jobs.send(Job::Retain(paths, reply)).await.is_err() {
            return Err(self.cause());
        }
        result.await.unwrap_or_else(|_| Err(self.cause()))
    }

    fn cause(&self) -> IndexError {
        self.failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
            .unwrap_or_else(|| self.index.ended())
    }
}

/// The first thread: levels words until there is no one left to ask or to tell.
fn level(mut waiting: mpsc::Receiver<Job>, prepared: &SyncSender<Prepared>) {
    let mut words = Words::default();
    while let Some(job) = waiting.blocking_recv() {
        let next = match job {
            Job::Put(documents, room) => Prepared::Put(
                documents
                    .into_iter()
                    .map(|document| level_document(&mut words, document))
                    .collect(),
                room,
            ),
            Job::Retain(paths, reply) => Prepared::Retain(paths, reply),
        };
        if prepared.send(next).is_err() {
            return;
        }
    }
}

fn level_document(words: &mut Words, document: Document) -> Levelled {
    let text: usize = document.passages.iter().map(|passage| passage.text.len()).sum();
    let mut joined = String::with_capacity(text);
    let mut ends = Vec::with_capacity(document.passages.len() * 2 + 2);
    let mut lengths = Vec::with_capacity(document.passages.len());
    append(words, &document.title, &mut joined);
    ends.push(joined.len());
    append(words, &document.path, &mut joined);
    ends.push(joined.len());
    for passage in &document.passages {
        append(words, &passage.heading, &mut joined);
        ends.push(joined.len());
        lengths.push(append(words, &passage.text, &mut joined));
        ends.push(joined.len());
    }
    Levelled { document, words: joined, ends, lengths }
}

fn append(words: &mut Words, text: &str, joined: &mut String) -> u32 {
    let mut length = 0;
    words.each(text, |word, role| {
        joined.push_str(word);
        joined.push(' ');
        length += u32::from(role == Role::Plain);
    });
    length
}

/// The second thread: writes until the pass ends. Keeps the lock until then.
fn write(
    index: &Index,
    mut opened: Opened,
    ready: &Receiver<Prepared>,
    lock: File,
) -> Result<(), IndexError> {
    let mut pending = 0;
    let result = loop {
        match ready.recv() {
            Ok(Prepared::Put(documents, _room)) => {
                if !index.is_current(&opened) {
                    break Err(index.replaced());
                }
                let written = put(&mut opened.connection, &documents, &mut pending);
                if let Err(source) = written {
                    break Err(index.failure(source, opened.identity, true));
                }
            }
            Ok(Prepared::Retain(paths, reply)) => {
                let mut removed = retain(&opened.connection, &paths, &mut pending)
                    .map_err(|source| index.failure(source, opened.identity, true));
                // What was put into a file that nobody can open again will not
                // be found.
                if removed.is_ok() && !index.is_current(&opened) {
                    removed = Err(index.replaced());
                }
                drop(opened);
                drop(lock);
                // A caller that has gone away does not want to know.
                let _ = reply.send(removed);
                return Ok(());
            }
            Err(_) => {
                break commit(&opened.connection, &mut pending)
                    .map_err(|source| index.failure(source, opened.identity, true));
            }
        }
    };
    drop(opened);
    drop(lock);
    result
}

fn begin(connection: &Connection, pending: usize) -> Result<(), rusqlite::Error> {
    if pending == 0 { connection.execute_batch("BEGIN IMMEDIATE") } else { Ok(()) }
}

fn commit(connection: &Connection, pending: &mut usize) -> Result<(), rusqlite::Error> {
    if *pending == 0 {
        return Ok(());
    }
    *pending = 0;
    connection.execute_batch("UPDATE meta SET value = value + 1 WHERE key = 'generation'; COMMIT")
}

fn put(
    connection: &mut Connection,
    documents: &[Levelled],
    pending: &mut usize,
) -> Result<(), rusqlite::Error> {
    begin(connection, *pending)?;
    *pending += 1;
    let mut next: i64 = connection
        .prepare_cached("SELECT value FROM meta WHERE key = 'next'")?
        .query_row([], |row| row.get(0))?;
    for levelled in documents {
        let document = &levelled.document;
        let known = connection
            .prepare_cached(
                "SELECT id, size, modified, changed, head, passages FROM documents WHERE path = ?1",
            )?
            .query_row([&document.path], |row| {
                let stamp = Stamp {
                    size: row.get::<_, i64>(1)? as u64,
                    modified: row.get(2)?,
                    changed: row.get(3)?,
                };
                Ok((row.get::<_, i64>(0)?, stamp, row.get::<_, i64>(4)?, row.get::<_, i64>(5)?))
            })
            .optional()?;
        if let Some((id, stamp, head, passages)) = known {
            if stamp == document.stamp && stamp.is_settled() {
                // Another process has put it while this one waited for the lock.
                continue;
            }
            remove(connection, id, head, passages)?;
        }
        insert(connection, levelled, next)?;
        next += 1 + document.passages.len() as i64;
        *pending += levelled.words.len();
    }
    connection.prepare_cached("UPDATE meta SET value = ?1 WHERE key = 'next'")?.execute([next])?;
    if *pending > TRANSACTION { commit(connection, pending) } else { Ok(()) }
}

fn insert(connection: &Connection, levelled: &Levelled, head: i64) -> Result<(), rusqlite::Error> {
    let document = &levelled.document;
    connection
        .prepare_cached(
            "INSERT INTO documents (path, title, size, modified, changed, head, passages, length)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute((
            &document.path,
            &document.title,
            document.stamp.size as i64,
            document.stamp.modified,
            document.stamp.changed,
            head,
            document.passages.len() as i64,
            levelled.lengths.iter().sum::<u32>(),
        ))?;
    if document.passages.is_empty() {
        return Ok(());
    }
    let mut start = 0;
    let mut pieces =
        levelled.ends.iter().map(|end| &levelled.words[std::mem::replace(&mut start, *end)..*end]);
    let mut piece = || pieces.next().unwrap_or_default();
    connection
        .prepare_cached("INSERT INTO words (rowid, title, path) VALUES (?1, ?2, ?3)")?
        .execute((head, piece(), piece()))?;
    let mut add_passage = connection.prepare_cached(
        "INSERT INTO passages (id, start_line, end_line, length, heading, text) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let mut add_words = connection
        .prepare_cached("INSERT INTO words (rowid, heading, body) VALUES (?1, ?2, ?3)")?;
    for (number, (passage, length)) in document.passages.iter().zip(&levelled.lengths).enumerate() {
        let id = head + 1 + number as i64;
        add_passage.execute((
            id,
            passage.start_line,
            passage.end_line,
            length,
            &passage.heading,
            &passage.text,
        ))?;
        add_words.execute((id, piece(), piece()))?;
    }
    Ok(())
}

fn remove(
    connection: &Connection,
    id: i64,
    head: i64,
    passages: i64,
) -> Result<(), rusqlite::Error> {
    if passages > 0 {
        let mut words = connection.prepare_cached("DELETE FROM words WHERE rowid = ?1")?;
        for row in head..=head + passages {
            words.execute([row])?;
        }
        connection
            .prepare_cached("DELETE FROM passages WHERE id BETWEEN ?1 AND ?2")?
            .execute((head + 1, head + passages))?;
    }
    connection.prepare_cached("DELETE FROM documents WHERE id = ?1")?.execute([id])?;
    Ok(())
}

fn retain(
    connection: &Connection,
    paths: &[String],
    pending: &mut usize,
) -> Result<u32, rusqlite::Error> {
    let keep: HashSet<&str> = paths.iter().map(String::as_str).collect();
    let mut gone = Vec::new();
    {
        let mut statement = connection.prepare("SELECT id, head, passages, path FROM documents")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if !keep.contains(row.get_ref(3)?.as_str()?) {
                gone.push((row.get(0)?, row.get(1)?, row.get(2)?));
            }
        }
    }
    if !gone.is_empty() {
        begin(connection, *pending)?;
        *pending += 1;
        for &(id, head, passages) in &gone {
            remove(connection, id, head, passages)?;
        }
    }
    commit(connection, pending)?;
    Ok(gone.len() as u32)
}
