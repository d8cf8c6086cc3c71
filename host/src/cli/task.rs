//! Running a task and delivering what it came to: the same for every command that
//! asks something.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::arguments::{Delivery, Json};
use super::attend::{Attended, attend};
use super::desk::Desk;
use super::progress::Progress;
use super::terminal::{FAINT, OUTPUT, Stop, Terminal};
use super::{documents, pretty};
use crate::report::words::{count, duration};
use crate::report::{Answer, can_save, files, render_markdown, save, short_id};
use crate::tasks::{ErrorReport, Outcome, TaskRequest, TaskStatus};

/// What a command wants done.
pub struct Errand {
    pub request: TaskRequest,
    pub documents: Vec<PathBuf>,
    pub delivery: Delivery,
    /// The shape of the result, where it is wanted as JSON.
    pub json: Json,
}

pub async fn run(
    errand: Errand,
    desk: Arc<dyn Desk>,
    terminal: &mut Terminal,
    verbose: u8,
) -> Result<u8, Stop> {
    let Errand { request, documents, delivery, json } = errand;
    documents::check(&documents)?;
    if let Some(path) = &delivery.output {
        can_save(path).map_err(|error| invalid(error.to_string()))?;
    }
    let progress = Progress::new(terminal, verbose, Some(&request.tool));
    let Attended { result, signal } =
        attend(desk, terminal, progress, |desk, events, cancel| async move {
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
    deliver(&delivery, json, &outcome, terminal)?;
    if let Some(error) = outcome.error.as_ref().filter(|_| outcome.status == TaskStatus::Failed) {
        terminal.complain(error);
    }
    farewell(&outcome, &documents, terminal);
    Ok(match outcome.status {
        TaskStatus::Completed | TaskStatus::Running => 0,
        TaskStatus::Cancelled => signal.unwrap_or(130),
        TaskStatus::Failed | TaskStatus::Interrupted | TaskStatus::NeedsAttention => 1,
    })
}

/// Prints or saves the result. A report that cannot be saved is printed, so that
/// it is not lost.
fn deliver(
    delivery: &Delivery,
    json: Json,
    outcome: &Outcome,
    terminal: &mut Terminal,
) -> Result<(), Stop> {
    let Some(path) = &delivery.output else {
        if delivery.json {
            return match json {
                Json::Plain => terminal.print_json(outcome),
                Json::Answer => terminal.print_json(&Answer::of_outcome(outcome)),
            };
        }
        // A failure with nothing to show is told on stderr alone.
        if outcome.status == TaskStatus::Failed && outcome.found_nothing() {
            return Ok(());
        }
        let look = terminal.out;
        if look.is_terminal && terminal.err.is_terminal {
            terminal.say("");
        }
        return terminal.print(&pretty::markdown(&render_markdown(outcome), look));
    };
    let text = if delivery.json { as_json(json, outcome)? } else { render_markdown(outcome) };
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

fn as_json(json: Json, outcome: &Outcome) -> Result<String, ErrorReport> {
    let text = match json {
        Json::Plain => serde_json::to_string_pretty(outcome),
        Json::Answer => serde_json::to_string_pretty(&Answer::of_outcome(outcome)),
    };
    let text = text.map_err(|error| ErrorReport {
        code: "INTERNAL".to_owned(),
        message: format!("cannot write the result as JSON: {error}"),
        hint: None,
    })?;
    Ok(format!("{text}\n"))
}

fn invalid(message: String) -> ErrorReport {
    ErrorReport {
        code: "INVALID_INPUT".to_owned(),
        message,
        hint: Some("--output takes the name of a file in a directory that exists".to_owned()),
    }
}

/// How it went, where it is kept, and how to go on where it was cut short.
fn farewell(outcome: &Outcome, documents: &[PathBuf], terminal: &mut Terminal) {
    let look = terminal.err;
    let space = if look.is_terminal { "\n" } else { "" };
    let last = pretty::hanging(&last_line(outcome), "", "", look);
    terminal.say(&format!("{space}{}", look.paint(FAINT, &last)));
    if let Some(command) = outcome.way_on() {
        let documents: String = documents.iter().map(|path| with_docs(path)).collect();
        terminal.say(&look.paint(FAINT, &format!("to go on: {command}{documents}")));
    }
}

fn with_docs(path: &Path) -> String {
    let shown = path.display().to_string();
    if shown.chars().all(|character| character.is_alphanumeric() || "/._-~".contains(character)) {
        format!(" --docs {shown}")
    } else {
        format!(" --docs '{}'", shown.replace('\'', "'\\''"))
    }
}

fn last_line(outcome: &Outcome) -> String {
    let verb = match outcome.status {
        TaskStatus::Completed => "done in",
        TaskStatus::Cancelled => "cancelled after",
        TaskStatus::Failed => "failed after",
        TaskStatus::Interrupted => "interrupted after",
        TaskStatus::Running => "running for",
        TaskStatus::NeedsAttention => "needs attention after",
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
        found(outcome),
    )
}

/// `5 findings from 3 files`, or `a verified report from 12 sources`.
fn found(outcome: &Outcome) -> String {
    if outcome.found_nothing() {
        return "nothing found".to_owned();
    }
    if outcome.findings.is_empty() {
        let report = if outcome.verified() { "a verified report" } else { "a report" };
        return match outcome.sources.len() {
            0 => report.to_owned(),
            sources => format!("{report} from {}", count(sources as u64, "source")),
        };
    }
    let sources: Vec<_> = outcome.findings.iter().map(|finding| finding.source.clone()).collect();
    let on_disk = sources.iter().all(|source| !source.url.contains("://"));
    let places = count(files(&sources).len() as u64, if on_disk { "file" } else { "source" });
    format!("{} from {places}", count(outcome.findings.len() as u64, "finding"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_can_be_pasted_into_a_shell() {
        assert_eq!(with_docs(Path::new("notes/2026")), " --docs notes/2026");
        assert_eq!(with_docs(Path::new("my notes")), " --docs 'my notes'");
        assert_eq!(with_docs(Path::new("it's")), " --docs 'it'\\''s'");
    }
}
