//! The full-text index of a granted directory: one SQLite file with an FTS5
//! table, kept in the cache, because it can be rebuilt from the documents.
//!
//! FTS5 holds which words stand in which passage, and how often; the ranking is
//! our own (`ranking`), because it has to weigh titles, headings and whole
//! documents against single passages, which FTS5's `bm25` cannot. The index
//! never opens a user's file: it is given text, and knows a file only by its
//! path and [`Stamp`].

mod catalogue;
mod file;
mod query;
mod ranking;
mod spelling;
mod stop_words;
mod words;
mod writer;

use std::io::ErrorKind;

use super::error::{Fault, fault_of};

pub use file::{Index, Stamps};
pub use query::{Ranked, search, search_with};
pub use ranking::Weights;
pub use writer::Writer;

/// A document as it is put into the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Relative to the root, with `/`.
    pub path: String,
    pub title: String,
    pub passages: Vec<Passage>,
    pub stamp: Stamp,
}

/// A part of a document that can be found by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The headings above it, joined by ` › `.
    pub heading: String,
    /// Lines count from 1; the last line is included.
    pub start_line: u32,
    pub end_line: u32,
    pub text: String,
}

/// What a file looked like when it was read; one that looks the same holds the
/// same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp {
    pub size: u64,
    /// Nanoseconds since 1970.
    pub modified: i64,
    /// When the file's data or description last changed, where the platform
    /// tells; catches a change that keeps the time of modification.
    pub changed: i64,
}

impl Stamp {
    /// For a file that may change again without its stamp showing it: what is
    /// stored with this is read again.
    pub const fn unsettled(size: u64) -> Self {
        Self { size, modified: 0, changed: 0 }
    }

    pub const fn is_settled(self) -> bool {
        self.modified != 0 || self.changed != 0
    }
}

#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error("the index {path} cannot be used: {source}")]
    Database { path: String, source: rusqlite::Error },
    #[error("the index {path} cannot be written: {source}")]
    File { path: String, source: std::io::Error },
    #[error("the index {path} is damaged; it will be built anew")]
    Damaged { path: String },
    #[error(
        "the documents are being indexed already, by another process or for another question (into {path})"
    )]
    Busy { path: String },
    #[error("the index {path} was removed or replaced while it was being filled")]
    Replaced { path: String },
    #[error("the thread that writes the index {path} has ended early")]
    Ended { path: String },
}

impl IndexError {
    /// The disk is full or the file system refuses to write.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Database { source, .. } => {
                source.sqlite_error().is_some_and(|failure| fault_of(*failure) == Fault::Full)
            }
            Self::File { source, .. } => {
                matches!(source.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
