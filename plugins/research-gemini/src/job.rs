//! An interaction as the contract's job: the vendor's words on one side, ours on the
//! other. What is missing or of the wrong type is left out; nothing is believed
//! that would make an unfinished job look finished.

use bathysphere_sdk::research::{Job, Status};
use bathysphere_sdk::types::{Error, ErrorKind};
use serde_json::Value;

use crate::failure;
use crate::steps::Steps;
use crate::usage;
use crate::value::{line, text};

const LONGEST_STATUS: usize = 60;
const LONGEST_MODEL: usize = 200;

/// Reads it under the id that it is known by. `asked` is the agent that was asked
/// for, where that is known.
pub fn read(id: &str, interaction: &Value, asked: Option<&str>) -> Job {
    let Steps { progress, thoughts, searches, pages, report, read, error, .. } =
        Steps::read(interaction);
    let written = report.finish(read);
    let word = text(interaction, "status").map(|word| line(word, LONGEST_STATUS));
    let failed = || failure::of_interaction(interaction, error.as_ref());
    let Verdict { status, error, note } = judge(word.as_deref(), written.text.is_some(), &failed);

    let model = text(interaction, "agent").or_else(|| text(interaction, "model")).or(asked);
    let mut extra = Vec::new();
    let mut tell = |name: &str, value: String| extra.push((name.to_owned(), value));
    if let Some(model) = model {
        tell("model", line(model, LONGEST_MODEL));
    }
    if let Some(word) = word {
        tell("vendor_status", word);
    }
    tell("thoughts", thoughts.to_string());
    tell("searches", searches.to_string());
    tell("pages", pages.to_string());
    if let Some(note) = note {
        tell("note", note.to_owned());
    }
    Job {
        id: id.to_owned(),
        status,
        progress,
        report: written.text,
        citations: written.citations,
        sources: written.sources,
        usage: usage::read(interaction, searches, pages),
        error,
        extra,
    }
}

/// A job that the vendor no longer knows, or no longer shows to us.
pub fn expired(id: &str, why: Error) -> Job {
    Job {
        id: id.to_owned(),
        status: Status::Expired,
        progress: Vec::new(),
        report: None,
        citations: Vec::new(),
        sources: Vec::new(),
        usage: usage::none(),
        error: Some(Error { kind: ErrorKind::NotFound, ..why }),
        extra: Vec::new(),
    }
}

pub fn has_ended(job: &Job) -> bool {
    matches!(job.status, Status::Completed | Status::Failed | Status::Cancelled | Status::Expired)
}

struct Verdict {
    status: Status,
    error: Option<Error>,
    note: Option<&'static str>,
}

fn judge(word: Option<&str>, has_report: bool, failed: &dyn Fn() -> Error) -> Verdict {
    let goes_on = |status| Verdict { status, error: None, note: None };
    let fails = |error| Verdict { status: Status::Failed, error: Some(error), note: None };
    // It exists, which is all that is known of it.
    let Some(word) = word else { return goes_on(Status::Running) };
    let ended_early = |name: &str, note| {
        if has_report {
            return Verdict { status: Status::Completed, error: None, note: Some(note) };
        }
        fails(other(name, &format!("{note}, and wrote nothing")))
    };
    match word.to_ascii_lowercase().as_str() {
        "in_progress" => goes_on(Status::Running),
        "queued" => goes_on(Status::Queued),
        "completed" if has_report => goes_on(Status::Completed),
        "completed" => {
            fails(other("empty-answer", "Gemini says that it is done, and has written nothing"))
        }
        "failed" => fails(failed()),
        "cancelled" => goes_on(Status::Cancelled),
        "incomplete" => {
            ended_early("incomplete", "Gemini ended the research before it was complete")
        }
        "budget_exceeded" => ended_early(
            "budget-exceeded",
            "Gemini ended the research because the budget of the project is used up",
        ),
        _ => goes_on(Status::Other(word.to_owned())),
    }
}

fn other(name: &str, message: &str) -> Error {
    Error { kind: ErrorKind::Other(name.to_owned()), message: message.to_owned(), hint: None }
}
