//! An outcome as programs read it: what the MCP tools return as structured
//! content, and what the command line prints with `--json`. One shape for both.

use schemars::JsonSchema;
use serde::Serialize;

use super::outcome::{ErrorReport, Outcome, TaskStatus, short_id, summary_of};
use super::{readable, render_markdown};
use crate::plugins::contract::{Round, Source, Usage};

/// What `search`, `deep_search` and `deep_research` return.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Answer {
    /// False where the research failed or was ended; `error` then says why.
    pub success: bool,
    /// Names the task: for `resume` of deep_search, and for `bathysphere show`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// `running` means: the time to wait was over first, and the research goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskStatus>,
    /// The report, in Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Whether the answer that stands was checked in a round of its own and found
    /// right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
    /// What the reader should know about the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Why the research ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// Each with the words it rests on and where they stand. Empty for a report
    /// that an agent wrote by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<AnswerFinding>>,
    /// Everything that was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<AnswerSource>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<AnswerUsage>,
    /// What it cost in US dollars, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorReport>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AnswerFinding {
    pub text: String,
    /// The source's own words.
    pub quote: String,
    /// Where they stand: `path:line` or a URL.
    pub source: String,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
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

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Metadata {
    pub duration_ms: u64,
    pub query: String,
    /// The model that answered; `auto-detected` where that is not known.
    pub model: String,
    /// When the result was ready, RFC 3339.
    pub timestamp: String,
    /// Rounds made.
    pub iterations: u32,
    /// Over all rounds, each once.
    pub sources_visited: Vec<String>,
    /// Over all rounds, each once.
    pub search_queries_used: Vec<String>,
    pub rounds: Vec<RoundSummary>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RoundSummary {
    pub round_number: u32,
    pub sources_visited: Vec<String>,
    pub search_queries: Vec<String>,
    pub intermediate_result_summary: String,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AnswerUsage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub searches: u32,
    pub pages: u32,
}

impl Answer {
    /// The answer of a task, whatever became of it. What a task that failed had
    /// found before is there too.
    pub fn of_outcome(outcome: &Outcome) -> Self {
        let error = outcome.error.clone().or_else(|| ended_early(outcome));
        let mut answer = Self {
            success: error.is_none(),
            // What is not saved cannot be asked for again.
            task_id: outcome.saved.then(|| outcome.id.clone()),
            status: Some(outcome.status),
            note: note(outcome),
            stop_reason: outcome.stop_reason.as_ref().map(|reason| reason.as_str().to_owned()),
            error,
            ..Self::empty()
        };
        if answer.success || !outcome.rounds.is_empty() {
            answer.result = result(outcome);
            answer.verified = Some(outcome.verified());
            answer.metadata = Some(metadata(outcome));
            answer.findings = Some(outcome.findings.iter().map(AnswerFinding::of).collect());
            answer.sources = Some(looked_at(outcome).map(AnswerSource::of).collect());
            answer.usage = Some(AnswerUsage::of(&outcome.usage));
            answer.cost_usd = outcome.usage.cost_usd;
        }
        answer
    }

    /// There is no task.
    pub fn of_error(error: &ErrorReport) -> Self {
        Self { error: Some(error.clone()), ..Self::empty() }
    }

    fn empty() -> Self {
        Self {
            success: false,
            task_id: None,
            status: None,
            result: None,
            verified: None,
            note: None,
            stop_reason: None,
            metadata: None,
            findings: None,
            sources: None,
            usage: None,
            cost_usd: None,
            error: None,
        }
    }
}

/// Why there is no result, where nothing went wrong.
fn ended_early(outcome: &Outcome) -> Option<ErrorReport> {
    let (code, message) = match outcome.status {
        TaskStatus::Completed | TaskStatus::Running => return None,
        TaskStatus::Cancelled => ("CANCELLED", "it was cancelled before it came to its end"),
        TaskStatus::Interrupted => ("INTERRUPTED", "the process that worked on it is gone"),
        TaskStatus::Failed => ("EXECUTION_ERROR", "it failed"),
        TaskStatus::NeedsAttention => (
            "NEEDS_ATTENTION",
            "it may have been started at the vendor, and nobody knows what became of it",
        ),
    };
    let hint = outcome.way_on().map(|command| format!("`{command}` goes on from there"));
    Some(ErrorReport { code: code.to_owned(), message: message.to_owned(), hint })
}

fn note(outcome: &Outcome) -> Option<String> {
    if outcome.status != TaskStatus::Running {
        return outcome.note.clone();
    }
    let running = format!(
        "still running; deep_search with `resume` set to {} waits for its result",
        short_id(&outcome.id)
    );
    Some(match &outcome.note {
        Some(note) => format!("{running}; {note}"),
        None => running,
    })
}

/// A report that an agent wrote is handed on as it is, but for marks that only its
/// writer can read; findings are laid out as a report.
fn result(outcome: &Outcome) -> Option<String> {
    let nothing = outcome.found_nothing();
    if nothing && outcome.status != TaskStatus::Completed {
        return None;
    }
    Some(if outcome.findings.is_empty() && !nothing {
        readable(outcome, true).unwrap_or_else(|| outcome.answer.clone())
    } else {
        render_markdown(outcome)
    })
}

/// What was found, in its order, each once.
fn looked_at(outcome: &Outcome) -> impl Iterator<Item = &Source> {
    let mut known = std::collections::HashSet::new();
    outcome
        .rounds
        .iter()
        .flat_map(|round| &round.sources)
        .filter(move |source| known.insert(source.reference()))
}

fn metadata(outcome: &Outcome) -> Metadata {
    let mut known = std::collections::HashSet::new();
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
            .flat_map(|round| &round.queries)
            .filter(|query| known.insert(query.as_str()))
            .cloned()
            .collect(),
        rounds: outcome.rounds.iter().map(RoundSummary::of).collect(),
    }
}

