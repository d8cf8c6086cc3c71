//! Brings the index up to date: walks the granted directories, reads what has
//! changed, splits it and puts it into the index.

use crate::decode::decode;
use crate::ignore::{Rules, is_ignored};
use crate::kind::{self, Kind};
use crate::settings::{Filter, Settings};
use crate::source::{Document, Documents, Root};
use crate::split::{Split, split};

/// Text put into the index at once: enough to make a call worth it, little
/// enough to hold in memory.
const BATCH_BYTES: usize = 1 << 20;
const BATCH_DOCUMENTS: usize = 500;

/// How deep directories are walked.
const DEEPEST: usize = 100;

/// An ignore file larger than this is not one.
const IGNORE_BYTES: u64 = 1 << 20;

/// What an update did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Update {
    /// Files that can be found now.
    pub items: u64,
    pub updated: u64,
    pub removed: u64,
    pub notes: Vec<String>,
}

/// Why a file was passed over.
#[derive(Debug, Default)]
struct Skipped {
    large: Sample,
    binary: Sample,
    unreadable: Sample,
    deep: Sample,
}

/// How many, and the first of them.
#[derive(Debug, Default)]
struct Sample {
    count: u64,
    first: String,
}

impl Sample {
    fn add(&mut self, what: impl FnOnce() -> String) {
        if self.count == 0 {
            self.first = what();
        }
        self.count += 1;
    }
}

pub fn update(documents: &impl Documents, settings: &Settings) -> Result<Update, String> {
    let mut update = Update::default();
    let mut skipped = Skipped::default();
    for root in documents.roots() {
        let mut walk = Walk {
            documents,
            settings,
            filter: settings.filter(),
            root: &root,
            kept: Vec::new(),
            changed: Vec::new(),
            skipped: &mut skipped,
        };
        walk.directory(&mut Vec::new(), "", 0)?;
        let Walk { mut kept, changed, .. } = walk;
        let unread = read(documents, settings, &root, &kept, &changed, &mut skipped, &mut update)?;
        // What can no longer be read must no longer be quoted.
        for place in unread.into_iter().rev() {
            kept.swap_remove(place);
        }
        update.items += kept.len() as u64;
        update.removed += u64::from(documents.retain(root.id, &kept)?);
    }
    update.notes = skipped.notes(settings);
    Ok(update)
}

struct Walk<'a, D> {
    documents: &'a D,
    settings: &'a Settings,
    filter: Filter,
    root: &'a Root,
    /// Paths of all files that belong into the index.
    kept: Vec<String>,
    /// Of these, the ones that it does not hold as they are now.
    changed: Vec<(usize, Kind)>,
    skipped: &'a mut Skipped,
}

impl<D: Documents> Walk<'_, D> {
    fn directory(
        &mut self,
        stack: &mut Vec<Rules>,
        path: &str,
        depth: usize,
    ) -> Result<(), String> {
        let entries = match self.documents.list(self.root.id, path) {
            Ok(entries) => entries,
            // Without the root there is nothing; without one of its directories
            // there is the rest.
            Err(message) if path.is_empty() => return Err(message),
            Err(message) => {
                self.skipped.unreadable.add(|| message);
                return Ok(());
            }
        };
        let base = if path.is_empty() { String::new() } else { format!("{path}/") };
        let mut rules = Rules::new(&base);
        if self.settings.gitignore {
            let has = |name: &str| entries.iter().any(|entry| entry.name == name);
            let files = [
                (".git", ".git/info/exclude"),
                (".gitignore", ".gitignore"),
                (".ignore", ".ignore"),
            ];
            for (sign, file) in files {
                if has(sign)
                    && let Ok(bytes) =
                        self.documents.read(self.root.id, &format!("{base}{file}"), IGNORE_BYTES)
                {
                    rules.add(&String::from_utf8_lossy(&bytes));
                }
            }
        }
        let ruled = !rules.is_empty();
        if ruled {
            stack.push(rules);
        }
        for entry in entries {
            if entry.name == ".git"
                || (entry.name.starts_with('.') && !self.settings.hidden)
                || entry.name == "node_modules"
            {
                continue;
            }
            let full = format!("{base}{}", entry.name);
            if entry.is_directory {
                if is_ignored(stack, &full, true) || self.filter.excludes(&full) {
                    continue;
                }
                if depth >= DEEPEST {
                    self.skipped.deep.add(|| format!("{}{full}", self.root.prefix));
                    continue;
                }
                self.directory(stack, &full, depth + 1)?;
                continue;
            }
            let Some(kind) = kind::of(&entry.name, &self.settings.extensions) else {
                continue;
            };
            if is_ignored(stack, &full, false)
                || self.filter.excludes(&full)
                || !self.filter.includes(&full)
            {
                continue;
            }
            if entry.size > self.settings.max_file_kb * 1024 {
                self.skipped.large.add(|| format!("{}{full}", self.root.prefix));
                continue;
            }
            if !entry.indexed {
                self.changed.push((self.kept.len(), kind));
            }
            self.kept.push(full);
        }
        if ruled {
            stack.pop();
        }
        Ok(())
    }
}

/// Reads and puts what has changed; tells the places of what could not be read, in
/// rising order.
fn read(
    documents: &impl Documents,
    settings: &Settings,
    root: &Root,
    kept: &[String],
    changed: &[(usize, Kind)],
    skipped: &mut Skipped,
    update: &mut Update,
) -> Result<Vec<usize>, String> {
    let total = changed.len() as u64;
    let mut unread = Vec::new();
    let mut batch: Vec<Document> = Vec::new();
    let mut bytes = 0;
    for (done, &(place, kind)) in changed.iter().enumerate() {
        let path = &kept[place];
        let content = match documents.read(root.id, path, settings.max_file_kb * 1024) {
            Ok(content) => content,
            Err(message) => {
                skipped.unreadable.add(|| message);
                unread.push(place);
                continue;
            }
        };
        let found = if let Some(text) = decode(&content) {
            split(kind, &text, path)
        } else {
            skipped.binary.add(|| format!("{}{path}", root.prefix));
            // Remembered without a passage, so that it is not read again until
            // it changes.
            Split::default()
        };
        let document = Document {
            root: root.id,
            path: path.clone(),
            title: found.title,
            passages: found.passages,
        };
        update.updated += 1;
        bytes += content.len();
        batch.push(document);
        if bytes >= BATCH_BYTES || batch.len() >= BATCH_DOCUMENTS {
            documents.put(std::mem::take(&mut batch))?;
            bytes = 0;
            documents.progress("reading documents", done as u64 + 1, Some(total));
        }
    }
    if !batch.is_empty() {
        documents.put(batch)?;
        documents.progress("reading documents", total, Some(total));
    }
    Ok(unread)
}

impl Skipped {
    fn notes(&self, settings: &Settings) -> Vec<String> {
        let mut notes = Vec::new();
        let mut note = |sample: &Sample, one: &str, many: &str| {
            let first = &sample.first;
            match sample.count {
                0 => {}
                1 => notes.push(format!("passed over {one}: {first}")),
                count => notes.push(format!("passed over {count} {many}, the first being {first}")),
            }
        };
        let size = settings.max_file_kb;
        note(
            &self.unreadable,
            "what could not be read",
            "files or directories that could not be read",
        );
        note(
            &self.large,
            &format!("a file of more than {size} kB"),
            &format!("files of more than {size} kB"),
        );
        note(&self.binary, "a file that is not text", "files that are not text");
        note(&self.deep, "a directory that lies too deep", "directories that lie too deep");
        notes
    }
}

#[cfg(test)]
mod tests;
