//! What would cost too much is not started, and what becomes too dear is stopped, at
//! the vendor too.

use std::fs;

use serde_json::{Value, json};

use crate::support::explorer::{
    Explorer, PATIENTLY, ask, assert_error, cancel, list, results, start, start_with, status,
    wait_for_status,
};
use crate::support::interactions::{Script, Until};

const QUESTION: &str = "What is a spring tide?";

/// The most that the question is expected to cost.
fn most(explorer: &Explorer) -> f64 {
    let estimate = explorer.run(["estimate", QUESTION, "--json"]).assert_success().json();
    estimate["estimated_cost"]["max_usd"].as_f64().expect("dollars")
}

fn asked(explorer: &Explorer, arguments: Value) -> Value {
    ask(&mut explorer.connect(), "start_deep_research", arguments)
}

#[test]
fn what_may_cost_more_than_max_cost_usd_is_not_started() {
    let explorer = Explorer::who_waits(PATIENTLY);
    for most in [0.0, 0.05] {
        let refused = asked(&explorer, json!({ "query": QUESTION, "max_cost_usd": most }));
        assert_error(&refused, "BUDGET_EXCEEDED", &["was not started", "expected to cost"]);
        assert!(refused["error"]["hint"].as_str().unwrap().contains("max_cost_usd"));
        assert_eq!(refused.get("task_id"), None);
    }
    let refused = explorer.run(["start", "--max-cost", "0.05", QUESTION]).assert_failure();
    assert!(refused.stderr.contains("was not started"), "{}", refused.transcript());
    assert!(explorer.api.log().0.is_empty(), "{:?}", explorer.api.log());
    assert_eq!(list(&mut explorer.connect(), json!({}))["count"], 0);
    // What it may cost is enough: it is started.
    let enough = most(&explorer) + 0.01;
    let started = asked(&explorer, json!({ "query": QUESTION, "max_cost_usd": enough }));
    assert_eq!(started["status"], "completed", "{started:#}");
}

#[test]
fn what_may_cost_more_than_the_users_limit_is_not_started_whatever_the_asker_says() {
    let explorer = Explorer::waiting(PATIENTLY, "[budget]\nusd_per_task = 0.05\n");
    for arguments in
        [json!({ "query": QUESTION }), json!({ "query": QUESTION, "max_cost_usd": 100 })]
    {
        assert_error(&asked(&explorer, arguments), "BUDGET_EXCEEDED", &["was not started"]);
    }
    assert!(explorer.api.log().0.is_empty());
}

#[test]
fn what_would_go_beyond_the_days_budget_is_not_sent() {
    let explorer = Explorer::waiting(PATIENTLY, "[budget]\nusd_per_day = 0.05\n");
    let refused = asked(&explorer, json!({ "query": QUESTION }));
    assert_error(&refused, "BUDGET_EXCEEDED", &[]);
    assert_eq!(explorer.api.log().creates(QUESTION), 0);
    let mut client = explorer.connect();
    assert_eq!(list(&mut client, json!({ "status": "running" }))["count"], 0);
}

#[test]
fn research_that_runs_is_held_against_the_day_until_it_has_ended() {
    let explorer = Explorer::waiting(1.0, "");
    explorer.api.on(|_| Script::until(Until::Never));
    let budget = most(&explorer) * 1.5;
    let file = explorer.home.path().join("plugins.toml");
    let config = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{config}\n[budget]\nusd_per_day = {budget}\n")).unwrap();
    let mut client = explorer.connect();
    let first = start(&mut client, QUESTION);
    assert_eq!(status(&mut client, &first)["status"], "running_async");
    explorer.wait_for_looks(QUESTION, 1);
    // Another process, another server: the day is the same.
    let mut other = explorer.connect();
    let second = start(&mut other, "What is a neap tide?");
    let told = wait_for_status(&mut other, &second, "failed");
    assert_eq!(told["failure"]["code"], "BUDGET_EXCEEDED", "{told:#}");
    assert_eq!(explorer.api.log().creates("What is a neap tide?"), 0);
    // What is cancelled counts with what it has cost, and no longer with what it might.
    let cancelled = cancel(&mut client, &first);
    assert!(cancelled["cost_usd"].as_f64().unwrap() < budget / 3.0, "{cancelled:#}");
    let third = start(&mut other, "What is an ebb tide?");
    explorer.wait_for_looks("What is an ebb tide?", 1);
    assert_eq!(status(&mut other, &third)["status"], "running_async");
}

#[test]
fn what_becomes_dearer_than_it_may_is_stopped_at_the_vendor_too() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script {
        rounds: 40,
        tells_usage: true,
        draft: Some("# A beginning\n\nThe tide".to_owned()),
        ..Script::until(Until::Never)
    });
    let allowed = most(&explorer) + 0.01;
    let mut client = explorer.connect();
    let id = start_with(&mut client, json!({ "query": QUESTION, "max_cost_usd": allowed }));
    let told = wait_for_status(&mut client, &id, "failed");
    assert_eq!(told["failure"]["code"], "BUDGET_EXCEEDED", "{told:#}");
    let message = told["failure"]["message"].as_str().unwrap();
    assert!(message.contains("the rest of it was not done"), "{message}");
    explorer.wait_for_cancels(QUESTION, 1);
    let read = results(&mut client, &id);
    assert!(read["report"].as_str().unwrap().contains("The tide"), "{read:#}");
    assert!(read["metadata"]["cost_usd"].as_f64().unwrap() >= allowed, "{read:#}");
}