impl RoundSummary {
    fn of(round: &Round) -> Self {
        let summary = match (&round.error, summary_of(round)) {
            (Some(error), _) => format!("failed: {}", error.message),
            (None, Some(summary)) => summary.to_owned(),
            (None, None) => format!(
                "{} findings ({} new) from {} sources ({} new)",
                round.findings.len(),
                round.new_findings,
                round.sources.len(),
                round.new_sources
            ),
        };
        Self {
            round_number: round.number,
            sources_visited: round.sources.iter().map(Source::reference).collect(),
            search_queries: round.queries.clone(),
            intermediate_result_summary: summary,
        }
    }
}

impl AnswerFinding {
    fn of(finding: &crate::plugins::contract::Finding) -> Self {
        Self {
            text: finding.text.clone(),
            quote: finding.quote.clone(),
            source: finding.source.reference(),
        }
    }
}

impl AnswerSource {
    fn of(source: &Source) -> Self {
        Self {
            url: source.url.clone(),
            title: source.title.clone(),
            start_line: source.location.as_ref().map(|place| place.start_line),
            end_line: source.location.as_ref().map(|place| place.end_line),
            heading: source.location.as_ref().and_then(|place| place.heading.clone()),
        }
    }
}

impl AnswerUsage {
    fn of(usage: &Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            searches: usage.searches,
            pages: usage.pages,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests as outcomes;
    use super::*;

    fn json(outcome: &Outcome) -> serde_json::Value {
        serde_json::to_value(Answer::of_outcome(outcome)).unwrap()
    }

    #[test]
    fn a_written_report_is_handed_on_word_for_word() {
        let outcome = outcomes::written();
        let value = json(&outcome);
        assert_eq!(value["success"], true);
        assert_eq!(value["result"], outcome.answer);
        assert_eq!(value["verified"], true);
        assert_eq!(value["metadata"]["model"], "gemini-2.5-pro");
        assert_eq!(value["metadata"]["iterations"], 3);
        let rounds = &value["metadata"]["rounds"];
        assert_eq!(rounds[0]["intermediate_result_summary"], "Twice a month, near syzygy.");
        assert!(
            rounds[1]["intermediate_result_summary"].as_str().unwrap().starts_with("failed: "),
            "{rounds:#}"
        );
        let queries = value["metadata"]["search_queries_used"].as_array().unwrap();
        assert_eq!(queries.len(), 7, "each once: {queries:#?}");
        let visited = value["metadata"]["sources_visited"].as_array().unwrap();
        assert_eq!(visited.len(), 3, "each once: {visited:#?}");
        assert_eq!(value["usage"]["input_tokens"], 41_000);
        assert_eq!(value["cost_usd"], 0.0213);
        assert!(value.get("error").is_none());
    }

    #[test]
    fn verified_is_said_of_the_answer_that_stands() {
        let mut outcome = outcomes::written();
        // A later round found the answer wanting, and wrote another.
        outcome.rounds[2].verified = Some(false);
        outcome.rounds[0].verified = Some(true);
        outcome.rounds[0].answer = Some("an older answer".to_owned());
        assert_eq!(json(&outcome)["verified"], false);
    }

    #[test]
    fn findings_are_laid_out_as_a_report() {
        let outcome = outcomes::found();
        let value = json(&outcome);
        assert_eq!(value["result"], render_markdown(&outcome));
        assert_eq!(value["findings"].as_array().unwrap().len(), 4);
        assert_eq!(value["metadata"]["model"], "auto-detected");
        assert_eq!(value["verified"], false);
        assert_eq!(json(&outcomes::nothing_found())["success"], true);
    }

    #[test]
    fn what_runs_on_is_no_failure_and_names_its_handle() {
        let mut outcome = outcomes::written();
        outcome.status = TaskStatus::Running;
        let value = json(&outcome);
        assert_eq!((&value["success"], &value["status"]), (&true.into(), &"running".into()));
        assert_eq!(value["task_id"], outcome.id);
        assert_eq!(value["result"], outcome.answer, "what is known so far");
        assert!(value["note"].as_str().unwrap().contains("`resume` set to 0198c2f4"));
        outcome.rounds.clear();
        outcome.answer.clear();
        let value = json(&outcome);
        assert!(value.get("result").is_none() && value.get("error").is_none(), "{value:#}");
        assert_eq!(value["metadata"]["iterations"], 0);
    }

    #[test]
    fn a_failure_keeps_what_was_found_before() {
        let mut outcome = outcomes::written();
        outcome.status = TaskStatus::Failed;
        outcome.error = outcomes::failed().error;
        let value = json(&outcome);
        assert_eq!(
            (&value["success"], &value["error"]["code"]),
            (&false.into(), &"UNAVAILABLE".into())
        );
        assert_eq!(value["result"], outcome.answer);
        assert_eq!(value["task_id"], outcome.id);

        outcome.rounds.clear();
        let value = json(&outcome);
        assert!(value.get("metadata").is_none() && value["error"]["hint"].is_string());
    }

    #[test]
    fn what_was_cancelled_says_so_and_how_to_go_on() {
        let value = json(&outcomes::cancelled());
        assert_eq!(value["success"], false);
        assert_eq!(value["error"]["code"], "CANCELLED");
        assert!(value["error"]["hint"].as_str().unwrap().contains("--resume 0198c2f4"));
        assert_eq!(value["findings"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn a_round_says_what_it_came_to_under_the_name_that_rounds_are_kept_with() {
        let mut round = outcomes::round(1, &[], 0, 0);
        round.extra = vec![(crate::plugins::contract::SUMMARY.to_owned(), "Twice.".to_owned())];
        assert_eq!(summary_of(&round), Some("Twice."));
    }
}
