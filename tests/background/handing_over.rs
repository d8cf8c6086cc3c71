//! A task started by one client is seen, finished and read by another.

use serde_json::json;

use crate::support::explorer::{Explorer, ask, start, status, wait_for_status};
use crate::support::interactions::{Script, Until};

#[test]
fn a_result_that_comes_soon_is_returned_at_once() {
    let explorer = Explorer::who_waits(29.0);
    let mut client = explorer.connect();
    let started = ask(&mut client, "start_deep_research", json!({ "query": "What is a TPU?" }));
    assert_eq!(started["success"], true, "{started:#}");
    assert_eq!(started["status"], "completed");
    assert_eq!(started["mode"], "sync");
    assert!(started["results"]["report"].as_str().unwrap().contains("TPU"), "{started:#}");
    assert!(!started["results"]["sources"].as_array().unwrap().is_empty());
    assert!(started["cost_usd"].as_f64().unwrap() > 0.0);
    assert_eq!(explorer.api.log().creates("What is a TPU?"), 1);
}

#[test]
fn a_task_of_one_client_is_seen_finished_and_read_by_another() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script::until(Until::Released));
    let mut first = explorer.connect();
    let mut second = explorer.connect();
    let id = start(&mut first, "What is a TPU?");
    assert_eq!(status(&mut second, &id)["status"], "running_async");
    explorer.api.wait_for("a look", |log| {
        log.ids("What is a TPU?").first().is_some_and(|id| log.polls(id) > 0)
    });
    first.kill();
    explorer.api.release("What is a TPU?");
    let ended = wait_for_status(&mut second, &id, "completed");
    assert!(ended["cost_so_far"].as_f64().unwrap() > 0.0, "{ended:#}");
    let results = ask(&mut second, "get_research_results", json!({ "task_id": id }));
    assert_eq!(results["success"], true, "{results:#}");
    assert!(results["report"].as_str().unwrap().contains("TPU"));
    assert_eq!(explorer.api.log().creates("What is a TPU?"), 1);
}

#[test]
fn a_cancel_by_another_client_reaches_the_vendor() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script::until(Until::Never));
    let mut first = explorer.connect();
    let mut second = explorer.connect();
    let id = start(&mut first, "What is a TPU?");
    let log = explorer.api.wait_for("a look", |log| {
        log.ids("What is a TPU?").first().is_some_and(|id| log.polls(id) > 1)
    });
    let cancelled = ask(&mut second, "cancel_research", json!({ "task_id": id }));
    assert_eq!(cancelled["success"], true, "{cancelled:#}");
    assert_eq!(cancelled["vendor"], "told");
    let job = &log.ids("What is a TPU?")[0];
    assert_eq!(explorer.api.log().cancels(job), 1);
    assert_eq!(status(&mut first, &id)["status"], "cancelled");
}
