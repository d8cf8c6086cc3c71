//! Research that outlives the call: how soon a handle comes, how soon a status is
//! told, and how soon the user hears of the end. The names of the requirements stand
//! beside the figures.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::figures::{at_most, largest, median, plain, time};
use crate::support::client::Client;
use crate::support::explorer::{
    Explorer, PATIENTLY, ask, start, status, wait_for, wait_for_status,
};
use crate::support::interactions::{Script, Until};

const QUESTION: &str = "How do tide tables compare?";

pub fn run() {
    starting();
    looking();
    telling();
    saving();
}

/// The part of the measurements that is not above it.
fn percentile(measurements: &[Duration], part: f64) -> f64 {
    let mut seconds: Vec<f64> = measurements.iter().map(Duration::as_secs_f64).collect();
    seconds.sort_by(f64::total_cmp);
    let index = (seconds.len() as f64 * part) as usize;
    seconds.get(index.min(seconds.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

fn measured(mut call: impl FnMut()) -> Duration {
    let began = Instant::now();
    call();
    began.elapsed()
}

fn starting() {
    // With the waiting time that it has where nothing is said.
    let explorer = Explorer::waiting(25.0, "");
    explorer.api.on(|input| match input {
        QUESTION => Script::until(Until::Never),
        _ => Script::until(Until::AtOnce),
    });
    let mut client = explorer.connect();
    let mut answer = Value::Null;
    let waited = measured(|| {
        answer = ask(&mut client, "start_deep_research", json!({ "query": QUESTION }));
    });
    assert_eq!(answer["status"], "running_async", "{answer:#}");
    at_most(
        "NFR-001, NFR-002, PM-001: start to task_id",
        &time(waited.as_secs_f64()),
        waited.as_secs_f64(),
        30.0,
        "30 s",
    );
    let explorer = Explorer::who_waits(PATIENTLY);
    explorer.api.on(|_| Script::until(Until::AtOnce));
    let mut client = explorer.connect();
    let times: Vec<Duration> = (0..20)
        .map(|_| {
            measured(|| {
                let done = ask(&mut client, "start_deep_research", json!({ "query": QUESTION }));
                assert_eq!(done["status"], "completed", "{done:#}");
            })
        })
        .collect();
    plain("  start to the result of what is done at once", &time(median(&times)));
}

fn looking() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    wait_for_status(&mut client, &id, "completed");
    figures("NFR-003, PM-002: a status", &mut client, &id, 0.1, "100 ms");
}

fn figures(what: &str, client: &mut Client, id: &str, bound: f64, wanted: &str) {
    let times: Vec<Duration> = (0..500).map(|_| measured(|| drop(status(client, id)))).collect();
    plain(what, &time(median(&times)));
    let slow = percentile(&times, 0.99);
    at_most("  at the 99th percentile", &time(slow), slow, bound, wanted);
    plain("  the slowest", &time(largest(&times)));
}

fn telling() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script::until(Until::Released));
    let mut client = explorer.connect();
    let times: Vec<Duration> = (0..20)
        .map(|number| {
            let question = format!("Question {number}?");
            let id = start(&mut client, &question);
            explorer.wait_for_looks(&question, 1);
            measured(|| {
                explorer.api.release(&question);
                wait_for("the notification", || {
                    explorer.told().iter().any(|line| line.ends_with(&id)).then_some(())
                });
            })
        })
        .collect();
    plain("NFR-004, PM-003: end at the vendor to notification", &time(median(&times)));
    at_most("  the slowest", &time(largest(&times)), largest(&times), 2.0, "2 s");
}

fn saving() {
    let explorer = Explorer::new();
    let paragraph = "The tide rises and falls twice a day at most coasts.\n\n";
    let report = format!("# Tides\n\n{}", paragraph.repeat(3700));
    explorer.api.on(move |_| Script { report: Some(report.clone()), ..Script::default() });
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    wait_for_status(&mut client, &id, "completed");
    let times: Vec<Duration> = (0..20)
        .map(|_| {
            measured(|| {
                let saved = ask(&mut client, "save_research_to_markdown", json!({ "task_id": id }));
                assert_eq!(saved["success"], true, "{saved:#}");
            })
        })
        .collect();
    plain("NFR-005, PM-004: a report of 200 KB saved, by the tool", &time(median(&times)));
    at_most("  the slowest", &time(largest(&times)), largest(&times), 0.1, "100 ms");
}
