//! The gate to the user's documents: granted directories, read-only, and the
//! full-text index of them. A plugin names a root by its number and a file by a
//! path below it; that the path stays below is not left to string comparison but
//! to [`cap_std`], which resolves every component inside the directory's handle.
//!
//! The gate decides neither what is worth indexing nor how it is split.

mod tree;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::config::resolved::DirectoryGrant;
use crate::store::documents::{self as store, Index, IndexError, Stamp, Stamps, Writer};

use super::{GateError, GateErrorKind};
use tree::Tree;

pub use crate::store::documents::Passage;
pub use tree::EntryKind;

/// A granted directory, as the plugin sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    pub id: u32,
    /// Put before a path, it names the file as the user would open it.
    pub prefix: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub kind: EntryKind,
    pub size: u64,
    /// The index holds this file as it is now.
    pub indexed: bool,
}

/// A document to be put into the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub root: u32,
    pub path: String,
    pub title: String,
    pub passages: Vec<Passage>,
}

/// A passage that fits a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    pub root: u32,
    pub path: String,
    pub title: String,
    pub heading: String,
    pub start_line: u32,
    pub end_line: u32,
    pub text: String,
    pub score: f64,
}

/// The gate of one plugin. A clone is the same gate, with the same pass under
/// way; [`session`](Self::session) is one with a pass of its own.
#[derive(Clone)]
pub struct DocumentsGate {
    grants: Arc<Grants>,
    session: Arc<Session>,
}

struct Grants {
    directories: Vec<DirectoryGrant>,
    index_directory: PathBuf,
    plugin: String,
    digest: String,
    /// Opened at first use, one for each directory.
    indexes: Vec<OnceLock<Index>>,
}

/// What one call of the plugin has under way in each root.
struct Session {
    passes: Vec<Pass>,
}

#[derive(Default)]
struct Pass {
    tree: OnceLock<Arc<Tree>>,
    /// What the index held when it was last looked at.
    stamps: Mutex<Option<Stamps>>,
    /// What files looked like when they were listed or, better, read.
    seen: Mutex<HashMap<String, Stamp>>,
    /// There from the first `put` to `retain`.
    writer: tokio::sync::Mutex<Option<Arc<Writer>>>,
}

impl DocumentsGate {
    /// Opens nothing yet. The indexes lie in `index_directory`; `digest` is the
    /// plugin's own, for another version may split documents otherwise.
    pub fn new(
        directories: &[DirectoryGrant],
        index_directory: PathBuf,
        plugin: &str,
        digest: &str,
    ) -> Self {
        let grants = Grants {
            directories: directories.to_vec(),
            index_directory,
            plugin: plugin.to_owned(),
            digest: digest.to_owned(),
            indexes: directories.iter().map(|_| OnceLock::new()).collect(),
        };
        let session = Session { passes: directories.iter().map(|_| Pass::default()).collect() };
        Self { grants: Arc::new(grants), session: Arc::new(session) }
    }

    /// The same directories and indexes, for another call of the plugin. A pass
    /// that the call leaves unfinished ends when the session is dropped.
    pub fn session(&self) -> Self {
        let session =
            Session { passes: self.session.passes.iter().map(|_| Pass::default()).collect() };
        Self { grants: Arc::clone(&self.grants), session: Arc::new(session) }
    }

    pub fn roots(&self) -> Vec<Root> {
        let directories = self.grants.directories.iter().enumerate();
        directories
            .map(|(number, grant)| Root { id: number as u32, prefix: grant.prefix.clone() })
            .collect()
    }

