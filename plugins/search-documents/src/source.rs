//! Where documents come from: the host's `documents` interface, as a trait, so
//! that everything else is plain Rust and can be tested without WebAssembly.

/// See `documents` in `wit/host.wit`.
pub trait Documents {
    fn roots(&self) -> Vec<Root>;
    fn list(&self, root: u32, path: &str) -> Result<Vec<Entry>, String>;
    fn read(&self, root: u32, path: &str, max_bytes: u64) -> Result<Vec<u8>, String>;
    fn put(&self, documents: Vec<Document>) -> Result<(), String>;
    fn retain(&self, root: u32, paths: &[String]) -> Result<u32, String>;
    /// Tells the user how far things are.
    fn progress(&self, message: &str, done: u64, total: Option<u64>);
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    pub id: u32,
    pub prefix: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub is_directory: bool,
    pub size: u64,
    pub indexed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub root: u32,
    pub path: String,
    pub title: String,
    pub passages: Vec<Passage>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    pub heading: String,
    pub start_line: u32,
    pub end_line: u32,
    pub text: String,
}
