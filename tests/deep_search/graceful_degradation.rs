//! Requirement: Graceful Degradation. A round that fails does not fail the search.

use serde_json::json;

use crate::support::gemini_cli::Run;
use crate::support::researcher::{Researcher, fenced, report};

#[test]
fn single_round_failure() {
    let user = Researcher::with_config("[research]\ncycles = 1\n");
    // WHEN a verification round fails
    user.fake
        .then(&Run::answers(&report("Draft", false)))
        .then(&Run::overloaded())
        .then(&Run::answers(&report("Checked", true)));
    let asked = user.deep_search("How deep?");
    // THEN the error is logged
    let log = asked.log("[WARN] Round 2 failed: ").join("\n");
    assert!(log.contains("overloaded"), "{}", asked.ended.stderr);
    // AND the next round goes on, from the best result
    let runs = user.wait_until_nothing_is_left();
    assert_eq!(runs.len(), 3);
    let third = runs[2].input.as_deref().expect("a prompt");
    assert!(third.contains("This is round 3 of at most 5"), "{third}");
    assert_eq!(fenced(third, "RESULT"), "Draft");
    assert_eq!(asked.answer["success"], true);
    assert_eq!(asked.answer["result"], "Checked");
    assert_eq!(asked.answer["verified"], true);
    assert_eq!(asked.answer["metadata"]["iterations"], 3);
    let second = &asked.answer["metadata"]["rounds"][1];
    assert_eq!(second["round_number"], 2);
    let summary = second["intermediate_result_summary"].as_str().expect("a summary");
    assert!(summary.contains("failed"), "{summary}");

    // OR, at the maximum, the best result is returned
    let user = Researcher::with_config("[research]\ncycles = 1\n");
    user.fake
        .then(&Run::answers(&report("Draft", false)))
        .then(&Run::answers(&report("Better", false)))
        .then(&Run::overloaded());
    let asked = user.ask("deep_search", json!({ "query": "How deep?", "max_iterations": 3 }));
    assert_eq!(user.wait_until_nothing_is_left().len(), 3);
    assert_eq!(asked.answer["success"], true);
    assert_eq!(asked.answer["result"], "Better");
    assert_eq!(asked.answer["verified"], false);
    let note = asked.answer["note"].as_str().expect("a note");
    assert!(note.contains("verification was not completed"), "{note}");
}

#[test]
fn gemini_cli_unavailable() {
    let user = Researcher::new();
    let empty = user.home.path().join("nothing");
    std::fs::create_dir(&empty).expect("a fresh directory");
    // WHEN the Gemini CLI is not installed
    let user = user.with_variable("PATH", empty);
    let asked = user.deep_search("How deep?");
    // THEN the error has the code `CLI_NOT_FOUND`
    assert_eq!(asked.answer["success"], false);
    assert_eq!(asked.answer["error"]["code"], "CLI_NOT_FOUND");
    // AND instructions, also for another backend
    let hint = asked.answer["error"]["hint"].as_str().expect("a hint");
    assert!(hint.contains("npm install -g @google/gemini-cli"), "{hint}");
    assert!(hint.contains("--docs"), "{hint}");
    assert!(user.fake.runs().is_empty());
}
