//! `research`: a question, progress, and a cited report.

use std::io::Read;
use std::sync::Arc;

use super::arguments::ResearchArguments;
use super::attend::{Attended, attend};
use super::desk::Desk;
use super::terminal::{FAINT, OUTPUT, Stop, Terminal};
use super::{documents, pretty, question};
use crate::plugins::contract::{Finding, Question};
use crate::report::words::{count, duration};
use crate::report::{can_save, files, render_markdown, save};
use crate::tasks::{ErrorReport, Outcome, TaskRequest, TaskStatus};

pub async fn run(
    arguments: ResearchArguments,
    desk: Arc<dyn Desk>,
    terminal: &mut Terminal,
    stdin: &mut (impl Read + Send),
    verbose: u8,
) -> Result<u8, Stop> {
    let request = request(&arguments, stdin)?;
    documents::check(&arguments.documents.documents)?;
    if let Some(path) = &arguments.output {
        can_save(path).map_err(|error| invalid(error.to_string()))?;
    }
    let Attended { result, signal } =
        attend(desk, terminal, verbose, |desk, events, cancel| async move {
            desk.run(request, events, cancel).await
        })
        .await?;
    let outcome = match result {
        Ok(outcome) => outcome,
        Err(report) => {
            return match signal {
                Some(signal) => {
                    terminal.complain(&report);
                    Ok(signal)
                }
                None => Err(report.into()),
            };
        }
    };
    deliver(&arguments, &outcome, terminal)?;
    if let Some(error) = outcome.error.as_ref().filter(|_| outcome.status == TaskStatus::Failed) {
        terminal.complain(error);
    }
    let last = pretty::hanging(&last_line(&outcome), "", "", terminal.err);
    let last = terminal.err.paint(FAINT, &last);
    let space = if terminal.err.is_terminal { "\n" } else { "" };
    terminal.say(&format!("{space}{last}"));
    Ok(match outcome.status {
        TaskStatus::Completed | TaskStatus::Running => 0,
        TaskStatus::Cancelled => signal.unwrap_or(130),
        TaskStatus::Failed | TaskStatus::Interrupted => 1,
    })
}

fn request(
    arguments: &ResearchArguments,
    stdin: &mut impl Read,
) -> Result<TaskRequest, ErrorReport> {
    let text = question::read("question", &arguments.question, stdin)?;
    let context = arguments.context.as_deref().map(str::trim).filter(|context| !context.is_empty());
    let context = context.map(|context| question::check("context", context)).transpose()?;
    let question = Question {
        text,
        scope: arguments.scope.map(Into::into),
        context,
        max_rounds: arguments.max_rounds,
        ..Question::default()
    };
    Ok(TaskRequest::new("research", question))
}

/// Prints or saves the result. A report that cannot be saved is printed, so that
/// it is not lost.
fn deliver(
    arguments: &ResearchArguments,
    outcome: &Outcome,
    terminal: &mut Terminal,
) -> Result<(), Stop> {
    let Some(path) = &arguments.output else {
        if arguments.json {
            return terminal.print_json(outcome);
        }
        // A failure with nothing to show is told on stderr alone.
        if outcome.status == TaskStatus::Failed
            && outcome.findings.is_empty()
            && outcome.answer.is_empty()
        {
            return Ok(());
        }
        let look = terminal.out;
        if look.is_terminal && terminal.err.is_terminal {
            terminal.say("");
        }
        return terminal.print(&pretty::markdown(&render_markdown(outcome), look));
    };
    let text = if arguments.json {
        let json = serde_json::to_string_pretty(outcome).map_err(|error| internal(&error))?;
        format!("{json}\n")
    } else {
        render_markdown(outcome)
    };
    match save(path, &text) {
        Ok(()) => {
            terminal.say(&format!("report written to {}", path.display()));
            Ok(())
        }
        Err(error) => {
            terminal.print(&text)?;
            Err(Stop::Error(ErrorReport {
                code: OUTPUT.to_owned(),
                message: error.to_string(),
                hint: Some(if outcome.saved {
                    format!(
                        "the report was printed instead; `bathysphere show {}` prints it again",
                        short_id(&outcome.id)
                    )
                } else {
                    "the report was printed instead; it is not saved anywhere else".to_owned()
                }),
            }))
        }
    }
}

fn internal(error: &serde_json::Error) -> ErrorReport {
    ErrorReport {
        code: "INTERNAL".to_owned(),
        message: format!("cannot write the result as JSON: {error}"),
        hint: None,
    }
}

fn invalid(message: String) -> ErrorReport {
    ErrorReport {
        code: "INVALID_INPUT".to_owned(),
        message,
        hint: Some("--output takes the name of a file in a directory that exists".to_owned()),
    }
}

/// The beginning of an id, enough to name its task.
pub fn short_id(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

fn last_line(outcome: &Outcome) -> String {
    let verb = match outcome.status {
        TaskStatus::Completed => "done in",
        TaskStatus::Cancelled => "cancelled after",
        TaskStatus::Failed => "failed after",
        TaskStatus::Interrupted => "interrupted after",
        TaskStatus::Running => "running for",
    };
    let id = short_id(&outcome.id);
    let kept = match outcome.status {
        _ if !outcome.saved => "NOT saved: this is the only copy".to_owned(),
        TaskStatus::Completed => format!("saved as {id} (bathysphere show {id})"),
        _ => format!("kept as {id} (bathysphere show {id})"),
    };
    format!(
        "{verb} {} · {} · {} · {kept}",
        duration(outcome.duration_ms),
        count(outcome.rounds.len() as u64, "round"),
        found(&outcome.findings),
    )
}

/// `5 findings from 3 files`.
fn found(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return "nothing found".to_owned();
    }
    let sources: Vec<_> = findings.iter().map(|finding| finding.source.clone()).collect();
    let on_disk = sources.iter().all(|source| !source.url.contains("://"));
    let places = count(files(&sources).len() as u64, if on_disk { "file" } else { "source" });
    format!("{} from {places}", count(findings.len() as u64, "finding"))
}
