//! What the tools for background research return, over MCP and as `--json`: one
//! shape for both. Everything here is read from the database.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Cancellation, ErrorReport, Outcome, TaskStatus, Vendor};
use crate::plugins::contract::{Job, Usage};
use crate::report::{AnswerSource, short_id};

/// What a tool returns that either tells something or fails.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Told<T> {
    pub success: bool,
    #[serde(flatten)]
    pub value: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorReport>,
}

impl<T> Told<T> {
    pub fn of(value: Result<T, ErrorReport>) -> Self {
        match value {
            Ok(value) => Self { success: true, value: Some(value), error: None },
            Err(error) => Self { success: false, value: None, error: Some(error) },
        }
    }
}

/// What `start_deep_research` returns.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Started {
    pub success: bool,
    /// Names the task, for the other tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// `completed`, `running_async`, `failed` or `needs_attention`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// `sync` when the result is here, `async` when it is still to come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The report, where it is finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results: Option<Report>,
    /// What it cost in US dollars, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What to call next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check_status_command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorReport>,
}

impl Started {
    /// There is no task.
    pub fn of_error(error: &ErrorReport) -> Self {
        Self { error: Some(error.clone()), ..Self::default() }
    }
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Report {
    /// In Markdown.
    pub report: String,
    pub sources: Vec<AnswerSource>,
    pub metadata: Metadata,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Metadata {
    pub duration_minutes: f64,
    pub tokens_used: Tokens,
    /// Searches made.
    pub searches: u32,
    /// In US dollars, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// `sync` when the result came with the first call, else `async`.
    pub mode: String,
    /// Which tool made the task.
    pub tool: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// RFC 3339.
    pub created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
}

impl Tokens {
    pub fn of(usage: &Usage) -> Self {
        Self { input: usage.input_tokens, output: usage.output_tokens }
    }
}

/// What `check_research_status` returns.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ResearchStatus {
    pub task_id: String,
    pub query: String,
    /// `running_async`, `completed`, `failed`, `cancelled`, `needs_attention`; of
    /// tasks of other tools also `running` and `interrupted`.
    pub status: String,
    /// What has really been done so far; nobody knows how much is left.
    pub progress: Done,
    /// The latest of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_action: Option<String>,
    /// The last few things, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recent_actions: Vec<String>,
    pub elapsed_minutes: f64,
    pub tokens_used: Tokens,
    /// In US dollars, as far as it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_so_far: Option<f64>,
    /// What is left by the estimate made at the start, which may be wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_completion_minutes: Option<f64>,
    /// A part of the report can be read already, with get_research_results.
    pub has_partial_report: bool,
    /// What the vendor calls its state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor_status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Why the research failed, or needs attention.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<ErrorReport>,
    /// What to call next.
    pub next: String,
}

#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Done {
    /// Things that were told of: thoughts, searches, pages.
    pub steps: u64,
    pub searches: u64,
    pub pages_read: u64,
    /// Rounds, for research that is done in rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u64>,
}

impl Done {
    pub fn of(outcome: &Outcome, job: Option<&Job>) -> Self {
        let Some(job) = job else {
            return Self {
                steps: outcome.rounds.len() as u64,
                searches: outcome.usage.searches.into(),
                pages_read: outcome.usage.pages.into(),
                rounds: Some(outcome.rounds.len() as u64),
            };
        };
        let counted = |wanted: &str, otherwise: u32| {
            let told = job.extra.iter().find(|(name, _)| name == wanted);
            let told = told.and_then(|(_, value)| value.parse::<u64>().ok()).unwrap_or_default();
            told.max(otherwise.into())
        };
        Self {
            steps: job.progress.len() as u64,
            searches: counted("searches", job.usage.searches),
            pages_read: counted("pages", job.usage.pages),
            rounds: None,
        }
    }
}

/// What `get_research_results` returns.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct ResearchResults {
    pub success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// In Markdown; a part of it where `offset` or `limit` say so, and of what there
    /// is so far where the research has not come to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<Page>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<AnswerSource>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorReport>,
}

