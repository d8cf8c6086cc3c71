//! What was asked of the stand-in, and when: the proof that a question was started
//! once, and that a cancel went out.

use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Create,
    Poll,
    Cancel,
    Delete,
    /// A request that the vendor would not understand.
    Wrong,
}

#[derive(Debug, Clone)]
pub struct Entry {
    pub what: What,
    /// Since the stand-in was started.
    pub at: Duration,
    /// The question; empty where it is not known.
    pub input: Arc<str>,
    /// The interaction; for a create, the one that it made.
    pub id: Option<Arc<str>>,
    /// What was answered; none where the connection was cut or kept waiting.
    pub status: Option<u16>,
    /// What was wrong with a wrong request.
    pub complaint: Option<String>,
    /// The agent that was asked for.
    pub agent: Option<String>,
}

/// Everything so far, in order.
#[derive(Debug, Clone, Default)]
pub struct Log(pub Vec<Entry>);

impl Log {
    fn count(&self, wanted: impl Fn(&Entry) -> bool) -> usize {
        self.0.iter().filter(|entry| wanted(entry)).count()
    }

    /// Requests that would start this question, whatever became of them.
    pub fn creates(&self, input: &str) -> usize {
        self.count(|entry| entry.what == What::Create && &*entry.input == input)
    }

    /// The interactions that were started for this question: what would be paid for.
    pub fn ids(&self, input: &str) -> Vec<String> {
        let mine = self.0.iter().filter(|entry| entry.what == What::Create);
        mine.filter(|entry| &*entry.input == input)
            .filter_map(|entry| entry.id.as_deref().map(str::to_owned))
            .collect()
    }

    pub fn polls(&self, id: &str) -> usize {
        self.count(|entry| entry.what == What::Poll && entry.id.as_deref() == Some(id))
    }

    pub fn cancels(&self, id: &str) -> usize {
        self.count(|entry| entry.what == What::Cancel && entry.id.as_deref() == Some(id))
    }

    pub fn deletes(&self, id: &str) -> usize {
        self.count(|entry| entry.what == What::Delete && entry.id.as_deref() == Some(id))
    }

    /// Each question that somebody wanted to start, once, in order.
    pub fn inputs(&self) -> Vec<String> {
        let mut inputs: Vec<String> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for entry in self.0.iter().filter(|entry| entry.what == What::Create) {
            if seen.insert(Arc::clone(&entry.input)) {
                inputs.push(entry.input.to_string());
            }
        }
        inputs
    }

    /// What was wrong with the requests that the vendor would not understand.
    pub fn complaints(&self) -> Vec<&str> {
        self.0.iter().filter_map(|entry| entry.complaint.as_deref()).collect()
    }
}