    /// What is in a directory (`""` for the root itself), by name.
    pub async fn list_directory(&self, root: u32, path: String) -> Result<Vec<Entry>, GateError> {
        let gate = self.clone();
        blocking(move || {
            let (tree, index, pass) = gate.open(root)?;
            // A walk begins at the root: that is when another process's work
            // should show.
            if path.is_empty() {
                *lock(&pass.stamps) = None;
            }
            let listed = tree.list(&path)?;
            let stamps = {
                let mut known = lock(&pass.stamps);
                match &*known {
                    Some(stamps) => stamps.clone(),
                    None => known.insert(stamps_of(&index)?).clone(),
                }
            };
            let mut seen = lock(&pass.seen);
            let mut entries = Vec::with_capacity(listed.len());
            let mut full = if path.is_empty() { String::new() } else { format!("{path}/") };
            let start = full.len();
            for file in listed {
                full.truncate(start);
                full.push_str(&file.name);
                let indexed = file.kind == EntryKind::File && stamps.holds(&full, file.stamp);
                if file.kind == EntryKind::File && !indexed {
                    seen.insert(full.clone(), file.stamp);
                }
                entries.push(Entry {
                    name: file.name,
                    kind: file.kind,
                    size: file.stamp.size,
                    indexed,
                });
            }
            Ok(entries)
        })
        .await
    }

    /// A file's bytes; an error of kind `other("too-large")` when there are more
    /// than `max_bytes`.
    pub async fn read(
        &self,
        root: u32,
        path: String,
        max_bytes: u64,
    ) -> Result<Vec<u8>, GateError> {
        let gate = self.clone();
        blocking(move || {
            let (tree, _, pass) = gate.open(root)?;
            let (bytes, stamp) = tree.read(&path, max_bytes)?;
            lock(&pass.seen).insert(path, stamp);
            Ok(bytes)
        })
        .await
    }

    /// Puts documents into the index, each in place of what the index held for
    /// its path. Returns once there is room for them; they are written while the
    /// plugin goes on.
    pub async fn put(&self, documents: Vec<Document>) -> Result<(), GateError> {
        let mut by_root: Vec<Vec<store::Document>> =
            self.session.passes.iter().map(|_| Vec::new()).collect();
        for document in documents {
            let pass = self.pass(document.root)?;
            tree::check(&document.path)?;
            // A file that was neither listed nor read is looked at again the
            // next time.
            let stamp = lock(&pass.seen).remove(&document.path).unwrap_or(Stamp::unsettled(0));
            by_root[document.root as usize].push(store::Document {
                path: document.path,
                title: document.title,
                passages: document.passages,
                stamp,
            });
        }
        for (number, documents) in by_root.into_iter().enumerate() {
            if !documents.is_empty() {
                let writer = self.writer(number as u32).await?;
                writer.put(documents).await.map_err(index_error)?;
            }
        }
        Ok(())
    }

    /// Ends a pass over a root: forgets every document that is not among `paths`,
    /// waits until all that was put can be found, and tells how many were
    /// forgotten.
    pub async fn retain(&self, root: u32, paths: Vec<String>) -> Result<u32, GateError> {
        let pass = self.pass(root)?;
        lock(&pass.seen).clear();
        if pass.writer.lock().await.is_none() {
            // Most passes change nothing, and then need not wait for a lock.
            let gate = self.clone();
            let (paths_back, missing) = blocking(move || {
                let (_, index, _) = gate.open(root)?;
                let missing = stamps_of(&index)?.missing(paths.iter().map(String::as_str));
                Ok((paths, missing))
            })
            .await?;
            if missing == 0 {
                return Ok(0);
            }
            return self.finish(root, paths_back).await;
        }
        self.finish(root, paths).await
    }

    async fn finish(&self, root: u32, paths: Vec<String>) -> Result<u32, GateError> {
        self.writer(root).await?;
        let pass = self.pass(root)?;
        let Some(writer) = pass.writer.lock().await.take() else {
            return Err(GateError::refused(
                "the pass over this root was ended twice at the same time",
            ));
        };
        *lock(&pass.stamps) = None;
        match Arc::try_unwrap(writer) {
            Ok(writer) => writer.retain(paths).await.map_err(index_error),
            Err(_) => Err(GateError::refused(
                "the pass over this root was ended while documents were being put",
            )),
        }
    }

