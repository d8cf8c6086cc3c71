//! Requirement: JSON Retry Logic with Correction Fallback. What cannot be read is
//! corrected first; if that fails the whole cycle is run again.

use std::time::{Duration, Instant};

use crate::support::gemini_cli::Run;
use crate::support::researcher::{Researcher, example_in, fenced, is_correction, report};

const QUERY: &str = "How deep did the bathysphere dive?";
const TALK: &str = "It dived to 923 m, says https://log.example/; I forgot the JSON.";

#[test]
fn initial_attempt_main_search_prompt() {
    // WHEN a search round begins
    let user = Researcher::new();
    let prose = format!("I have done it. Here it is:\n{}\nAnything else?", report("Draft", false));
    user.fake.then(&Run::answers(&prose)).then(&Run::answers(&report("Checked", true)));
    let asked = user.deep_search(QUERY);
    // THEN the main research prompt is run
    let runs = user.wait_until_nothing_is_left();
    assert_eq!(fenced(runs[0].input.as_deref().expect("a prompt"), "QUERY"), QUERY);
    assert!(runs.iter().all(|run| !is_correction(run)));
    // AND JSON is extracted from the output, and validated
    assert_eq!(runs.len(), 2);
    assert_eq!(fenced(runs[1].input.as_deref().expect("a prompt"), "RESULT"), "Draft");
    assert_eq!(asked.answer["result"], "Checked");
}

#[test]
fn json_parsing_failure_correction_attempt() {
    let user = Researcher::with_config("[research]\ncycles = 1\n");
    let mut hold = user.fake.hold();
    // WHEN the main search returns what is not JSON
    user.fake
        .then(&Run::answers(&report("Draft", false)))
        .then(&Run::answers(TALK))
        .then(&Run::answers("Nor can I.").held_by(&hold));
    let mut client = user.connect();
    let id =
        client.begin("deep_search", serde_json::json!({ "query": QUERY, "max_iterations": 2 }));
    // THEN a correction is attempted at once: a new CLI with a correction prompt
    let runs = user.fake.wait_for_runs(3);
    let prompt = runs[2].input.as_deref().expect("a prompt");
    assert!(is_correction(&runs[2]));
    // AND the invalid output is in a file in the config directory
    let files = user.texts_to_correct();
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(std::fs::read_to_string(&files[0]).expect("a file"), TALK);
    let name = files[0].file_name().and_then(|name| name.to_str()).expect("a name");
    let seconds: i64 = name
        .strip_prefix("temp-invalid-output-")
        .and_then(|rest| rest.strip_suffix(".txt"))
        .and_then(|number| number.parse().ok())
        .expect("a Unix time");
    assert!((jiff::Timestamp::now().as_second() - seconds).abs() < 60, "{name}");
    // AND the prompt has the full JSON example,
    let example = example_in(prompt);
    assert!(example["success"].is_boolean() && example["verified"].is_boolean(), "{example:#}");
    assert!(example["report"].is_string() && example["metadata"].is_object(), "{example:#}");
    // the path of the file, and the instruction to read it, to extract and to format.
    assert!(prompt.contains(files[0].to_str().expect("UTF-8")), "{prompt}");
    assert!(prompt.contains("Read the whole file"), "{prompt}");
    assert!(prompt.contains("Extract the research information"), "{prompt}");
    assert!(prompt.contains("Return it as exactly one fenced `json` block"), "{prompt}");
    hold.release();
    client.answer(id);
    let ended = client.end();
    // AND a correction that fails is logged as an error of its own
    let errors: Vec<&str> = ended
        .stderr
        .lines()
        .filter(|line| line.starts_with("[ERROR] JSON correction failed: "))
        .collect();
    assert_eq!(errors.len(), 1, "{}", ended.stderr);
}

#[test]
fn correction_success() {
    let user = Researcher::new();
    user.fake
        .then(&Run::answers(TALK))
        // WHEN the correction produces valid JSON
        .then(&Run::answers(&report("Corrected", false)))
        .then(&Run::answers(&report("Checked", true)));
    let asked = user.deep_search(QUERY);
    // THEN the corrected result is accepted, AND the round proceeds without retries
    let runs = user.wait_until_nothing_is_left();
    let corrections: Vec<bool> = runs.iter().map(is_correction).collect();
    assert_eq!(corrections, [false, true, false]);
    assert_eq!(fenced(runs[2].input.as_deref().expect("a prompt"), "RESULT"), "Corrected");
    assert_eq!(asked.answer["metadata"]["iterations"], 2);
    assert_eq!(
        asked.answer["metadata"]["rounds"][0]["intermediate_result_summary"],
        "Summary of Corrected"
    );
    assert!(!asked.ended.stderr.contains("JSON correction failed"), "{}", asked.ended.stderr);
    // All three runs were paid for.
    assert_eq!(asked.answer["usage"]["input_tokens"], 3000);
}

/// The only test that waits for more than one retry. Later waits are measured on a
/// clock that stands still, beside the code.
#[test]
fn correction_failure_retry_cycle() {
    let user = Researcher::new();
    user.fake
        .then(&Run::answers(TALK))
        // WHEN the correction fails to produce valid JSON as well
        .then(&Run::answers("Nor can I."))
        .then(&Run::answers(TALK))
        .then(&Run::answers("Nor can I."))
        .then(&Run::answers(&report("At last", false)))
        .then(&Run::answers(&report("Checked", true)));
    let start = Instant::now();
    let asked = user.deep_search(QUERY);
    // THEN the whole cycle is run again
    let runs = user.wait_until_nothing_is_left();
    let corrections: Vec<bool> = runs.iter().map(is_correction).collect();
    assert_eq!(corrections, [false, true, false, true, false, false]);
    assert_eq!(runs[0].input, runs[2].input);
    assert_eq!(runs[0].input, runs[4].input);
    assert_eq!(asked.answer["result"], "Checked");
    assert_eq!(asked.answer["metadata"]["iterations"], 2);
    // AND after waits of 1 s and 2 s
    assert!(start.elapsed() >= Duration::from_secs(3), "{:?}", start.elapsed());
    for words in [
        "attempt 1 of 3 failed, the next follows in 1 s",
        "attempt 2 of 3 failed, the next follows in 2 s",
    ] {
        assert_eq!(asked.log("[WARN]").iter().filter(|line| line.contains(words)).count(), 1);
    }
}

#[test]
fn all_attempts_exhausted() {
    // One cycle, so that nothing waits.
    let user = Researcher::with_config("[research]\ncycles = 1\n");
    user.fake.otherwise(&Run::answers(TALK));
    // WHEN all retry cycles fail
    let asked = user.deep_search(QUERY);
    // THEN the error has the code `EXECUTION_ERROR`
    assert_eq!(asked.answer["success"], false);
    let error = &asked.answer["error"];
    assert_eq!(error["code"], "EXECUTION_ERROR", "{error:#}");
    // AND its message says that all attempts were exhausted
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("all retry and correction attempts were exhausted"), "{message}");
    assert!(error["hint"].is_string(), "{error:#}");
}

/// What has failed as often as the cycles allow is not paid for again under the name
/// of another round, where there is no result yet that a round could go on from.
#[test]
fn a_first_round_that_is_exhausted_is_not_asked_again_as_the_second() {
    let user = Researcher::with_config("[research]\ncycles = 2\n");
    user.fake.otherwise(&Run::answers(TALK));
    let asked = user.deep_search(QUERY);
    assert_eq!(asked.answer["error"]["code"], "EXECUTION_ERROR");
    assert_eq!(user.wait_until_nothing_is_left().len(), 4, "two cycles of two runs");
}
