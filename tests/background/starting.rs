//! User story 1: research that is done within the waiting time comes back at once,
//! and all other research goes on in the background.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::client::{error_of, text_of};
use crate::support::explorer::{
    Explorer, PATIENTLY, ask, assert_error, list, start, status, wait_for_status,
};
use crate::support::interactions::{Fault, Script, Until, WRONG_KEY};

const QUESTION: &str = "What is a TPU?";

/// What a start comes to when it is waited for.
fn started(explorer: &Explorer, question: &str) -> Value {
    ask(&mut explorer.connect(), "start_deep_research", json!({ "query": question }))
}

#[test]
fn us1_1_a_synchronous_response_is_returned_with_report_sources_and_cost() {
    let explorer = Explorer::who_waits(PATIENTLY);
    explorer.api.on(|_| Script::until(Until::AtOnce));
    let started = started(&explorer, QUESTION);
    assert_eq!(started["success"], true, "{started:#}");
    assert_eq!((&started["status"], &started["mode"]), (&json!("completed"), &json!("sync")));
    let results = &started["results"];
    assert!(results["report"].as_str().unwrap().contains("Finding 3 is"), "{results:#}");
    assert_eq!(results["sources"].as_array().map(Vec::len), Some(5), "{results:#}");
    let metadata = &results["metadata"];
    assert_eq!(metadata["tokens_used"], json!({ "input": 250_000, "output": 60_000 }));
    assert_eq!(metadata["searches"], 4);
    assert_eq!(metadata["mode"], "sync");
    assert_eq!(metadata["tool"], "start_deep_research");
    assert_eq!(metadata["model"], "deep-research-preview-04-2026");
    assert!(metadata["duration_minutes"].as_f64().unwrap() < 2.0);
    assert!(started["cost_usd"].as_f64().unwrap() > 0.5, "{started:#}");
    assert_eq!(started["cost_usd"], metadata["cost_usd"]);
    assert_eq!(started.get("check_status_command"), None);
    // The answer to the start was the end of it: nobody had to look.
    let log = explorer.api.log();
    assert_eq!((log.creates(QUESTION), log.polls(&log.ids(QUESTION)[0])), (1, 0));
}

#[test]
fn us1_2_what_takes_longer_returns_a_task_id_in_time_and_goes_on() {
    let explorer = Explorer::who_waits(1.0);
    explorer.api.on(|_| Script::until(Until::Released));
    let mut client = explorer.connect();
    let begun = Instant::now();
    let answer = client.call_tool("start_deep_research", json!({ "query": QUESTION }));
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    let started = &answer["result"]["structuredContent"];
    assert_eq!(started["success"], true, "{started:#}");
    assert_eq!((&started["status"], &started["mode"]), (&json!("running_async"), &json!("async")));
    let id = started["task_id"].as_str().unwrap();
    assert_eq!(started["check_status_command"], format!("check_research_status(task_id='{id}')"));
    assert!(started["message"].as_str().unwrap().contains("in the background"), "{started:#}");
    assert_eq!(started.get("results"), None);
    // A client that passes on only the text has all of it too.
    assert!(text_of(&answer).contains(id), "{answer:#}");

    assert_eq!(status(&mut client, id)["status"], "running_async");
    explorer.api.release(QUESTION);
    wait_for_status(&mut client, id, "completed");
    assert_eq!(explorer.api.log().creates(QUESTION), 1);
}

#[test]
fn us1_3_an_empty_or_invalid_query_is_refused_and_nothing_is_sent() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    for (arguments, words) in [
        (json!({ "query": "" }), "the question is empty"),
        (json!({ "query": " \n\t " }), "the question is empty"),
        (json!({ "query": "x".repeat(70_000) }), "may have 65536 at the most"),
        (json!({}), "query"),
        (json!({ "query": 5 }), "query"),
        (json!({ "query": QUESTION, "depth": 3 }), "unknown field `depth`"),
        (json!({ "query": QUESTION, "max_wait_hours": 0 }), "max_wait_hours is 0"),
        (json!({ "query": QUESTION, "max_wait_hours": -1 }), "max_wait_hours is -1"),
        (json!({ "query": QUESTION, "max_wait_hours": 169 }), "at most 168"),
        (json!({ "query": QUESTION, "max_cost_usd": -0.5 }), "max_cost_usd is -0.5"),
        (json!({ "query": QUESTION, "enable_notifications": "yes" }), "enable_notifications"),
    ] {
        let answer = client.call_tool("start_deep_research", arguments.clone());
        assert!(error_of(&answer).contains(words), "{arguments}: {answer:#}");
        assert_error(&answer["result"]["structuredContent"], "INVALID_INPUT", &[words]);
    }
    assert_eq!(list(&mut client, json!({}))["count"], 0);
    assert!(explorer.api.log().0.is_empty(), "{:?}", explorer.api.log());
    // And on the command line.
    for arguments in [&["start", ""][..], &["start", "--max-wait-hours", "0", QUESTION]] {
        explorer.run(arguments).assert_wrong_input();
    }
}

