//! The non-functional requirements and performance metrics. How fast it is on a calm
//! machine is measured by `cargo bench -- background`; here the bounds are wide, so
//! that they hold on a busy one.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::client::Client;
use crate::support::explorer::{Explorer, ask, results, start, status, wait_for_status};
use crate::support::home::Home;
use crate::support::interactions::{Script, Until};

const QUESTION: &str = "How do tide tables compare?";

#[test]
fn nfr_001_pm_001_the_waiting_time_is_25_seconds_and_never_30() {
    let usual = Home::new().run(["config"]).assert_success();
    let line = usual.stdout.lines().find(|line| line.contains("wait_seconds = 25"));
    assert!(line.is_some(), "{}", usual.transcript());
    for seconds in ["30", "29.5", "-1", "\"long\""] {
        let home = Home::with_config(&format!("[research]\nwait_seconds = {seconds}\n"));
        let refused = home.run(["config"]).assert_failure();
        assert!(refused.stderr.contains("wait_seconds"), "{}", refused.transcript());
    }
}

#[test]
fn nfr_002_a_vendor_that_takes_its_time_to_answer_does_not_delay_the_task_id() {
    use crate::support::interactions::Fault;
    let explorer = Explorer::who_waits(1.0);
    explorer.api.on(|_| Script::create(Fault::Hang));
    let mut client = explorer.connect();
    let begun = Instant::now();
    let started = ask(&mut client, "start_deep_research", json!({ "query": QUESTION }));
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert_eq!(started["status"], "running_async", "{started:#}");
    assert!(started["task_id"].is_string());
    client.kill();
}

#[test]
fn nfr_003_pm_002_a_status_is_told_at_once() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script::until(Until::Never));
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    explorer.wait_for_looks(QUESTION, 1);
    let begun = Instant::now();
    for _ in 0..100 {
        assert_eq!(status(&mut client, &id)["status"], "running_async");
    }
    // 100 ms each, on a busy machine and in a debug build.
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[test]
fn nfr_004_pm_003_the_notification_comes_soon_after_the_end() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script::until(Until::Released));
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    explorer.wait_for_looks(QUESTION, 1);
    explorer.api.release(QUESTION);
    wait_for_status(&mut client, &id, "completed");
    let ended = Instant::now();
    explorer.wait_until_told(&id);
    // 2 s, and the rest for a busy machine that starts another process.
    assert!(ended.elapsed() < Duration::from_secs(20), "{:?}", ended.elapsed());
}

#[test]
fn nfr_005_pm_004_a_long_report_is_saved_soon() {
    let explorer = Explorer::new();
    let paragraph = "The tide rises and falls twice a day at most coasts [cite: 1, 2].\n\n";
    let report = format!("# Tides\n\n{}", paragraph.repeat(3000));
    assert!(report.len() > 190_000);
    explorer.api.on(move |_| Script { report: Some(report.clone()), ..Script::default() });
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    wait_for_status(&mut client, &id, "completed");
    let begun = Instant::now();
    let saved = ask(&mut client, "save_research_to_markdown", json!({ "task_id": id }));
    assert_eq!(saved["success"], true, "{saved:#}");
    // 100 ms in a release build.
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn nfr_006_many_tasks_run_at_the_same_time() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script::until(Until::Released));
    let mut client = explorer.connect();
    let questions: Vec<String> = (0..20).map(|number| format!("Question {number}?")).collect();
    let ids: Vec<String> = questions.iter().map(|question| start(&mut client, question)).collect();
    // All of them are at the vendor before the first has ended.
    for question in &questions {
        explorer.wait_for_looks(question, 1);
    }
    // And one that takes long holds up nobody.
    for question in questions[1..].iter().rev() {
        explorer.api.release(question);
    }
    for (id, question) in ids.iter().zip(&questions).skip(1) {
        wait_for_status(&mut client, id, "completed");
        assert_eq!(results(&mut client, id)["query"], *question);
        assert_eq!(explorer.api.log().creates(question), 1);
    }
    assert_eq!(status(&mut client, &ids[0])["status"], "running_async");
    explorer.api.release(&questions[0]);
    wait_for_status(&mut client, &ids[0], "completed");
}

#[test]
fn nfr_007_unfinished_tasks_are_taken_up_at_the_next_start() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script::until(Until::Released));
    let mut client = explorer.connect();
    let questions = ["One?", "Two?", "Three?"];
    let ids = questions.map(|question| start(&mut client, question));
    for question in questions {
        explorer.wait_for_looks(question, 1);
    }
    client.kill();
    let looks = |explorer: &Explorer, question: &str| {
        let log = explorer.api.log();
        log.polls(&log.ids(question)[0])
    };
    let before = questions.map(|question| looks(&explorer, question));
    let mut client: Client = explorer.connect();
    for (question, before) in questions.iter().zip(before) {
        explorer.wait_for_looks(question, before + 1);
        explorer.api.release(question);
    }
    for id in &ids {
        wait_for_status(&mut client, id, "completed");
    }
}
