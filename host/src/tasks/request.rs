//! What goes into a task, and the line it becomes in the history.

use std::time::Duration;

use serde::Serialize;

use crate::plugins::contract::Question;
use crate::report::{TaskStatus, timestamp};
use crate::store::{Status, TaskRecord};

/// What a tool was asked, and how long the asker waits.
#[derive(Debug, Clone)]
pub struct TaskRequest {
    /// `search`, `deep_search`, `deep_research` or `research`: which backends
    /// serve it is configured by this name.
    pub tool: String,
    pub subject: Subject,
    /// After this the asker gets a handle, and the task goes on as long as this
    /// process does.
    pub max_wait: Option<Duration>,
    /// Where the task is to go on without anybody who waits.
    pub background: Option<Background>,
}

/// How a task goes on by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Background {
    /// The user wants to be told of its end.
    pub notify: bool,
    /// It is ended after this, at the vendor too.
    pub max_wait: Duration,
}

#[derive(Debug, Clone)]
pub enum Subject {
    /// A new question.
    Question(Question),
    /// An earlier task that did not come to its end.
    Task {
        /// May be cut short.
        id: String,
        /// In place of the limit it was started with.
        max_rounds: Option<u32>,
    },
}

impl TaskRequest {
    pub fn new(tool: &str, question: Question) -> Self {
        Self {
            tool: tool.to_owned(),
            subject: Subject::Question(question),
            max_wait: None,
            background: None,
        }
    }
}

/// A line of the history.
#[derive(Debug, Clone, Serialize)]
pub struct TaskSummary {
    pub id: String,
    pub tool: String,
    pub question: String,
    pub status: TaskStatus,
    pub rounds: u32,
    /// RFC 3339, UTC.
    pub created_at: String,
    pub duration_ms: Option<u64>,
    /// In US dollars, as far as it is known.
    pub cost_usd: Option<f64>,
}

impl From<TaskRecord> for TaskSummary {
    fn from(task: TaskRecord) -> Self {
        Self {
            id: task.id,
            tool: task.tool,
            question: task.text,
            // What is left goes on as soon as some process is there.
            status: match task.status {
                Status::Interrupted if task.background => TaskStatus::Running,
                status => status.into(),
            },
            rounds: task.rounds,
            created_at: timestamp(task.created_at),
            duration_ms: task
                .finished_at
                .and_then(|finished| u64::try_from(finished - task.created_at).ok()),
            cost_usd: task.cost_usd,
        }
    }
}
