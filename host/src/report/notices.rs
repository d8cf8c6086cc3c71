//! What the reader must know before reading on: how a task ended, and why there is
//! nothing, or not all, to read.

use super::markdown::inline;
use super::words::count;
use super::{Outcome, TaskStatus, short_id};

/// What the reader must know before reading on.
pub fn notices(outcome: &Outcome, nothing: bool) -> Vec<String> {
    let mut notices = Vec::new();
    // With nothing found, the agent's words tell what was missing.
    let answer = nothing.then_some(outcome.answer.as_str());
    let said: Vec<String> = [outcome.note.as_deref(), answer]
        .into_iter()
        .flatten()
        .map(inline)
        .filter(|text| !text.is_empty())
        .collect();
    match outcome.status {
        TaskStatus::Completed if nothing && said.is_empty() => {
            notices.push("Nothing was found that answers this question.".to_owned());
        }
        TaskStatus::Completed => {}
        TaskStatus::Cancelled if nothing && !outcome.sources.is_empty() => {
            let read = count(outcome.sources.len() as u64, "source");
            notices.push(format!("**Cancelled** before anything was written; {read} had been read."));
        }
        TaskStatus::Cancelled if nothing => {
            notices.push("**Cancelled** before anything was found.".to_owned());
        }
        TaskStatus::Cancelled => {
            notices.push("**Cancelled**: this is what had been found by then.".to_owned());
        }
        TaskStatus::Failed if outcome.error.is_some() => {}
        TaskStatus::Failed => notices.push("**Failed.**".to_owned()),
        TaskStatus::Interrupted if nothing => notices.push(
            "**Interrupted** before anything was found: the process that worked on this is gone."
                .to_owned(),
        ),
        TaskStatus::Interrupted => notices.push(
            "**Interrupted**: the process that worked on this is gone; this is what had been found by then."
                .to_owned(),
        ),
        TaskStatus::NeedsAttention => notices.push(
            "**Needs attention**: the research may have been started at the vendor, and may have \
             been paid for, but nobody knows what became of it."
                .to_owned(),
        ),
        TaskStatus::Running if nothing => {
            notices.push("**Still running**: nothing has been found yet.".to_owned());
        }
        TaskStatus::Running => {
            notices.push("**Still running**: this is what has been found so far.".to_owned());
        }
    }
    if let Some(error) = &outcome.error {
        let hint = error.hint.as_ref().map(|hint| format!(" ({})", inline(hint)));
        notices.push(format!("**Failed**: {}{}", inline(&error.message), hint.unwrap_or_default()));
        if !nothing && outcome.status == TaskStatus::Failed {
            notices.push("This is what there was by then; it may end in the middle.".to_owned());
        }
    }
    notices.extend(said);
    if let Some(command) = outcome.way_on() {
        notices.push(format!(
            "Nothing that was done is lost: `{command}`, or the tool `deep_search` with \
             `resume`, goes on from here."
        ));
    }
    notices.extend(what_next(outcome));
    notices
}

/// What the user can do about research that runs at a vendor.
fn what_next(outcome: &Outcome) -> Option<String> {
    let id = short_id(&outcome.id);
    if !outcome.is_background() || !outcome.saved {
        return None;
    }
    match outcome.status {
        TaskStatus::Running => Some(format!(
            "It goes on in the background: `bathysphere status {id}` tells how far it is."
        )),
        TaskStatus::Interrupted => {
            Some("It goes on as soon as a server or `bathysphere worker` runs.".to_owned())
        }
        TaskStatus::NeedsAttention => Some(format!(
            "`bathysphere task adopt {id} INTERACTION` takes up what runs at the vendor; \
             `bathysphere task retry {id}` starts it anew, and may be paid for again."
        )),
        TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled => None,
    }
}
