//! What goes into a task, and the line it becomes in the history.

use serde::Serialize;

use crate::plugins::contract::Question;
use crate::report::{TaskStatus, timestamp};
use crate::store::TaskRecord;

/// A question and the tool that was asked it.
#[derive(Debug, Clone)]
pub struct TaskRequest {
    /// `search`, `deep_search` or `research`: which backends serve it is
    /// configured by this name.
    pub tool: String,
    pub question: Question,
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
}

impl From<TaskRecord> for TaskSummary {
    fn from(task: TaskRecord) -> Self {
        Self {
            id: task.id,
            tool: task.tool,
            question: task.text,
            status: task.status.into(),
            rounds: task.rounds,
            created_at: timestamp(task.created_at),
            duration_ms: task
                .finished_at
                .and_then(|finished| u64::try_from(finished - task.created_at).ok()),
        }
    }
}
