//! Passes over a tree that exists only in memory.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::source::Entry;

/// A directory in memory, with an index of paths.
#[derive(Default)]
struct Memory {
    files: BTreeMap<String, Vec<u8>>,
    unreadable: BTreeSet<String>,
    indexed: RefCell<BTreeMap<String, Document>>,
    read: RefCell<Vec<String>>,
    progress: RefCell<Vec<(u64, Option<u64>)>>,
}

impl Memory {
    fn new(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
            .collect();
        Self { files, ..Self::default() }
    }

    fn paths(&self) -> Vec<String> {
        self.indexed.borrow().keys().cloned().collect()
    }
}

impl Documents for Memory {
    fn roots(&self) -> Vec<Root> {
        vec![Root { id: 0, prefix: "docs/".to_owned() }]
    }

    fn list(&self, _: u32, path: &str) -> Result<Vec<Entry>, String> {
        if self.unreadable.contains(path) {
            return Err(format!("docs/{path} cannot be listed"));
        }
        let base = if path.is_empty() { String::new() } else { format!("{path}/") };
        let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
        for (file, bytes) in &self.files {
            let Some(below) = file.strip_prefix(&base) else {
                continue;
            };
            let (name, is_directory) =
                below.split_once('/').map_or((below, false), |(name, _)| (name, true));
            let indexed = self.indexed.borrow().contains_key(file);
            entries.insert(
                name.to_owned(),
                Entry { name: name.to_owned(), is_directory, size: bytes.len() as u64, indexed },
            );
        }
        Ok(entries.into_values().collect())
    }

    fn read(&self, _: u32, path: &str, _: u64) -> Result<Vec<u8>, String> {
        if self.unreadable.contains(path) {
            return Err(format!("docs/{path} cannot be read"));
        }
        self.read.borrow_mut().push(path.to_owned());
        self.files.get(path).cloned().ok_or_else(|| "missing".to_owned())
    }

    fn put(&self, documents: Vec<Document>) -> Result<(), String> {
        for document in documents {
            self.indexed.borrow_mut().insert(document.path.clone(), document);
        }
        Ok(())
    }

    fn retain(&self, _: u32, paths: &[String]) -> Result<u32, String> {
        let before = self.indexed.borrow().len();
        self.indexed.borrow_mut().retain(|path, _| paths.contains(path));
        Ok((before - self.indexed.borrow().len()) as u32)
    }

    fn progress(&self, _: &str, done: u64, total: Option<u64>) {
        self.progress.borrow_mut().push((done, total));
    }
}

#[test]
fn ignored_hidden_and_foreign_files_are_passed_over() {
    let memory = Memory::new(&[
        (".git/info/exclude", "private.md\n"),
        (".gitignore", "*.log.md\nbuild/\n!keep.log.md\n"),
        (".hidden/a.md", "x"),
        ("a.md", "x"),
        ("b.log.md", "x"),
        ("keep.log.md", "x"),
        ("build/out.md", "x"),
        ("node_modules/m/readme.md", "x"),
        ("photo.png", "x"),
        ("private.md", "x"),
        ("sub/.ignore", "c.md\n"),
        ("sub/c.md", "x"),
        ("sub/d.rs", "x"),
    ]);
    let result = update(&memory, &Settings::default()).unwrap();
    assert_eq!(memory.paths(), ["a.md", "keep.log.md", "sub/d.rs"]);
    assert_eq!((result.items, result.updated, result.removed), (3, 3, 0));
    assert_eq!(result.notes, Vec::<String>::new());
    assert_eq!(memory.progress.borrow().last(), Some(&(3, Some(3))));

    let everything = Memory { files: memory.files.clone(), ..Memory::default() };
    update(&everything, &Settings { gitignore: false, ..Settings::default() }).unwrap();
    assert!(everything.paths().contains(&"build/out.md".to_owned()));
}

#[test]
fn only_what_changed_is_read() {
    let mut memory = Memory::new(&[("a.md", "one"), ("b.md", "two"), ("c.md", "three")]);
    update(&memory, &Settings::default()).unwrap();
    memory.read.borrow_mut().clear();
    memory.indexed.borrow_mut().remove("b.md");
    memory.files.remove("c.md");
    let result = update(&memory, &Settings::default()).unwrap();
    assert_eq!(*memory.read.borrow(), ["b.md"]);
    assert_eq!((result.items, result.updated, result.removed), (2, 1, 1));
}

#[test]
fn what_cannot_be_read_is_noted_and_the_rest_goes_on() {
    let mut memory = Memory::new(&[
        ("a.md", "text"),
        ("bad.md", "x"),
        ("closed/in.md", "x"),
        ("big.md", "0123456789"),
    ]);
    memory.files.insert("binary.txt".to_owned(), vec![0, 1, 2]);
    memory.files.insert("huge.md".to_owned(), vec![b'a'; 2000]);
    memory.unreadable.extend(["bad.md".to_owned(), "closed".to_owned()]);
    let result = update(&memory, &Settings { max_file_kb: 1, ..Settings::default() }).unwrap();
    assert_eq!(memory.paths(), ["a.md", "big.md", "binary.txt"]);
    assert!(memory.indexed.borrow()["binary.txt"].passages.is_empty());
    assert_eq!(
        result.notes,
        [
            "passed over 2 files or directories that could not be read, the first being docs/closed cannot be listed",
            "passed over a file of more than 1 kB: docs/huge.md",
            "passed over a file that is not text: docs/binary.txt",
        ]
    );
}

#[test]
fn a_root_that_cannot_be_read_is_an_error() {
    let mut memory = Memory::new(&[("a.md", "text")]);
    memory.unreadable.insert(String::new());
    assert!(update(&memory, &Settings::default()).is_err());
}

#[test]
fn what_can_no_longer_be_read_is_forgotten() {
    let mut memory = Memory::default();
    memory.files.insert("a.md".to_owned(), b"# A\n\nwhale\n".to_vec());
    memory.files.insert("b.md".to_owned(), b"# B\n\nnarwhal\n".to_vec());
    update(&memory, &Settings::default()).unwrap();
    // As after a change that this user may not read.
    memory.indexed.borrow_mut().remove("b.md");
    memory.unreadable.insert("b.md".to_owned());
    let passed = update(&memory, &Settings::default()).unwrap();
    assert_eq!(passed.items, 1);
    assert!(passed.notes[0].contains("b.md"), "{:?}", passed.notes);
}
