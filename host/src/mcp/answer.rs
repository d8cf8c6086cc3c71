//! An outcome as a tool's result: structured for programs, and a text that stands
//! alone for clients that pass on only the text.

use rmcp::model::{CallToolResult, ContentBlock};
use schemars::JsonSchema;
use serde::Serialize;

use crate::plugins::contract::Source;
use crate::report;
use crate::tasks::{ErrorReport, Outcome, TaskStatus};

/// What `search` and `deep_search` return.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// Whether there is a result to read.
    pub success: bool,
    /// The task; `bathysphere show` prints it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskStatus>,
    /// The cited report, in Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Whether the answer was verified in a round of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
    /// Each with the words it rests on and where they stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<AnswerFinding>>,
    /// Everything that was looked at, best first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<AnswerSource>>,
    /// Why the research ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// What the reader should know about the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorReport>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct AnswerFinding {
    pub text: String,
    /// The source's own words.
    pub quote: String,
    /// Where they stand: `path:line` or a URL.
    pub source: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct AnswerSource {
    /// A path, or a URL.
    pub url: String,
    pub title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Metadata {
    pub duration_ms: u64,
    pub query: String,
    pub model: String,
    /// When the result was ready, RFC 3339.
    pub timestamp: String,
    /// Rounds made.
    pub iterations: u32,
    pub sources_visited: Vec<String>,
    pub search_queries_used: Vec<String>,
    pub rounds: Vec<RoundSummary>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct RoundSummary {
    pub round_number: u32,
    pub sources_visited: Vec<String>,
    pub search_queries: Vec<String>,
    pub intermediate_result_summary: String,
}

/// The result of a task, whatever became of it.
pub fn of_outcome(outcome: &Outcome) -> CallToolResult {
    if let Some(error) = &outcome.error {
        let answer = Answer {
            task_id: Some(outcome.id.clone()),
            status: Some(outcome.status),
            ..failed(error.clone())
        };
        return result(&answer, error_text(error), true);
    }
    let markdown = report::render_markdown(outcome);
    let answer = Answer {
        success: outcome.status == TaskStatus::Completed,
        task_id: Some(outcome.id.clone()),
        status: Some(outcome.status),
        result: Some(markdown.clone()),
        verified: Some(outcome.rounds.iter().any(|round| round.verified == Some(true))),
        findings: Some(
            outcome
                .findings
                .iter()
                .map(|finding| AnswerFinding {
                    text: finding.text.clone(),
                    quote: finding.quote.clone(),
                    source: finding.source.reference(),
                })
                .collect(),
        ),
        sources: Some(looked_at(outcome).map(source).collect()),
        stop_reason: outcome.stop_reason.as_ref().map(|reason| reason.as_str().to_owned()),
        note: outcome.note.clone(),
        metadata: Some(metadata(outcome)),
        error: None,
    };
    result(&answer, markdown, false)
}

pub fn of_error(error: &ErrorReport) -> CallToolResult {
    result(&failed(error.clone()), error_text(error), true)
}

/// What the search found, in its order, each once.
fn looked_at(outcome: &Outcome) -> impl Iterator<Item = &Source> {
    let mut known = std::collections::HashSet::new();
    outcome
        .rounds
        .iter()
        .flat_map(|round| &round.sources)
        .filter(move |source| known.insert(source.reference()))
}

fn failed(error: ErrorReport) -> Answer {
    Answer {
        success: false,
        task_id: None,
        status: None,
        result: None,
        verified: None,
        findings: None,
        sources: None,
        stop_reason: None,
        note: None,
        metadata: None,
        error: Some(error),
    }
}

fn error_text(error: &ErrorReport) -> String {
    match &error.hint {
        Some(hint) => format!("error: {}\nhint: {hint}", error.message),
        None => format!("error: {}", error.message),
    }
}

fn result(answer: &Answer, text: String, is_error: bool) -> CallToolResult {
    let structured = serde_json::to_value(answer).expect("plain data is JSON");
    let mut result = if is_error {
        CallToolResult::error(vec![ContentBlock::text(text)])
    } else {
        CallToolResult::success(vec![ContentBlock::text(text)])
    };
    result.structured_content = Some(structured);
    result
}

fn source(source: &Source) -> AnswerSource {
    AnswerSource {
        url: source.url.clone(),
        title: source.title.clone(),
        start_line: source.location.as_ref().map(|place| place.start_line),
        end_line: source.location.as_ref().map(|place| place.end_line),
        heading: source.location.as_ref().and_then(|place| place.heading.clone()),
    }
}

fn metadata(outcome: &Outcome) -> Metadata {
    Metadata {
        duration_ms: outcome.duration_ms,
        query: outcome.question.text.clone(),
        model: outcome.model.clone().unwrap_or_else(|| "auto-detected".to_owned()),
        timestamp: outcome.finished_at.clone().unwrap_or_else(|| outcome.created_at.clone()),
        iterations: outcome.rounds.len() as u32,
        sources_visited: looked_at(outcome).map(Source::reference).collect(),
        search_queries_used: outcome
            .rounds
            .iter()
            .flat_map(|round| round.queries.iter().cloned())
            .collect(),
        rounds: outcome
            .rounds
            .iter()
            .map(|round| RoundSummary {
                round_number: round.number,
                sources_visited: round.sources.iter().map(Source::reference).collect(),
                search_queries: round.queries.clone(),
                intermediate_result_summary: match &round.error {
                    Some(error) => format!("failed: {}", error.message),
                    None => format!(
                        "{} findings ({} new) from {} sources ({} new)",
                        round.findings.len(),
                        round.new_findings,
                        round.sources.len(),
                        round.new_sources
                    ),
                },
            })
            .collect(),
    }
}
