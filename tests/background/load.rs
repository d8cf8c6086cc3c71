//! Many tasks at once, and many that were. How long it takes is measured by the
//! benchmark `background`.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::explorer::{Explorer, ask, start, status};
use crate::support::interactions::{Script, Until};
use crate::support::program::DEADLINE;

#[test]
fn two_hundred_tasks_at_once_all_finish() {
    const TASKS: usize = 200;
    let explorer = Explorer::new();
    explorer.api.on(|_| Script::until(Until::Released));
    let mut client = explorer.connect();
    let questions: Vec<String> =
        (0..TASKS).map(|number| format!("What is number {number}?")).collect();
    // All of them run before the first may end.
    let ids: Vec<String> = questions.iter().map(|question| start(&mut client, question)).collect();
    explorer
        .api
        .wait_for("every start", |log| questions.iter().all(|question| log.creates(question) == 1));
    let running = ask(&mut client, "list_research", json!({ "status": "running", "limit": 1000 }));
    assert_eq!(running["count"], TASKS, "{running:#}");

    for question in &questions {
        explorer.api.release(question);
    }
    let begun = Instant::now();
    let completed = json!({ "status": "completed", "limit": 1000 });
    while ask(&mut client, "list_research", completed.clone())["count"] != TASKS {
        assert!(begun.elapsed() < DEADLINE, "not all of them came to their end");
        thread::sleep(Duration::from_millis(100));
    }
    let log = explorer.api.log();
    for (question, id) in questions.iter().zip(&ids) {
        assert_eq!(log.creates(question), 1, "{question}");
        let results = ask(&mut client, "get_research_results", json!({ "task_id": id }));
        assert_eq!(results["success"], true, "{results:#}");
        assert_eq!(results["query"], *question, "each has its own");
    }
    assert_eq!(log.complaints(), [""; 0]);
    assert_eq!(status(&mut client, &ids[0])["status"], "completed");
    client.end();
}
