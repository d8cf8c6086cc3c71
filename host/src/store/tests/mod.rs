//! The store as its callers use it.

mod background;
mod forecasts;
mod ledger;
mod life;
mod notices;
mod ownership;
#[cfg(unix)]
mod processes;
#[cfg(unix)]
mod removal;
mod speed;
mod trouble;

use std::path::Path;

use super::{Claim, Ending, NewCall, NewResult, NewRound, NewTask, Store, TaskEnd};

/// A store in a directory of its own.
pub(super) fn scratch() -> (tempfile::TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    (directory, store)
}

fn open(directory: &Path) -> Store {
    Store::open(directory.join("tasks.db"))
}

pub(super) fn task(text: &str) -> NewTask {
    NewTask {
        tool: "search".to_owned(),
        text: text.to_owned(),
        question: format!(r#"{{"text":"{text}"}}"#),
        ..NewTask::default()
    }
}

fn round(number: u32) -> NewRound {
    NewRound { number, round: format!(r#"{{"number":{number}}}"#), memo: format!("memo {number}") }
}

pub(super) fn call(function: &str) -> NewCall {
    NewCall {
        round: 1,
        plugin: "agent-gemini-cli".to_owned(),
        function: function.to_owned(),
        request_hash: "abc123".to_owned(),
    }
}

pub(super) fn end(ending: Ending) -> TaskEnd {
    TaskEnd {
        ending,
        stop_reason: Some("good-enough".to_owned()),
        note: None,
        error: None,
        result: Some(NewResult {
            outcome: r#"{"answer":"42"}"#.to_owned(),
            markdown: "# 42\n".to_owned(),
        }),
        cancel_job: false,
    }
}

pub(super) async fn create(store: &Store, text: &str) -> Claim {
    store.create_task(task(text)).await.unwrap()
}
