//! What is easily forgotten at the end: the interaction of a task that is cancelled
//! while it is being started, and what a worker has to do when no task runs any more.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::explorer::{Explorer, ask, start, status};
use crate::support::interactions::{Fault, Script, Until};

const QUERY: &str = "What is a TPU?";

/// The vendor takes the question, and says so later.
fn slow_start() -> Script {
    Script {
        creates: vec![Fault::Delay(Duration::from_millis(1500))],
        ..Script::until(Until::Never)
    }
}

#[test]
fn what_is_cancelled_while_it_is_being_started_is_ended_at_the_vendor() {
    for by_another in [false, true] {
        let explorer = Explorer::new();
        explorer.api.on(|_| slow_start());
        let mut first = explorer.connect();
        let mut second = explorer.connect();
        let id = start(&mut first, QUERY);
        explorer.api.wait_for("a start", |log| log.creates(QUERY) == 1);
        let canceller = if by_another { &mut second } else { &mut first };
        let cancelled = ask(canceller, "cancel_research", json!({ "task_id": id }));
        assert_eq!(cancelled["success"], true, "{cancelled:#}");
        assert_eq!(cancelled["vendor"], "told_later", "{cancelled:#}");
        let log = explorer.api.wait_for("the vendor's cancel", |log| {
            log.ids(QUERY).first().is_some_and(|job| log.cancels(job) == 1)
        });
        assert_eq!(log.creates(QUERY), 1);
        assert_eq!(status(&mut first, &id)["status"], "cancelled");
    }
}

#[test]
fn a_worker_is_done_when_vendor_and_user_have_been_told() {
    let hook = "[notify]\ndesktop = false\ncommand = [\"sh\", \"-c\", 'echo told >> told.txt']\n";
    let explorer = Explorer::with_config(hook);
    explorer.api.on(|input| {
        if input.contains("never") { slow_start() } else { Script::until(Until::Released) }
    });
    let mut client = explorer.connect();
    let unwanted = start(&mut client, "never");
    start(&mut client, QUERY);
    explorer.api.wait_for("both starts", |log| {
        log.creates("never") == 1 && log.ids(QUERY).first().is_some_and(|id| log.polls(id) > 0)
    });
    ask(&mut client, "cancel_research", json!({ "task_id": unwanted }));
    // The vendor's name for it is known, but it was not told.
    let database =
        rusqlite::Connection::open(explorer.home.data().join("bathysphere/bathysphere.sqlite3"))
            .unwrap();
    database.busy_timeout(Duration::from_secs(20)).unwrap();
    let known = "SELECT 1 FROM jobs WHERE task_id = ?1";
    wait_until("its name", || database.prepare(known).unwrap().exists([&unwanted]).unwrap());
    client.kill();
    database
        .execute(
            "UPDATE jobs SET cancel = 'wanted', updated_at = 0 WHERE task_id = ?1",
            [&unwanted],
        )
        .unwrap();
    explorer.api.release(QUERY);
    explorer.run(["worker", "--until-done"]).assert_success();
    let log = explorer.api.log();
    assert!(log.cancels(&log.ids("never")[0]) >= 1);
    let untold = "SELECT 1 FROM tasks WHERE status = 'completed' AND notified_at IS NULL";
    assert!(!database.prepare(untold).unwrap().exists([]).unwrap());
    // Whoever tells the user is a process of its own.
    let told = explorer.home.path().join("told.txt");
    wait_until("the user's notification", || {
        fs::read_to_string(&told).is_ok_and(|told| told == "told\n")
    });
}

#[track_caller]
fn wait_until(what: &str, done: impl Fn() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what} did not come");
        thread::sleep(Duration::from_millis(5));
    }
}
