//! An outcome as a tool's result: structured for programs, and a text that stands
//! alone for clients that pass on only the text.

use std::fmt::Write as _;

use rmcp::model::{CallToolResult, ContentBlock};

use crate::report::words::count;
use crate::report::{Answer, render_markdown};
use crate::tasks::{ErrorReport, Outcome, TaskStatus};

/// The result of a task, whatever became of it.
pub fn of_outcome(outcome: &Outcome) -> CallToolResult {
    let answer = Answer::of_outcome(outcome);
    let text = text_of(outcome, &answer);
    result(&answer, text)
}

pub fn of_error(error: &ErrorReport) -> CallToolResult {
    result(&Answer::of_error(error), error_text(error))
}

fn text_of(outcome: &Outcome, answer: &Answer) -> String {
    let nothing = outcome.found_nothing();
    match (&answer.error, outcome.status) {
        (Some(error), _) if nothing => {
            let mut text = error_text(error);
            if outcome.way_on().is_some() {
                let _ = write!(
                    text,
                    "\nTo try again from where it stopped, call `deep_search` with \
                     {{\"resume\": \"{}\"}}.",
                    outcome.id
                );
            }
            text
        }
        (None, TaskStatus::Running) => {
            let mut text = format!(
                "Still running as task {}, {} done. Call `deep_search` with \
                 {{\"resume\": \"{}\"}} to wait for the result: it goes on meanwhile, and nothing \
                 is asked twice.",
                outcome.id,
                count(outcome.rounds.len() as u64, "round"),
                outcome.id,
            );
            if !nothing {
                text.push_str("\n\n");
                text.push_str(&render_markdown(outcome));
            }
            text
        }
        _ => render_markdown(outcome),
    }
}

pub fn error_text(error: &ErrorReport) -> String {
    match &error.hint {
        Some(hint) => format!("error: {}\nhint: {hint}", error.message),
        None => format!("error: {}", error.message),
    }
}

fn result(answer: &Answer, text: String) -> CallToolResult {
    let structured = serde_json::to_value(answer).expect("plain data is JSON");
    let content = vec![ContentBlock::text(text)];
    let mut result = if answer.success {
        CallToolResult::success(content)
    } else {
        CallToolResult::error(content)
    };
    result.structured_content = Some(structured);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests as outcomes;

    fn parts(outcome: &Outcome) -> (bool, serde_json::Value, String) {
        let result = of_outcome(outcome);
        let text = serde_json::to_value(&result.content).unwrap()[0]["text"].clone();
        (
            result.is_error == Some(true),
            result.structured_content.unwrap(),
            text.as_str().unwrap().to_owned(),
        )
    }

    #[test]
    fn the_text_stands_alone() {
        let mut outcome = outcomes::written();
        outcome.note = Some("verification was not completed".to_owned());
        let (is_error, structured, text) = parts(&outcome);
        assert!(!is_error);
        assert_eq!(structured["result"], outcome.answer);
        for part in ["They come twice a month", "verification was not", "forum.example", "0198c2f4"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn a_handle_says_what_to_call_next() {
        let mut outcome = outcomes::written();
        outcome.status = TaskStatus::Running;
        let (is_error, structured, text) = parts(&outcome);
        assert!(!is_error);
        assert_eq!(structured["status"], "running");
        assert!(text.contains(&format!("{{\"resume\": \"{}\"}}", outcome.id)), "{text}");
        assert!(text.contains("They come twice a month"), "what is known so far: {text}");
    }

    #[test]
    fn a_failure_is_an_error_that_loses_nothing() {
        let (is_error, structured, text) = parts(&outcomes::failed());
        assert!(is_error);
        assert_eq!(structured["error"]["code"], "UNAVAILABLE");
        assert!(text.starts_with("error: search-documents: the index is locked\nhint: "), "{text}");
        assert!(text.contains("\"resume\""), "{text}");

        let mut outcome = outcomes::written();
        outcome.status = TaskStatus::Failed;
        outcome.error = outcomes::failed().error;
        let (is_error, _, text) = parts(&outcome);
        assert!(is_error);
        assert!(text.contains("the index is locked") && text.contains("twice a month"), "{text}");
    }
}
