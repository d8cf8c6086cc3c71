//! What goes wrong with the CLI: each failure has its own code and hint, none is
//! taken for bad JSON, and what cannot succeed is not paid for again.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::client::{Client, text_of};
use crate::support::gemini_cli::Run;
use crate::support::researcher::{KEY, Researcher, is_correction, report, structured};

/// Long enough that nobody says it by chance.
const QUERY: &str = "the merger of Alpha and Beta is to be announced on Monday morning";

struct Failure {
    run: Run,
    code: &'static str,
    /// A word of the hint.
    hint: &'static str,
}

fn failure(run: Run, code: &'static str, hint: &'static str) -> Failure {
    Failure { run, code, hint }
}

/// What asking again cannot mend.
fn lasting() -> Vec<Failure> {
    vec![
        failure(Run::bad_key(), "AUTH_ERROR", "GEMINI_API_KEY"),
        failure(Run::daily_quota(), "QUOTA_EXHAUSTED", "quota"),
        failure(Run::model_not_found(), "MODEL_NOT_FOUND", "GEMINI_MODEL"),
        failure(Run::safety_block(), "SAFETY_BLOCKED", "put the question differently"),
        failure(Run::context_overflow(), "CONTEXT_OVERFLOW", "larger context"),
    ]
}

/// What may pass, but is not waited for.
fn late() -> Vec<Failure> {
    vec![
        failure(Run::rate_limited(500), "RATE_LIMITED", "wait"),
        failure(Run::floods(), "TOO_LARGE", "ask again"),
    ]
}

/// What may pass soon.
fn passing() -> Vec<Failure> {
    vec![
        failure(Run::overloaded(), "UNAVAILABLE", "wait"),
        failure(Run::internal_error(), "UNAVAILABLE", "wait"),
        failure(Run::dies(9), "UNAVAILABLE", "memory"),
        failure(Run::empty(), "EMPTY_ANSWER", "ask again"),
        failure(
            Run::new().complains("Error: the pump is broken\n").exits(3),
            "EXECUTION_ERROR",
            "gemini",
        ),
    ]
}

/// The only one that has to be waited for, by whoever sets a short time.
fn timeout() -> (Researcher, Failure) {
    let user = Researcher::with_config(
        "[research]\nmax_iterations = 2\n\
         [plugins.agent-gemini-cli.settings]\ntimeout_seconds = 2\n",
    );
    (user, failure(Run::hangs(), "TIMEOUT", "timeout_seconds"))
}

#[track_caller]
fn assert_told(answer: &Value, expected: &Failure) {
    let failed = structured(answer);
    let error = &failed["error"];
    assert_eq!(failed["success"], false, "{failed:#}");
    assert_eq!(error["code"], expected.code, "{failed:#}");
    let hint = error["hint"].as_str().unwrap_or_else(|| panic!("a hint: {failed:#}"));
    assert!(hint.contains(expected.hint), "{:?} is not in {hint:?}", expected.hint);
    let message = error["message"].as_str().expect("a message");
    assert!(!message.is_empty() && message.len() < 400, "{message}");
    assert_silent_about_the_prompt(&error.to_string());
    assert!(text_of(answer).contains(message), "{}", text_of(answer));
}

/// Neither the question, nor the template, nor the key.
#[track_caller]
fn assert_silent_about_the_prompt(text: &str) {
    for words in ["Alpha and Beta", "careful web researcher", "fact-checker", KEY] {
        assert!(!text.contains(words), "{words:?} is in {text}");
    }
}

fn ask(client: &mut Client, tool: &str) -> Value {
    client.call_tool(tool, json!({ "query": QUERY }))
}

fn assert_no_corrections(user: &Researcher) {
    let runs = user.wait_until_nothing_is_left();
    assert!(!runs.iter().any(is_correction), "{runs:#?}");
}

#[test]
fn what_cannot_succeed_is_told_after_one_run() {
    let user = Researcher::new();
    let mut client = user.connect();
    for (number, expected) in lasting().iter().enumerate() {
        user.fake.otherwise(&expected.run);
        assert_told(&ask(&mut client, "deep_search"), expected);
        assert_eq!(user.fake.runs().len(), number + 1, "{}", expected.code);
    }
    assert_no_corrections(&user);
    assert_silent_about_the_prompt(&client.end().stderr);
}

#[test]
fn what_may_pass_is_told_once_the_attempts_are_used_up() {
    // One cycle: the waits between them are not the point here.
    let user = Researcher::with_config("[research]\ncycles = 1\n");
    let mut client = user.connect();
    for (number, expected) in passing().iter().enumerate() {
        user.fake.otherwise(&expected.run);
        assert_told(&ask(&mut client, "search"), expected);
        assert_eq!(user.fake.runs().len(), number + 1, "{}", expected.code);
    }
    assert_no_corrections(&user);
    assert_silent_about_the_prompt(&client.end().stderr);
}