#[test]
fn us1_4_an_unreachable_api_is_told_with_what_is_wrong_and_leaves_nothing_running() {
    let explorer = Explorer::who_waits(PATIENTLY).offline();
    let mut client = explorer.connect();
    let started = ask(&mut client, "start_deep_research", json!({ "query": QUESTION }));
    assert_error(&started, "UNAVAILABLE", &["research-gemini", "127.0.0.1"]);
    assert_eq!(started["status"], "failed");
    let id = started["task_id"].as_str().unwrap();
    let failed = status(&mut client, id);
    assert_eq!(failed["status"], "failed");
    assert_eq!(failed["failure"]["code"], "UNAVAILABLE");
    assert_eq!(list(&mut client, json!({ "status": "running" }))["count"], 0);
    // The server is as well as before.
    assert_eq!(list(&mut client, json!({ "status": "failed" }))["tasks"][0]["task_id"], id);
    assert!(client.end().status.success());
}

#[test]
fn us1_4_a_refusal_is_told_as_what_it_is_and_not_repeated() {
    let explorer = Explorer::who_waits(PATIENTLY);
    explorer.api.on(|input| {
        let status = input.rsplit(' ').next().and_then(|word| word.parse().ok());
        Script::create(Fault::Status(status.expect("a status")))
    });
    for (status, code) in
        [(400, "INVALID_INPUT"), (401, "AUTH_ERROR"), (403, "AUTH_ERROR"), (404, "NOT_FOUND")]
    {
        let question = format!("What is status {status}");
        let refused = started(&explorer, &question);
        assert_error(&refused, code, &["research-gemini", "The stand-in was told to"]);
        assert_eq!(refused["status"], "failed");
        assert_eq!(explorer.api.log().creates(&question), 1);
    }
    let mut client = explorer.connect();
    assert_eq!(list(&mut client, json!({ "status": "running" }))["count"], 0);
}

#[test]
fn us1_4_a_missing_or_wrong_key_says_which_variable_is_meant() {
    for key in ["", WRONG_KEY] {
        let explorer = Explorer::who_waits(PATIENTLY).with_variable("GEMINI_API_KEY", key);
        let refused = started(&explorer, QUESTION);
        assert_error(&refused, "AUTH_ERROR", &[]);
        let said = refused["error"].to_string();
        assert!(said.contains("GEMINI_API_KEY"), "{said}");
        assert!(!said.contains(WRONG_KEY), "{said}");
        assert!(explorer.api.log().inputs().is_empty());
    }
}

#[test]
fn us1_4_a_model_that_does_not_exist_is_named() {
    let explorer = Explorer::who_waits(PATIENTLY);
    let mut client = explorer.connect();
    let arguments = json!({ "query": QUESTION, "model": "deep-research-of-tomorrow" });
    let refused = ask(&mut client, "start_deep_research", arguments);
    assert_error(&refused, "NOT_FOUND", &["deep-research-of-tomorrow"]);
    assert!(explorer.api.log().inputs().is_empty());
}

#[test]
fn us1_4_a_rate_limit_that_passes_is_waited_for() {
    let explorer = Explorer::who_waits(PATIENTLY);
    explorer.api.on(|_| Script::create(Fault::RateLimited(1)));
    let started = started(&explorer, QUESTION);
    assert_eq!(started["status"], "completed", "{started:#}");
    let log = explorer.api.log();
    assert_eq!((log.creates(QUESTION), log.ids(QUESTION).len()), (2, 1));
}

#[test]
fn us1_4_a_rate_limit_that_does_not_pass_is_told() {
    let explorer = Explorer::who_waits(PATIENTLY);
    explorer.api.on(|input| {
        let seconds = if input == QUESTION { 0 } else { 3600 };
        Script { creates: vec![Fault::RateLimited(seconds); 9], ..Script::default() }
    });
    for (question, attempts) in [(QUESTION, 3), ("And tomorrow?", 1)] {
        let limited = started(&explorer, question);
        assert_error(&limited, "RATE_LIMITED", &["research-gemini"]);
        let log = explorer.api.log();
        assert_eq!((log.creates(question), log.ids(question).len()), (attempts, 0));
    }
}

#[test]
fn the_model_of_the_asker_goes_before_the_configured_one() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    for (question, model) in [
        ("Which one?", Some("deep-research-max-preview-04-2026")),
        ("Which other?", Some("  ")),
        ("Which else?", None),
    ] {
        let arguments = match model {
            Some(model) => json!({ "query": question, "model": model }),
            None => json!({ "query": question }),
        };
        ask(&mut client, "start_deep_research", arguments);
        let log = explorer.api.wait_for("a start", |log| log.creates(question) == 1);
        let asked = log.0.iter().find(|entry| &*entry.input == question).unwrap();
        let model = model.filter(|model| !model.trim().is_empty());
        assert_eq!(asked.agent.as_deref(), model.or(Some("deep-research-preview-04-2026")));
    }
}

/// Whoever starts twice wants it twice; the same question has two tasks.
#[test]
fn each_start_is_a_task_of_its_own() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    let ids = [start(&mut client, QUESTION), start(&mut client, QUESTION)];
    assert_ne!(ids[0], ids[1]);
    for id in &ids {
        wait_for_status(&mut client, id, "completed");
    }
    assert_eq!(explorer.api.log().ids(QUESTION).len(), 2);
}
