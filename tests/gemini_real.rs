//! `agent-gemini-cli` with the real Gemini CLI, at a pinned version, talking to a
//! loopback stand-in of the Gemini API: what the main paths, which are driven through
//! the server in `deep_search::real`, do not come by.
//!
//! Where Node or the network is missing the tests say that they were skipped; under
//! `CI=true` that is a failure.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bathysphere::plugins::contract::{AgentRequest, ErrorKind, Purpose};

use crate::support::agent::{AgentBackend, other, prompt};
use crate::support::gemini_answers::{Answer, Latch};
use crate::support::gemini_api::GeminiApi;
use crate::support::gemini_program::{RealCli, skip};
use crate::support::program::DEADLINE;

/// The real CLI against a stand-in that answers so; none where it cannot be had.
fn set_up(answers: impl IntoIterator<Item = Answer>) -> Option<(GeminiApi, RealCli, AgentBackend)> {
    set_up_with(answers, "")
}

fn set_up_with(
    answers: impl IntoIterator<Item = Answer>,
    settings: &str,
) -> Option<(GeminiApi, RealCli, AgentBackend)> {
    let api = GeminiApi::new(answers);
    match RealCli::new(&api.url()) {
        Ok(cli) => {
            let backend = AgentBackend::gemini(&cli.path(), settings, "");
            Some((api, cli, backend))
        }
        Err(reason) => {
            skip(&reason);
            None
        }
    }
}

/// `read_file` cuts long lines, so the prompt holds them.
#[tokio::test]
async fn a_correction_of_a_long_line_sees_all_of_it() {
    let place = tempfile::tempdir().expect("a directory");
    let place = place.path().canonicalize().expect("it is there");
    let text = format!("{{\"report\": \"{}END\"", "x".repeat(5000));
    let file = place.join("temp-invalid-output-1763160000.txt");
    let path = file.to_str().expect("UTF-8").to_owned();
    std::fs::write(&file, &text).expect("a file");
    let answers = [Answer::read_file(&path), Answer::text("{}")];
    let Some((api, _cli, backend)) = set_up_with(answers, "correction_model = 'gemini-2.5-flash'")
    else {
        return;
    };
    let request = AgentRequest {
        purpose: Purpose::Correct,
        files: vec![(path.clone(), text.as_bytes().to_vec())],
        ..prompt(&format!("Correct the JSON in {path}"))
    };
    let reply = backend.answer(&request).await.expect("an answer");
    assert_eq!(reply.text, "{}");
    let requests = api.answer_requests();
    assert!(!requests[1].tool_results().concat().contains("xEND"), "{:?}", requests[1]);
    assert!(requests[1].prompt().contains("xEND"), "{}", requests[1].prompt());
    api.assert_all_expected();
}

/// One request is answered so, and becomes an error of this kind.
async fn assert_fails(cases: impl IntoIterator<Item = (Answer, ErrorKind)>) {
    for (answer, kind) in cases {
        let told = format!("{answer:.60?}");
        let Some((api, cli, backend)) = set_up_with([answer], "model = 'gemini-2.5-flash'") else {
            return;
        };
        let error = AgentBackend::failed(backend.answer(&prompt("What is it?")).await);
        assert_eq!(error.kind, kind, "{told}: {error}");
        assert!(error.hint.is_some() && error.message.len() < 300, "{error}");
        assert!(!error.message.contains("a-key-for-tests"));
        // One attempt: what fails is not paid again and again.
        assert_eq!(api.requests().len(), 1, "{told}");
        cli.wait_until_gone();
    }
}

#[tokio::test]
async fn a_login_that_is_refused() {
    assert_fails([(Answer::bad_key(), ErrorKind::Auth), (Answer::forbidden(), ErrorKind::Auth)])
        .await;
}

#[tokio::test]
async fn passing_faults() {
    assert_fails([
        (Answer::overloaded(), ErrorKind::Unavailable),
        (Answer::Cut, ErrorKind::Unavailable),
    ])
    .await;
}

#[tokio::test]
async fn answers_that_are_none_although_the_program_succeeds() {
    assert_fails([
        (Answer::safety_block(), other("safety-blocked")),
        (Answer::max_tokens(""), other("empty-answer")),
        (Answer::Blocked, other("empty-answer")),
    ])
    .await;
}

#[tokio::test]
async fn a_model_that_never_comes_to_an_end() {
    let answers = [Answer::search("one"), Answer::search("two"), Answer::search("three")];
    let Some((api, _cli, backend)) = set_up_with(answers, "max_turns = 2") else { return };
    let error = AgentBackend::failed(backend.answer(&prompt("What is it?")).await);
    assert_eq!(error.kind, other("turn-limit"), "{error}");
    assert_eq!(api.answer_requests().len(), 2);
}

#[tokio::test]
async fn a_slow_answer_is_told_of_while_it_comes() {
    let latch = Latch::new();
    let pieces = vec!["It comes ".to_owned(), "slowly.".to_owned()];
    let answer = Answer::Slow { pieces, latch: latch.clone() };
    let Some((_api, _cli, backend)) = set_up([answer]) else { return };
    let backend = Arc::new(backend);
    let call = tokio::spawn({
        let backend = backend.clone();
        async move { backend.answer(&prompt("What is it?")).await }
    });
    // The first piece is told before there is a second.
    let start = Instant::now();
    while !backend.progress().iter().any(|told| told == "writing, 9 characters so far") {
        assert!(start.elapsed() < DEADLINE, "{:?}", backend.progress());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!call.is_finished());
    latch.open();
    let reply = call.await.expect("no panic").expect("an answer");
    assert_eq!(reply.text, "It comes slowly.");
}

#[tokio::test]
async fn a_missing_key_is_told() {
    let api = GeminiApi::new([]);
    let cli = match RealCli::with_key(&api.url(), "") {
        Ok(cli) => cli,
        Err(reason) => return skip(&reason),
    };
    let backend = AgentBackend::gemini(&cli.path(), "", "");
    let error = AgentBackend::failed(backend.answer(&prompt("What is it?")).await);
    assert_eq!(error.kind, ErrorKind::Auth);
    assert!(error.hint.expect("a hint").contains("GEMINI_API_KEY"));
    assert!(api.requests().is_empty());
}