/// What the host does not wait for is not asked again, however many cycles there are.
#[test]
fn a_limit_that_passes_late_and_a_flood_are_not_repeated_in_their_round() {
    let user = Researcher::new();
    let mut client = user.connect();
    for (number, expected) in late().iter().enumerate() {
        user.fake.otherwise(&expected.run);
        assert_told(&ask(&mut client, "search"), expected);
        assert_eq!(user.fake.runs().len(), number + 1, "{}", expected.code);
    }
}

#[test]
fn a_timeout_is_told_after_one_run_and_ends_it() {
    let (user, expected) = timeout();
    user.fake.otherwise(&expected.run);
    let mut client = user.connect();
    assert_told(&ask(&mut client, "search"), &expected);
    assert_eq!(user.fake.runs().len(), 1, "it is not repeated in its round");
    assert_no_corrections(&user);
}

#[test]
fn a_passing_limit_and_a_passing_fault_are_waited_out() {
    let user = Researcher::new();
    user.fake
        .then(&Run::rate_limited(2))
        .then(&Run::answers(&report("Draft", false)))
        .then(&Run::dies(9))
        .then(&Run::answers(&report("Checked", true)));
    let start = Instant::now();
    let asked = user.deep_search(QUERY);
    // As long as the API said, and a second.
    assert!(start.elapsed() >= Duration::from_secs(3), "{:?}", start.elapsed());
    assert_eq!(asked.answer["result"], "Checked");
    assert_eq!(asked.answer["verified"], true);
    assert_eq!(asked.answer["metadata"]["iterations"], 2, "these are no rounds of their own");
    let waits = asked.progress.iter().filter(|told| told.starts_with("asking again in"));
    assert_eq!(waits.count(), 2, "{:#?}", asked.progress);
    assert_eq!(user.fake.runs().len(), 4);
    assert_no_corrections(&user);
}

#[test]
fn the_first_report_survives_whatever_fails_later() {
    let user = Researcher::with_config("[research]\ncycles = 1\nmax_iterations = 2\n");
    assert_the_first_report_survives(&user, lasting().into_iter().chain(late()).chain(passing()));
}

#[test]
fn the_first_report_survives_a_timeout() {
    let (user, expected) = timeout();
    assert_the_first_report_survives(&user, [expected]);
}

#[track_caller]
fn assert_the_first_report_survives(
    user: &Researcher,
    failures: impl IntoIterator<Item = Failure>,
) {
    let mut client = user.connect();
    user.fake.when("You are a careful web researcher", &Run::answers(&report("Draft", false)));
    for (number, expected) in failures.into_iter().enumerate() {
        user.fake.otherwise(&expected.run);
        let answer = structured(&ask(&mut client, "deep_search"));
        assert_eq!(answer["success"], true, "{answer:#}");
        assert_eq!(answer["result"], "Draft", "{answer:#}");
        assert_eq!(answer["verified"], false);
        assert_eq!(answer["metadata"]["iterations"], 2);
        let note = answer["note"].as_str().unwrap_or_else(|| panic!("a note: {answer:#}"));
        assert!(note.contains("verif"), "{note}");
        assert_silent_about_the_prompt(note);
        let second = &answer["metadata"]["rounds"][1]["intermediate_result_summary"];
        assert!(second.as_str().is_some_and(|text| text.contains("failed")), "{answer:#}");
        assert_eq!(user.fake.runs().len(), 2 * (number + 1), "{}", expected.code);
    }
    assert_no_corrections(user);
    assert_silent_about_the_prompt(&client.end().stderr);
}

#[test]
fn the_first_report_survives_a_cli_that_is_gone() {
    let user = Researcher::new();
    let mut hold = user.fake.hold();
    user.fake.then(&Run::answers(&report("Draft", false)).held_by(&hold));
    let mut client = user.connect();
    let id = client.begin("deep_search", json!({ "query": QUERY }));
    user.fake.wait_for_runs(1);
    std::fs::remove_file(user.fake.path()).expect("the fake's own program");
    hold.release();
    let answer = structured(&client.answer(id));
    // There may be a real one behind the fake, which has no key that is accepted.
    assert_eq!(answer["success"], true, "{answer:#}");
    assert_eq!(answer["result"], "Draft");
    assert_eq!(answer["verified"], false);
}

/// What the CLI repeats of the prompt or of the key, nobody repeats.
#[test]
fn an_error_that_repeats_the_prompt_or_the_key_is_not_quoted() {
    let user = Researcher::with_config("[research]\ncycles = 1\n");
    let mut client = user.connect();
    let echo = format!("cannot work on: {QUERY}");
    let key = format!("the key {KEY} may not do this");
    for run in [
        Run::fails(144, &echo),
        Run::fails(244, &echo),
        Run::fails(147, &key),
        Run::new().complains(&format!("Error: {echo}\n")).exits(3),
        Run::new()
            .complains(&format!("Error: {key}\n    at request (x-goog-api-key: {KEY})\n"))
            .exits(3),
    ] {
        user.fake.otherwise(&run);
        let answer = structured(&ask(&mut client, "search"));
        assert_eq!(answer["success"], false);
        assert_silent_about_the_prompt(&answer["error"].to_string());
    }
    assert_silent_about_the_prompt(&client.end().stderr);
}
