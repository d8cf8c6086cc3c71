//! What the index holds, without the text: read into memory once for every
//! generation of the index, so that neither the walk that looks for changes nor
//! the ranking asks the database for every file.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use foldhash::fast::FixedState;
use rusqlite::Connection;

use super::Stamp;

#[derive(Debug, Default)]
pub(super) struct Catalogue {
    generation: i64,
    /// By the hash of the path: a path is met again only in full, so two that
    /// share 64 bits would also have to share their stamp to be mistaken.
    stamps: HashMap<u64, Stamp, FixedState>,
    /// In the order of their heads.
    pub(super) documents: Vec<Entry>,
    /// Words in all passages.
    pub(super) length: u64,
    pub(super) passages: u64,
}

/// Where a document's rows are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) id: i64,
    pub(super) head: i64,
    pub(super) passages: u32,
    /// Words in all its passages.
    pub(super) length: u32,
}

impl Catalogue {
    /// The catalogue of the index as it is now: the one given, if nothing has
    /// changed since.
    pub(super) fn current(
        connection: &Connection,
        known: Option<Arc<Self>>,
    ) -> Result<Arc<Self>, rusqlite::Error> {
        let generation: i64 = connection
            .prepare_cached("SELECT value FROM meta WHERE key = 'generation'")?
            .query_row([], |row| row.get(0))?;
        match known {
            Some(known) if known.generation == generation => Ok(known),
            _ => Self::load(connection, generation).map(Arc::new),
        }
    }

    fn load(connection: &Connection, generation: i64) -> Result<Self, rusqlite::Error> {
        let mut catalogue = Self { generation, ..Self::default() };
        let mut statement = connection.prepare_cached(
            "SELECT id, path, size, modified, changed, head, passages, length FROM documents ORDER BY id",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let stamp = Stamp {
                size: row.get::<_, i64>(2)? as u64,
                modified: row.get(3)?,
                changed: row.get(4)?,
            };
            catalogue.stamps.insert(hash(row.get_ref(1)?.as_str()?), stamp);
            let entry = Entry {
                id: row.get(0)?,
                head: row.get(5)?,
                passages: row.get(6)?,
                length: row.get(7)?,
            };
            catalogue.length += u64::from(entry.length);
            catalogue.passages += u64::from(entry.passages);
            catalogue.documents.push(entry);
        }
        catalogue.documents.sort_unstable_by_key(|entry| entry.head);
        Ok(catalogue)
    }

    pub(super) fn stamp(&self, path: &str) -> Option<Stamp> {
        self.stamps.get(&hash(path)).copied()
    }

    pub(super) fn missing<'a>(&self, paths: impl Iterator<Item = &'a str>) -> usize {
        let mut left: std::collections::HashSet<u64> = self.stamps.keys().copied().collect();
        for path in paths {
            left.remove(&hash(path));
        }
        left.len()
    }
}

fn hash(path: &str) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(path.as_bytes());
    hasher.finish()
}