impl ResearchResults {
    /// There is no such task.
    pub fn of_error(error: &ErrorReport) -> Self {
        Self { error: Some(error.clone()), ..Self::default() }
    }
}

/// Which part of a report this is, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Page {
    pub offset: u64,
    pub length: u64,
    /// Of the whole report.
    pub total: u64,
    /// Where the next part begins; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
}

impl Page {
    /// The part of a text, and which part it is.
    pub fn cut(text: &str, offset: u64, limit: Option<u64>) -> (String, Self) {
        let total = text.chars().count() as u64;
        let offset = offset.min(total);
        let length = limit.unwrap_or(u64::MAX).min(total - offset);
        let part = text.chars().skip(offset as usize).take(length as usize).collect();
        let end = offset + length;
        (part, Self { offset, length, total, next_offset: (end < total).then_some(end) })
    }
}

/// What `cancel_research` returns.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Cancelled {
    pub success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// What had been found by then is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial_results_saved: Option<bool>,
    /// `told`, `not_involved`, `told_later` (it could not be reached, and is told
    /// again) or `unknown` (it may have a job that nobody here knows of).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// What it cost in US dollars, as far as it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_used: Option<Tokens>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorReport>,
}

impl Cancelled {
    pub fn of(cancellation: &Cancellation) -> Self {
        let Cancellation { outcome, before, partial, vendor } = cancellation;
        let id = short_id(&outcome.id);
        let mut message = if *before {
            format!("Task {id} had been cancelled before.")
        } else {
            format!("Task {id} is cancelled.")
        };
        message.push_str(match vendor {
            Vendor::NotInvolved => "",
            Vendor::Told => " The vendor has been told to stop.",
            Vendor::ToldLater => {
                " The vendor could not be reached yet, and is told again until it has heard."
            }
            Vendor::Unknown => {
                " Whether the vendor has started anything is not known: look at its console."
            }
        });
        Self {
            success: true,
            task_id: Some(outcome.id.clone()),
            status: Some(TaskStatus::Cancelled.as_str().to_owned()),
            partial_results_saved: Some(*partial),
            vendor: Some(
                match vendor {
                    Vendor::NotInvolved => "not_involved",
                    Vendor::Told => "told",
                    Vendor::ToldLater => "told_later",
                    Vendor::Unknown => "unknown",
                }
                .to_owned(),
            ),
            cost_usd: outcome.usage.cost_usd,
            tokens_used: Some(Tokens::of(&outcome.usage)),
            message: Some(message),
            error: None,
        }
    }

    pub fn of_error(error: &ErrorReport) -> Self {
        Self { error: Some(error.clone()), ..Self::default() }
    }
}

/// What `list_research` returns.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ResearchList {
    /// Newest first, or best first where words were looked for.
    pub tasks: Vec<Listed>,
    /// How many are listed here.
    pub count: u64,
    /// There are more than `limit` allowed.
    pub more: bool,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Listed {
    pub task_id: String,
    pub tool: String,
    pub query: String,
    pub status: String,
    /// RFC 3339.
    pub created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_minutes: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// Minutes, to a hundredth.
pub fn minutes(milliseconds: u64) -> f64 {
    (milliseconds as f64 / 600.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_cut_between_characters_and_put_together_again() {
        let text = "Ebbe und Flut: ebb — flow 🌊!";
        let mut parts = String::new();
        let mut offset = Some(0);
        while let Some(from) = offset {
            let (part, page) = Page::cut(text, from, Some(7));
            assert_eq!(page.length, part.chars().count() as u64);
            assert_eq!(page.total, text.chars().count() as u64);
            parts.push_str(&part);
            offset = page.next_offset;
        }
        assert_eq!(parts, text);
        assert_eq!(Page::cut(text, 0, None).0, text);
        let (beyond, page) = Page::cut(text, 1000, Some(5));
        assert_eq!((beyond.as_str(), page.length, page.next_offset), ("", 0, None));
    }

    #[test]
    fn minutes_are_told_to_a_hundredth() {
        assert!((minutes(750_000) - 12.5).abs() < 1e-9);
        assert!((minutes(1_000) - 0.02).abs() < 1e-9);
    }
}
