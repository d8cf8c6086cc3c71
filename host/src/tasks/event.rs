//! What goes into a task, what it tells while it runs, and what comes out.

use serde::{Deserialize, Serialize};

use crate::plugins::contract::{Finding, Plan, Preparation, Question, Round, Source, StopReason, Usage};

/// A question and the tool that was asked it.
#[derive(Debug, Clone)]
pub struct TaskRequest {
    /// `search`, `deep_search` or `research`: which backends serve it is
    /// configured by this name.
    pub tool: String,
    pub question: Question,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    Running,
    Completed,
    Failed,
    Cancelled,
    /// Its process is gone; what it had done is kept.
    Interrupted,
}

impl TaskStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }
}

/// What happened, as it happens; never an invented percentage.
#[derive(Debug, Clone)]
pub enum Event {
    Started { id: String },
    /// A search backend brings itself up to date, or a plugin tells what it does.
    Progress { message: String, done: u64, total: Option<u64> },
    Prepared { plugin: String, preparation: Preparation },
    Planned { plan: Plan },
    RoundStarted { number: u32, of: u32, step: String, reason: String },
    RoundEnded { round: Box<Round>, of: u32 },
    Finished { status: TaskStatus },
}

/// All there is to know about a task: what `research` prints, `show` reads back
/// and the MCP tools return.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Outcome {
    pub id: String,
    pub tool: String,
    pub question: Question,
    pub status: TaskStatus,
    pub plan: Option<Plan>,
    pub rounds: Vec<Round>,
    /// The answer in Markdown, without the sources; empty when nothing was found.
    pub answer: String,
    pub findings: Vec<Finding>,
    /// In the order the findings cite them, then what else was looked at.
    pub sources: Vec<Source>,
    pub stop_reason: Option<StopReason>,
    /// What the reader should know: nothing found, verification not completed.
    pub note: Option<String>,
    pub usage: Usage,
    pub model: Option<String>,
    /// RFC 3339, UTC.
    pub created_at: String,
    pub finished_at: Option<String>,
    pub duration_ms: u64,
    pub error: Option<ErrorReport>,
}

/// An error as users and programs read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ErrorReport {
    /// A stable word in capitals, such as `INVALID_INPUT`.
    pub code: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}
