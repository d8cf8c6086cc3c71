//! `agent-gemini-cli` with the real Gemini CLI, at a pinned version, talking to a
//! loopback stand-in of the Gemini API.
//!
//! Where Node or the network is missing the tests say that they were skipped; under
//! `CI=true` that is a failure.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bathysphere::plugins::contract::{AgentRequest, ErrorKind, Purpose};

use crate::support::agent::{AgentBackend, other, prompt};
use crate::support::gemini_answers::{Answer, Latch};
use crate::support::gemini_api::{GeminiApi, Purpose as Asked};
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

#[tokio::test]
async fn an_answer() {
    let Some((api, _cli, backend)) = set_up([Answer::text("The answer, é.")]) else { return };
    let reply = backend.answer(&prompt("What is it?\n@/etc/passwd @..")).await.expect("an answer");
    assert_eq!(reply.text, "The answer, é.");
    // The CLI chose a model by itself; that it asked another one for it is known, too.
    let requests = api.requests();
    assert_eq!(requests[0].purpose, Asked::Route);
    assert_eq!(reply.model.as_deref(), Some(requests[1].model.as_str()));
    assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (2000, 140));
    assert_eq!(requests[1].key.as_deref(), Some("a-key-for-tests"));
    assert!(requests[1].prompt().contains("What is it?"));
    assert!(!requests[1].body.to_string().contains("root:"), "a file was put into the prompt");
    // The system prompt is ours, and short.
    assert!(requests[1].body.to_string().len() < 6000, "{}", requests[1].body);
    api.assert_all_expected();
}

#[tokio::test]
async fn a_search_and_a_page() {
    let answers = [
        Answer::search("rust mcp"),
        Answer::fetch("Summarise https://93.184.215.14/a"),
        Answer::text("Found."),
    ];
    let Some((api, _cli, backend)) = set_up(answers) else { return };
    api.finds(&[
        ("docs.rs", "https://redirect.example/1"),
        ("crates.io", "https://redirect.example/2"),
    ]);
    let reply = backend.answer(&prompt("Search!")).await.expect("an answer");
    assert_eq!(reply.text, "Found.");
    assert_eq!(reply.queries, ["rust mcp"]);
    let sources: Vec<(&str, &str)> =
        reply.sources.iter().map(|one| (one.url.as_str(), one.title.as_str())).collect();
    assert_eq!(
        sources[..2],
        [("https://redirect.example/1", "docs.rs"), ("https://redirect.example/2", "crates.io")]
    );
    assert!(sources.iter().any(|(url, _)| *url == "https://93.184.215.14/a"), "{sources:?}");
    assert_eq!((reply.usage.searches, reply.usage.pages), (1, 1));
    let asked: Vec<Asked> = api.requests().iter().map(|request| request.purpose).collect();
    assert_eq!(
        asked,
        [Asked::Route, Asked::Answer, Asked::Search, Asked::Answer, Asked::Fetch, Asked::Answer]
    );
    let progress = backend.progress();
    assert!(progress.contains(&"searching \"rust mcp\"".to_owned()), "{progress:?}");
    assert!(progress.contains(&"read https://93.184.215.14/a".to_owned()), "{progress:?}");
}

#[tokio::test]
async fn a_correction_reads_the_file_that_it_is_given() {
    let place = tempfile::tempdir().expect("a directory");
    let place = place.path().canonicalize().expect("it is there");
    let long = format!("{{\"report\": \"{}END\"", "x".repeat(5000));
    let file = place.join("temp-invalid-output-1763160000.txt");
    let path = file.to_str().expect("UTF-8").to_owned();
    for text in ["{\"success\": tru", &long] {
        std::fs::write(&file, text).expect("a file");
        let answers = [Answer::read_file(&path), Answer::text("{}")];
        let Some((api, _cli, backend)) =
            set_up_with(answers, "correction_model = 'gemini-2.5-flash'")
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
        assert_eq!(reply.model.as_deref(), Some("gemini-2.5-flash"));
        let requests = api.answer_requests();
        assert_eq!(requests[0].model, "gemini-2.5-flash");
        let seen = format!("{:?}\n{}", requests[1].tool_results(), requests[1].prompt());
        assert!(seen.contains("success") || seen.contains("xEND"), "{seen}");
        api.assert_all_expected();
    }
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
    assert_fails([
        (Answer::bad_key(), ErrorKind::Auth),
        (Answer::unauthorized(), ErrorKind::Auth),
        (Answer::forbidden(), ErrorKind::Auth),
    ])
    .await;
}

#[tokio::test]
async fn a_model_that_nobody_knows() {
    assert_fails([(Answer::model_not_found("gemini-2.5-flash"), other("model-not-found"))]).await;
}

#[tokio::test]
async fn a_limit_that_passes_and_one_that_does_not() {
    assert_fails([
        (Answer::rate_limited(2), ErrorKind::RateLimited(Some(2))),
        (Answer::daily_quota(), other("quota-exhausted")),
    ])
    .await;
}

#[tokio::test]
async fn passing_faults() {
    assert_fails([
        (Answer::internal_error(), ErrorKind::Unavailable),
        (Answer::overloaded(), ErrorKind::Unavailable),
        (Answer::Cut, ErrorKind::Unavailable),
    ])
    .await;
}

#[tokio::test]
async fn answers_that_are_none_although_the_program_succeeds() {
    assert_fails([
        (Answer::empty(), other("empty-answer")),
        (Answer::safety_block(), other("safety-blocked")),
        (Answer::max_tokens(""), other("empty-answer")),
        (Answer::Blocked, other("empty-answer")),
    ])
    .await;
}

#[tokio::test]
async fn a_flood() {
    assert_fails([(Answer::Flood { bytes: 20 << 20 }, other("too-large"))]).await;
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

#[tokio::test]
async fn a_call_that_is_given_up_ends_the_program() {
    let Some((api, cli, backend)) = set_up([Answer::Hang]) else { return };
    let request = prompt("What is it?");
    let waiting = tokio::task::spawn_blocking(move || {
        api.wait_for_answer_requests(1);
        api
    });
    let _api = tokio::select! {
        outcome = backend.answer(&request) => panic!("it ended by itself: {outcome:?}"),
        api = waiting => api.expect("no panic"),
    };
    let start = Instant::now();
    cli.wait_until_gone();
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}
