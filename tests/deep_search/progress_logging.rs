//! Requirement: Progress Logging. The words are exact, because people and scripts
//! look for them; over MCP the same words are progress, with a heartbeat.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::gemini_cli::Run;
use crate::support::researcher::{Asked, Researcher, report};

/// A deep search whose second of at most four rounds fails and whose third verifies.
fn three_rounds() -> Asked {
    let user = Researcher::with_config("[research]\ncycles = 1\n");
    user.fake
        .then(&Run::answers(&report("Draft", false)))
        .then(&Run::overloaded())
        .then(&Run::answers(&report("Checked", true)));
    user.ask("deep_search", json!({ "query": "How deep?", "max_iterations": 4 }))
}

/// The lines of a log that tell of rounds.
fn told(asked: &Asked) -> Vec<&str> {
    let tells = |line: &&str| line.contains("Deep search") || line.contains("Round ");
    asked.ended.stderr.lines().filter(tells).collect()
}

#[test]
fn round_progress_logging() {
    let asked = three_rounds();
    let told = told(&asked);
    // WHEN each round begins THEN `[INFO] Deep search round {n}/{max}...` is logged,
    // AND when it completes `[INFO] Round {n} completed, verified: {status}`
    assert_eq!(told[0], "[INFO] Deep search round 1/4...");
    assert_eq!(told[1], "[INFO] Round 1 completed, verified: false");
    assert_eq!(told[2], "[INFO] Deep search round 2/4...");
    // A round that failed is not said to be completed.
    assert!(told[3].starts_with("[WARN] Round 2 failed: "), "{told:#?}");
    assert_eq!(told[4], "[INFO] Deep search round 3/4...");
    assert_eq!(told[5], "[INFO] Round 3 completed, verified: true");
}

#[test]
fn final_result_logging() {
    let asked = three_rounds();
    // WHEN the deep search completes THEN `[INFO] Deep search completed: {iterations}
    // rounds, verified: {status}` is logged, last and once
    let told = told(&asked);
    let last = "[INFO] Deep search completed: 3 rounds, verified: true";
    assert_eq!(told.last(), Some(&last), "{told:#?}");
    assert_eq!(told.iter().filter(|line| **line == last).count(), 1);
}

#[test]
fn the_same_is_told_over_mcp() {
    let asked = three_rounds();
    let log: Vec<String> = told(&asked)
        .iter()
        .map(|line| line.split_once("] ").expect("a level").1.to_owned())
        .collect();
    assert_eq!(log.len(), 7, "{log:#?}");
    let mut progress = asked.progress.iter();
    for line in &log {
        assert!(progress.any(|told| told == line), "{line:?} is missing: {:#?}", asked.progress);
    }
}

#[test]
fn what_the_cli_searches_and_reads_is_told_while_the_round_runs() {
    let user = Researcher::new();
    let mut hold = user.fake.hold();
    let run = Run::new()
        .begins()
        .uses_search("record dive", &[("A log", "https://log.example/")])
        .reads_page("https://log.example/page")
        .then_held_by(&hold)
        .says(&report("Draft", false))
        .succeeds();
    user.fake.then(&run).then(&Run::answers(&report("Checked", true)));
    let mut client = user.connect();
    let id = client.begin("deep_search", json!({ "query": "How deep?" }));
    client.progress(id, |message| message.starts_with("read https://log.example/page"));
    assert!(!client.has_answer(id));
    hold.release();
    client.answer(id);
}

/// The only test that waits for it.
#[test]
fn a_heartbeat_comes_within_ten_seconds_of_silence() {
    let user = Researcher::new();
    let mut hold = user.fake.hold();
    user.fake
        .then(&Run::answers(&report("Draft", false)).held_by(&hold))
        .then(&Run::answers(&report("Checked", true)));
    let mut client = user.connect();
    let id = client.begin("deep_search", json!({ "query": "How deep?" }));
    user.fake.wait_for_runs(1);
    let start = Instant::now();
    client.progress(id, |message| message.starts_with("round 1 of 5, "));
    // Ten, and a little for a busy machine.
    assert!(start.elapsed() < Duration::from_secs(11), "{:?}", start.elapsed());
    hold.release();
    client.answer(id);
}
