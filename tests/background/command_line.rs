//! The same on the command line: every tool has a command.

use serde_json::json;

use crate::support::explorer::{Explorer, PATIENTLY, wait_for};
use crate::support::interactions::{Script, Until};

const QUESTION: &str = "How do tide tables compare?";

#[test]
fn a_start_that_is_waited_for_prints_the_report() {
    let explorer = Explorer::new();
    let printed = explorer.run(["start", "--wait", QUESTION]).assert_success();
    assert!(printed.stdout.contains("Finding 3 is"), "{}", printed.transcript());
    assert!(printed.stderr.contains("completed after"), "{}", printed.transcript());
    let json = explorer.run(["start", "--wait", "--json", QUESTION]).assert_success().json();
    assert_eq!((&json["status"], &json["mode"]), (&json!("completed"), &json!("sync")));
    assert!(json["results"]["report"].as_str().unwrap().contains("Finding 3 is"));
}

#[test]
fn a_start_is_left_looked_at_and_read_later() {
    let explorer = Explorer::who_waits(1.0);
    explorer.api.on(|_| Script::until(Until::Released));
    let printed = explorer.run(["start", QUESTION]).assert_success();
    let id = printed.stdout.trim_end().to_owned();
    assert_eq!(id.len(), 36, "only the id is data: {}", printed.transcript());
    for command in ["status", "show", "cancel", "worker"] {
        assert!(printed.stderr.contains(&format!("bathysphere {command}")), "{}", printed.stderr);
    }
    let told = explorer.run(["status", &id[..8]]).assert_success();
    for words in [QUESTION, "running async", "searches", "bathysphere worker"] {
        assert!(told.stdout.contains(words), "{words}: {}", told.transcript());
    }
    let shown = explorer.run(["show", &id]).assert_success();
    assert!(shown.stdout.contains("bathysphere worker"), "{}", shown.transcript());

    explorer.api.release(QUESTION);
    explorer.run(["worker", "--until-done"]).assert_success();
    let told = explorer.status(&id);
    assert_eq!((&told["success"], &told["status"]), (&json!(true), &json!("completed")));
    let shown = explorer.run(["show", &id]).assert_success();
    assert!(shown.stdout.contains("Finding 3 is"), "{}", shown.transcript());
    let shown = explorer.run(["show", &id, "--json"]).assert_success().json();
    assert_eq!((&shown["status"], &shown["id"]), (&json!("completed"), &json!(id)));
    let html = explorer.run(["show", &id, "--format", "html"]).assert_success();
    assert!(html.stdout.to_lowercase().starts_with("<!doctype html>"));

    let costs = explorer.run(["costs", "--by", "task", "--json"]).assert_success().json();
    assert_eq!(costs["rows"][0]["key"], id, "{costs:#}");
    assert_eq!(costs["rows"][0]["tool"], "start_deep_research");
    assert_eq!(costs["total"]["input_tokens"], 250_000, "{costs:#}");
    let by_backend = explorer.run(["costs", "--by", "backend"]).assert_success();
    assert!(by_backend.stdout.contains("research-gemini"), "{}", by_backend.transcript());
    let worth = explorer.run(["costs", "--estimates", "--json"]).assert_success().json();
    assert_eq!(worth["rows"].as_array().map(Vec::len), Some(1), "{worth:#}");
    assert_eq!(explorer.api.log().creates(QUESTION), 1);
}

#[test]
fn a_cancel_tells_what_it_came_to() {
    // Long enough for the vendor to have it, and a draft of it, on a busy machine.
    let explorer = Explorer::who_waits(6.0);
    explorer.api.on(|_| Script {
        draft: Some("# A beginning\n\nThe tide".to_owned()),
        ..Script::until(Until::Never)
    });
    let id = explorer.run(["start", QUESTION]).assert_success().stdout.trim_end().to_owned();
    let cancelled = explorer.run(["cancel", &id[..8]]).assert_success();
    for words in ["is cancelled", "told to stop", "It cost $", "bathysphere show"] {
        assert!(cancelled.stdout.contains(words), "{words}: {}", cancelled.transcript());
    }
    let shown = explorer.run(["show", &id]).assert_success();
    assert!(shown.stdout.contains("The tide"), "{}", shown.transcript());
    // And what is not wanted is not kept.
    let id = explorer.run(["start", "And this?"]).assert_success().stdout.trim_end().to_owned();
    explorer.run(["cancel", &id, "--discard"]).assert_success();
    let shown = explorer.run(["show", &id]).assert_success();
    assert!(!shown.stdout.contains("The tide"), "{}", shown.transcript());
}

#[test]
fn what_does_not_exist_is_told_with_the_exit_code_of_wrong_input_or_failure() {
    let explorer = Explorer::new();
    for command in ["status", "show", "cancel", "save"] {
        let refused = explorer.run([command, "0198c2f4-nobody"]).assert_failure();
        assert!(refused.stderr.contains("0198c2f4-nobody"), "{}", refused.transcript());
        explorer.run([command]).assert_wrong_input();
    }
    for arguments in [&["task", "adopt", "0198c2f4", "v1_x"][..], &["task", "retry", "0198c2f4"]] {
        explorer.run(arguments).assert_failure();
    }
    explorer.run(["start", "--max-cost", "-1", QUESTION]).assert_wrong_input();
    explorer.run(["start", "--max-wait-hours", "200", QUESTION]).assert_wrong_input();
}

#[test]
fn a_failed_start_has_the_exit_code_of_a_failure() {
    let explorer = Explorer::who_waits(PATIENTLY).offline();
    let failed = explorer.run(["start", QUESTION]).assert_failure();
    assert_eq!(failed.code(), 1, "{}", failed.transcript());
    assert!(failed.stderr.contains("127.0.0.1"), "{}", failed.transcript());
}

/// The process that started it ends before the vendor has answered: the name that
/// the vendor gives it is waited for.
#[test]
fn a_start_that_is_still_under_way_is_waited_for() {
    use crate::support::interactions::Fault;
    let explorer = Explorer::who_waits(0.5);
    let slow = Fault::Delay(std::time::Duration::from_secs(2));
    explorer.api.on(move |_| Script { creates: vec![slow.clone()], ..Script::default() });
    let id = explorer.run(["start", QUESTION]).assert_success().stdout.trim_end().to_owned();
    let _client = explorer.connect();
    wait_for("the end", || (explorer.status(&id)["status"] == "completed").then_some(()));
    assert_eq!(explorer.api.log().creates(QUESTION), 1);
}
