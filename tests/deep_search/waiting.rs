//! `max_wait_seconds`: a handle instead of a long wait, and the result later, for the
//! price of one run.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::client::text_of;
use crate::support::gemini_cli::Run;
use crate::support::researcher::{Researcher, report, structured};

/// Asks, gets a handle, waits for the rest, and asks once more.
fn handle_then_result(user: &Researcher, arguments: &Value) {
    let mut hold = user.fake.hold();
    user.fake
        .then(&Run::answers(&report("Draft", false)))
        .then(&Run::answers(&report("Checked", true)).held_by(&hold));
    let mut client = user.connect();
    let start = Instant::now();
    let answer = client.call_tool("deep_search", arguments.clone());
    assert!(start.elapsed() >= Duration::from_secs(1), "{:?}", start.elapsed());
    let handle = structured(&answer);
    assert_eq!(handle["success"], true);
    assert_eq!(handle["status"], "running");
    assert!(handle.get("error").is_none(), "{handle:#}");
    let id = handle["task_id"].as_str().expect("an id").to_owned();
    assert!(text_of(&answer).contains(&id), "{}", text_of(&answer));

    // Waiting for it is waiting for that very run.
    user.fake.wait_for_runs(2);
    let resumed = client.begin("deep_search", json!({ "resume": id, "max_wait_seconds": 600 }));
    let again = client.call_tool("deep_search", json!({ "resume": id, "max_wait_seconds": 1 }));
    let again = structured(&again);
    assert_eq!((&again["status"], &again["task_id"]), (&"running".into(), &handle["task_id"]));
    assert_eq!(again["result"], "Draft", "what is known so far");
    hold.release();
    let result = structured(&client.answer(resumed));
    assert_eq!(result["status"], "completed");
    assert_eq!(result["result"], "Checked");
    assert_eq!(result["verified"], true);
    assert_eq!(result["task_id"], handle["task_id"]);

    // It is kept: the same again, without a run, also of another server.
    let kept = structured(&client.call_tool("deep_search", json!({ "resume": id })));
    let log = client.end().stderr;
    for same in ["result", "verified", "status", "task_id", "metadata", "usage"] {
        assert_eq!(kept[same], result[same], "{same}");
    }
    let elsewhere = user.ask("deep_search", json!({ "resume": id }));
    assert_eq!(elsewhere.answer["result"], "Checked");
    assert_eq!(user.wait_until_nothing_is_left().len(), 2);
    // The rounds were told once, also while nobody waited.
    for line in ["Deep search round 2/5...", "Deep search completed: 2 rounds, verified: true"] {
        assert_eq!(log.matches(line).count(), 1, "{line}: {log}");
    }
}

#[test]
fn a_call_that_waits_too_long_returns_a_handle_to_the_run() {
    let user = Researcher::new();
    handle_then_result(&user, &json!({ "query": "How deep?", "max_wait_seconds": 1 }));
}

#[test]
fn the_longest_wait_may_be_configured() {
    let user = Researcher::with_config("[research]\nmax_wait_seconds = 1\n");
    handle_then_result(&user, &json!({ "query": "How deep?" }));
}

#[test]
fn a_result_in_time_is_no_handle() {
    let user = Researcher::new();
    user.fake
        .then(&Run::answers(&report("Draft", false)))
        .then(&Run::answers(&report("Checked", true)));
    let asked = user.ask("deep_search", json!({ "query": "How deep?", "max_wait_seconds": 600 }));
    assert_eq!(asked.answer["status"], "completed");
}

#[test]
fn a_task_that_is_not_known_cannot_be_resumed() {
    let user = Researcher::new();
    for id in ["00000000-0000-0000-0000-000000000000", "no id at all", "'; drop table tasks"] {
        let asked = user.ask("deep_search", json!({ "resume": id }));
        assert_eq!(asked.answer["success"], false);
        assert!(asked.answer["error"]["code"].is_string(), "{:#}", asked.answer);
    }
    assert!(user.fake.runs().is_empty());
}

/// Nobody waits for it, and it fails: it does not come alive by itself.
#[test]
fn a_task_that_was_left_alone_and_fails_stays_failed() {
    let user = Researcher::new();
    let mut hold = user.fake.hold();
    user.fake.then(&Run::bad_key().held_by(&hold));
    let mut client = user.connect();
    let arguments = json!({ "query": "How deep?", "max_wait_seconds": 1 });
    let handle = structured(&client.call_tool("deep_search", arguments));
    assert_eq!(handle["status"], "running", "{handle:#}");
    hold.release();
    user.wait_for_status(&["failed"]);
    // What it told is in the log all the same.
    client.wait_for_log("[WARN] Round 1 failed");
    let ended = client.end();
    assert!(!ended.stderr.contains("round 2/"), "{}", ended.stderr);
    assert_eq!(user.wait_for_status(&["failed"])["rounds"], 1);
    assert_eq!(user.fake.runs().len(), 1);
}
