//! The tools for research that outlives the call: what they take, and calling
//! them. All but the start answer from the database alone, and spend nothing.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{invalid, read};
use super::result::error_text;
use super::tools::{
    CANCEL_RESEARCH, CHECK_RESEARCH_STATUS, ESTIMATE_RESEARCH_COST, GET_RESEARCH_RESULTS,
    LIST_RESEARCH, SAVE_RESEARCH_TO_MARKDOWN, START_DEEP_RESEARCH,
};
use crate::plugins::contract::Question;
use crate::report::{SaveOptions, SavedReport};
use crate::tasks::views::{Cancelled, ResearchResults, Started, Told};
use crate::tasks::{
    Background, ErrorReport, MODEL, Outcome, Subject, TaskRequest, TaskStatus, Tasks,
};

/// A week: no vendor works for so long, and nobody waits longer for one.
const MOST_HOURS: f64 = 168.0;
const HOURS: f64 = 8.0;

/// Tasks that are listed where nobody says how many.
const LISTED: u32 = 20;
const MOST_LISTED: u32 = 1000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartDeepResearch {
    /// The research question, in plain words: what is to be found out, and what the
    /// report is for.
    pub query: String,
    /// Tell the user by a desktop notification when it has come to its end. True
    /// where it is left out.
    pub enable_notifications: Option<bool>,
    /// After this many hours it is ended, at the vendor too: more than 0, at most
    /// 168; 8 where it is left out.
    #[schemars(range(max = 168))]
    pub max_wait_hours: Option<f64>,
    /// The agent to use, where it should not be the configured one, such as
    /// deep-research-max-preview-04-2026.
    pub model: Option<String>,
    /// Do not start, or stop, where it may cost more than this many US dollars.
    pub max_cost_usd: Option<f64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckResearchStatus {
    /// What start_deep_research, or any other tool, has returned as `task_id`.
    pub task_id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetResearchResults {
    /// What start_deep_research, or any other tool, has returned as `task_id`.
    pub task_id: String,
    /// List the sources too. True where it is left out.
    pub include_sources: Option<bool>,
    /// Begin at this character of the report: `page.next_offset` of the call before.
    pub offset: Option<u64>,
    /// At most this many characters of the report. Left out, all of it.
    #[schemars(range(min = 1))]
    pub limit: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelResearch {
    /// Which research to cancel.
    pub task_id: String,
    /// Keep what has been found so far. True where it is left out.
    pub save_partial: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EstimateResearchCost {
    /// The question as start_deep_research would be asked it.
    pub query: String,
    /// The agent that would be used, where it should not be the configured one.
    pub model: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SaveResearchToMarkdown {
    /// Which research to save: a task whose status is completed.
    pub task_id: String,
    /// The directory to save it in, from the server's working directory; made where
    /// it is missing. `./research_reports` where it is left out.
    pub output_dir: Option<String>,
    /// What the file's name begins with; `research` where it is left out.
    pub filename_prefix: Option<String>,
    /// Write what it took, and how it was researched, into the file too. True where
    /// it is left out.
    pub include_metadata: Option<bool>,
    /// List the sources at the end. True where it is left out.
    pub include_sources: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListResearch {
    /// Only tasks that have these words in the question or the report.
    pub query: Option<String>,
    /// Only tasks that stand so.
    pub status: Option<TaskStatus>,
    /// How many at the most, 1 to 1000; 20 where it is left out.
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<u32>,
}

impl EstimateResearchCost {
    fn question(self) -> Question {
        let mut question = Question { text: self.query, ..Question::default() };
        question.extra.extend(chosen(self.model.as_deref()));
        question
    }
}

impl SaveResearchToMarkdown {
    fn options(self) -> SaveOptions {
        let usual = SaveOptions::default();
        SaveOptions {
            output_dir: self.output_dir.map_or(usual.output_dir, PathBuf::from),
            filename_prefix: self.filename_prefix.unwrap_or(usual.filename_prefix),
            include_metadata: self.include_metadata.unwrap_or(usual.include_metadata),
            include_sources: self.include_sources.unwrap_or(usual.include_sources),
            format: usual.format,
        }
    }
}

/// The model that was asked for, as a question carries it. Some clients fill in
/// what they leave out.
fn chosen(model: Option<&str>) -> Option<(String, String)> {
    let model = model.map(str::trim).filter(|model| !model.is_empty())?;
    Some((MODEL.to_owned(), model.to_owned()))
}

impl StartDeepResearch {
    /// What a call asks for; it is waited for so long.
    pub fn request(
        arguments: Option<JsonObject>,
        handoff: Duration,
    ) -> Result<TaskRequest, ErrorReport> {
        let asked: Self = read(START_DEEP_RESEARCH, arguments)?;
        let hours = asked.max_wait_hours.unwrap_or(HOURS);
        if !(hours > 0.0 && hours <= MOST_HOURS) {
            return Err(invalid(format!(
                "max_wait_hours is {hours}, and may be more than 0 and at most {MOST_HOURS}"
            )));
        }
        if let Some(dollars) = asked.max_cost_usd
            && !(dollars.is_finite() && dollars >= 0.0)
        {
            return Err(invalid(format!("max_cost_usd is {dollars}, and may be 0 or more")));
        }
        let mut question =
            Question { text: asked.query, max_cost_usd: asked.max_cost_usd, ..Question::default() };
        question.extra.extend(chosen(asked.model.as_deref()));
        Ok(TaskRequest {
            tool: START_DEEP_RESEARCH.to_owned(),
            subject: Subject::Question(question),
            max_wait: Some(handoff),
            background: Some(Background {
                notify: asked.enable_notifications.unwrap_or(true),
                max_wait: Duration::from_secs_f64(hours * 3600.0),
            }),
        })
    }
}

/// What a start has come to.
pub fn started(tasks: &Tasks, outcome: Result<&Outcome, &ErrorReport>) -> CallToolResult {
    let started = match outcome {
        Ok(outcome) => tasks.started(outcome),
        Err(error) => Started::of_error(error),
    };
    match (&started.results, &started.error) {
        (Some(results), None) => {
            let text = results.report.clone();
            with_text(started.success, &started, text)
        }
        _ => result(started.success, &started, started.error.as_ref()),
    }
}

/// Calls a tool that answers from the database; none where it is not one of these.
pub async fn call(
    tasks: &Arc<Tasks>,
    tool: &str,
    arguments: Option<JsonObject>,
) -> Option<CallToolResult> {
    Some(match tool {
        CHECK_RESEARCH_STATUS => {
            let status = async {
                let asked: CheckResearchStatus = read(tool, arguments)?;
                tasks.status(&asked.task_id).await
            };
            told(status.await)
        }
        GET_RESEARCH_RESULTS => {
            let results = async {
                let asked: GetResearchResults = read(tool, arguments)?;
                if asked.limit == Some(0) {
                    return Err(invalid("limit is 0, and may be 1 or more".to_owned()));
                }
                let include_sources = asked.include_sources.unwrap_or(true);
                let offset = asked.offset.unwrap_or_default();
                tasks.results(&asked.task_id, include_sources, offset, asked.limit).await
            };
            match results.await {
                Ok(results) => {
                    let text = results_text(&results);
                    with_text(results.success, &results, text)
                }
                Err(error) => {
                    let results = ResearchResults::of_error(&error);
                    result(false, &results, Some(&error))
                }
            }
        }
        CANCEL_RESEARCH => {
            let cancelled = async {
                let asked: CancelResearch = read(tool, arguments)?;
                tasks.cancel(&asked.task_id, asked.save_partial.unwrap_or(true)).await
            };
            match cancelled.await {
                Ok(cancellation) => result(true, &Cancelled::of(&cancellation), None),
                Err(error) => result(false, &Cancelled::of_error(&error), Some(&error)),
            }
        }
        ESTIMATE_RESEARCH_COST => {
            let estimate = async {
                let asked: EstimateResearchCost = read(tool, arguments)?;
                tasks.estimate(START_DEEP_RESEARCH, &asked.question()).await
            };
            told(estimate.await)
        }
        SAVE_RESEARCH_TO_MARKDOWN => {
            let saved = match read::<SaveResearchToMarkdown>(tool, arguments) {
                Ok(asked) => tasks.save_report(&asked.task_id.clone(), asked.options()).await,
                Err(error) => SavedReport::of_error(&error, None),
            };
            result(saved.success, &saved, saved.error.as_ref())
        }
        LIST_RESEARCH => {
            let list = async {
                let asked: ListResearch = read(tool, arguments)?;
                let limit = asked.limit.unwrap_or(LISTED);
                if !(1..=MOST_LISTED).contains(&limit) {
                    return Err(invalid(format!(
                        "limit is {limit}, and may be 1 to {MOST_LISTED}"
                    )));
                }
                tasks.list(asked.query.as_deref(), asked.status, limit).await
            };
            told(list.await)
        }
        _ => return None,
    })
}

/// Structured for programs; and the same as text, for clients that pass on only
/// that.
fn result<T: Serialize>(success: bool, value: &T, error: Option<&ErrorReport>) -> CallToolResult {
    let text = match error {
        Some(error) => error_text(error),
        None => serde_json::to_string_pretty(value).expect("plain data is JSON"),
    };
    with_text(success, value, text)
}

fn with_text<T: Serialize>(success: bool, value: &T, text: String) -> CallToolResult {
    let structured = serde_json::to_value(value).expect("plain data is JSON");
    let content = vec![ContentBlock::text(text)];
    let mut result =
        if success { CallToolResult::success(content) } else { CallToolResult::error(content) };
    result.structured_content = Some(structured);
    result
}

/// The report itself, and what there is to say of it.
fn results_text(results: &ResearchResults) -> String {
    let mut text = results.error.as_ref().map(error_text).unwrap_or_default();
    if let Some(report) = &results.report {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(report);
    }
    if let Some((page, next)) = results.page.and_then(|page| Some((page, page.next_offset?))) {
        let _ = write!(
            text,
            "\n\n[characters {} to {next} of {}; the next part begins at offset {next}]",
            page.offset, page.total
        );
    }
    text
}

fn told<T: Serialize>(value: Result<T, ErrorReport>) -> CallToolResult {
    let error = value.as_ref().err().cloned();
    result(error.is_none(), &Told::of(value), error.as_ref())
}
