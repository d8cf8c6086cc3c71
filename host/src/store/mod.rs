//! What Bathysphere keeps on disk.

pub mod documents;
