//! What a task came to: printed by the command line, stored, returned by the MCP
//! tools, and turned into a report.

use serde::{Deserialize, Serialize};

use crate::plugins::CallError;
use crate::plugins::contract::{
    Citation, ErrorKind, Finding, Plan, Question, Round, SUMMARY, Source, StopReason, Usage,
};
use crate::store::{Status, StoreError};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// The tools for background research say `running_async`.
    #[serde(alias = "running_async")]
    Running,
    Completed,
    Failed,
    Cancelled,
    /// Its process is gone; what it had done is kept.
    Interrupted,
    /// Something was sent that may have been paid for, and nobody knows what became
    /// of it: the user decides.
    NeedsAttention,
}

impl TaskStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
            Self::NeedsAttention => "needs_attention",
        }
    }
}

/// The tool whose tasks a vendor works on.
pub const START_DEEP_RESEARCH: &str = "start_deep_research";

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
    /// Which parts of the answer rest on which source, where the backend that
    /// wrote it says so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<Citation>,
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
    /// The vendor's name for the job that a running task waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The database holds it. Otherwise this is the only copy.
    #[serde(default = "yes")]
    pub saved: bool,
}

fn yes() -> bool {
    true
}

/// What a round came to, in the agent's own words.
pub fn summary_of(round: &Round) -> Option<&str> {
    let (_, summary) = round.extra.iter().find(|(name, _)| name == SUMMARY)?;
    Some(summary.as_str()).filter(|summary| !summary.trim().is_empty())
}

/// The beginning of an id, enough to name its task.
pub fn short_id(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

impl Outcome {
    /// The round whose answer stands.
    fn standing(&self) -> Option<&Round> {
        let stands = |round: &&Round| {
            round.error.is_none() && round.answer.as_deref() == Some(self.answer.as_str())
        };
        self.rounds.iter().rev().find(stands)
    }

    /// Whether the answer that stands was checked and found right.
    pub fn verified(&self) -> bool {
        self.standing().is_some_and(|round| round.verified == Some(true))
    }

    /// Whether the answer is a report that an agent wrote by itself, with its own
    /// citations: nothing is known of it but its words.
    pub fn is_written(&self) -> bool {
        self.findings.is_empty()
            && !self.answer.trim().is_empty()
            // A part of a report that no round came to the end of was written too.
            && self.standing().is_none_or(|round| round.step != "gather")
    }

    /// Whether it is research that a vendor does, and that outlives the call.
    pub fn is_background(&self) -> bool {
        self.tool == START_DEEP_RESEARCH
    }

    /// There is nothing to read: an answer without findings may say no more than
    /// that there is none.
    pub fn found_nothing(&self) -> bool {
        self.findings.is_empty()
            && (self.answer.trim().is_empty() || self.stop_reason == Some(StopReason::NothingFound))
    }

    /// The report: as an agent wrote it, or the findings laid out as one; empty where
    /// there is nothing to read.
    pub fn report(&self) -> String {
        let nothing = self.found_nothing();
        if nothing && self.status != TaskStatus::Completed {
            return String::new();
        }
        if self.findings.is_empty() && !nothing {
            // As it is, but for marks that only its writer can read.
            super::readable(self, true).unwrap_or_else(|| self.answer.clone())
        } else {
            super::render_markdown(self)
        }
    }

    /// How to take it up where it was left, for what did not come to its end.
    pub fn way_on(&self) -> Option<String> {
        let ended_early = matches!(
            self.status,
            TaskStatus::Failed | TaskStatus::Cancelled | TaskStatus::Interrupted
        );
        let broken_off =
            matches!(&self.stop_reason, Some(StopReason::Other(name)) if name == "round-failed");
        ((ended_early || broken_off) && self.saved && !self.is_background())
            .then(|| format!("bathysphere deep-search --resume {}", short_id(&self.id)))
    }
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

impl ErrorReport {
    /// The code of a plugin that is sound, but was given nothing to reach.
    pub const NOT_GRANTED: &str = "NOT_GRANTED";

    #[must_use]
    pub fn with_hint(mut self, hint: &str) -> Self {
        self.hint = Some(hint.to_owned());
        self
    }
}

/// The names of errors that have a code of their own; every other that a plugin
/// makes up is an `EXECUTION_ERROR`.
const NAMED: &[(&str, &str)] = &[
    ("cli-not-found", "CLI_NOT_FOUND"),
    ("model-not-found", "MODEL_NOT_FOUND"),
    ("quota-exhausted", "QUOTA_EXHAUSTED"),
    ("safety-blocked", "SAFETY_BLOCKED"),
    ("context-overflow", "CONTEXT_OVERFLOW"),
    ("timeout", "TIMEOUT"),
    ("empty-answer", "EMPTY_ANSWER"),
    ("turn-limit", "TURN_LIMIT"),
    ("too-large", "TOO_LARGE"),
    ("store-error", "STORE_ERROR"),
    ("not-sent", "UNAVAILABLE"),
    ("over-budget", "BUDGET_EXCEEDED"),
    ("expired", "EXPIRED"),
];

impl From<&CallError> for ErrorReport {
    fn from(error: &CallError) -> Self {
        let code = match error {
            CallError::Failed { error, .. } => match &error.kind {
                ErrorKind::NotFound => "NOT_FOUND",
                ErrorKind::Auth => "AUTH_ERROR",
                ErrorKind::RateLimited(_) => "RATE_LIMITED",
                ErrorKind::Unavailable => "UNAVAILABLE",
                ErrorKind::InvalidInput => "INVALID_INPUT",
                ErrorKind::Refused => "REFUSED",
                ErrorKind::Other(name) => NAMED
                    .iter()
                    .find(|(known, _)| known == name)
                    .map_or("EXECUTION_ERROR", |(_, code)| *code),
            },
            CallError::Limit { .. } => "PLUGIN_LIMIT",
            CallError::Crashed { .. } => "PLUGIN_CRASHED",
            CallError::Load(error) if error.lacks_grant => ErrorReport::NOT_GRANTED,
            CallError::Load(_) => "PLUGIN_NOT_LOADED",
        };
        Self { code: code.to_owned(), message: error.to_string(), hint: error.hint() }
    }
}

impl From<StoreError> for ErrorReport {
    fn from(error: StoreError) -> Self {
        let code = match error {
            StoreError::NoSuchTask { .. } | StoreError::AmbiguousTask { .. } => "NOT_FOUND",
            StoreError::OverBudget { .. } => "BUDGET_EXCEEDED",
            _ => "STORE_ERROR",
        };
        Self { code: code.to_owned(), hint: error.hint(), message: error.to_string() }
    }
}

impl From<Status> for TaskStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Running => Self::Running,
            Status::Completed => Self::Completed,
            Status::Failed => Self::Failed,
            Status::Cancelled => Self::Cancelled,
            Status::Interrupted => Self::Interrupted,
            Status::NeedsAttention => Self::NeedsAttention,
        }
    }
}

impl From<TaskStatus> for Status {
    fn from(status: TaskStatus) -> Self {
        match status {
            TaskStatus::Running => Self::Running,
            TaskStatus::Completed => Self::Completed,
            TaskStatus::Failed => Self::Failed,
            TaskStatus::Cancelled => Self::Cancelled,
            TaskStatus::Interrupted => Self::Interrupted,
            TaskStatus::NeedsAttention => Self::NeedsAttention,
        }
    }
}

/// Milliseconds since 1970 as RFC 3339, UTC.
pub fn timestamp(milliseconds: i64) -> String {
    jiff::Timestamp::from_millisecond(milliseconds).unwrap_or_default().to_string()
}