    /// The passages that fit best, over all roots, best first: at most `limit`
    /// documents, and `per_document` passages of each.
    pub async fn query(
        &self,
        text: String,
        limit: u32,
        per_document: u32,
    ) -> Result<Vec<Match>, GateError> {
        let gate = self.clone();
        blocking(move || {
            let mut indexes = Vec::new();
            for number in 0..gate.grants.directories.len() {
                indexes.push(gate.index(number as u32)?);
            }
            let ranked = store::search(&indexes, &text, limit as usize, per_document as usize)
                .map_err(index_error)?;
            let matches = ranked.into_iter().map(|found| Match {
                root: found.index as u32,
                path: found.path,
                title: found.title,
                heading: found.heading,
                start_line: found.start_line,
                end_line: found.end_line,
                text: found.text,
                score: found.score,
            });
            Ok(matches.collect())
        })
        .await
    }

    fn pass(&self, root: u32) -> Result<&Pass, GateError> {
        self.session
            .passes
            .get(root as usize)
            .ok_or_else(|| unknown(root, self.session.passes.len()))
    }

    fn grant(&self, root: u32) -> Result<&DirectoryGrant, GateError> {
        let directories = &self.grants.directories;
        directories.get(root as usize).ok_or_else(|| unknown(root, directories.len()))
    }

    fn open(&self, root: u32) -> Result<(Arc<Tree>, Index, &Pass), GateError> {
        let pass = self.pass(root)?;
        let tree = if let Some(tree) = pass.tree.get() {
            Arc::clone(tree)
        } else {
            let tree = Arc::new(Tree::open(self.grant(root)?)?);
            Arc::clone(pass.tree.get_or_init(|| tree))
        };
        Ok((tree, self.index(root)?, pass))
    }

    fn index(&self, root: u32) -> Result<Index, GateError> {
        let grant = self.grant(root)?;
        let known = &self.grants.indexes[root as usize];
        if let Some(index) = known.get() {
            return Ok(index.clone());
        }
        let canonical =
            std::fs::canonicalize(&grant.path).map_err(|error| tree::unopened(grant, &error))?;
        let Grants { index_directory, plugin, digest, .. } = &*self.grants;
        Ok(known.get_or_init(|| Index::new(index_directory, &canonical, plugin, digest)).clone())
    }

    /// The pass's writer; the first one waits for the root's lock, and gives up
    /// when another pass keeps it for long.
    async fn writer(&self, root: u32) -> Result<Arc<Writer>, GateError> {
        let pass = self.pass(root)?;
        let mut current = pass.writer.lock().await;
        if let Some(writer) = &*current {
            return Ok(Arc::clone(writer));
        }
        let gate = self.clone();
        let writer =
            blocking(move || Writer::start(&gate.index(root)?).map_err(index_error)).await?;
        // Whoever held the lock may have indexed what this pass is about to.
        *lock(&pass.stamps) = None;
        Ok(Arc::clone(current.insert(Arc::new(writer))))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn stamps_of(index: &Index) -> Result<Stamps, GateError> {
    index.stamps().map_err(index_error)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, GateError> + Send + 'static,
) -> Result<T, GateError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => {
            Err(GateError::other("internal", format!("reading documents failed: {error}")))
        }
    }
}

fn unknown(root: u32, roots: usize) -> GateError {
    GateError::refused(format!("there is no root {root}: {roots} directories are granted, counted from 0"))
        .with_hint("grant the directory to the plugin under `directories` in plugins.toml, or name it with --docs")
}

fn index_error(error: IndexError) -> GateError {
    let message = error.to_string();
    let hint = match error {
        IndexError::Busy { .. } => "ask again once that is done",
        IndexError::Damaged { .. } | IndexError::Replaced { .. } => {
            "ask again: the index is rebuilt from the documents"
        }
        error if error.is_full() => "make room on the disk that holds the cache directory",
        _ => {
            "check that the cache directory can be written; the index in it may be deleted at any time"
        }
    };
    GateError::new(GateErrorKind::Unavailable, message).with_hint(hint)
}
