//! The user's documents: reading 100 MB of Markdown, keeping up with a change,
//! answering, and what it takes in memory.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::corpus::{self, Corpus};
use crate::figures::{
    at_least, at_most, largest, left_out, median, megabytes, memory, plain, time,
};
use crate::support::client::{Client, LEGACY_NEW, text_of};
use crate::support::home::Home;

/// How much Markdown, in megabytes; `BATHYSPHERE_BENCH_MB` says otherwise.
const MEGABYTES: usize = 100;
const PATIENCE: Duration = Duration::from_mins(10);

pub fn run() {
    let size = std::env::var("BATHYSPHERE_BENCH_MB")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(MEGABYTES);
    let corpus = Corpus::generate(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("corpus"), size);
    let home = Home::new();
    let mut client = home.serve(corpus.path());
    client.be_patient(PATIENCE);
    client.initialize(LEGACY_NEW);

    let first = search(&mut client, &corpus.query(0));
    let warm: Vec<Duration> =
        (1..=25).map(|number| search(&mut client, &corpus.query(number))).collect();
    let indexing = first.as_secs_f64() - median(&warm);
    let speed = corpus.bytes() as f64 / 1e6 / indexing;
    plain("documents", &format!("{} files, {}", corpus.files(), megabytes(corpus.bytes())));
    plain("indexed in", &time(indexing));
    at_least("speed of indexing", &format!("{speed:.1} MB/s"), speed, 10.0, "10 MB/s, better 20");
    at_most(
        "a question, warm",
        &format!("{} (max {})", time(median(&warm)), time(largest(&warm))),
        median(&warm),
        0.1,
        "100 ms",
    );

    let word = corpus.change_one_file();
    let began = Instant::now();
    let answer = client.call_tool("search", json!({ "query": word }));
    let updated = began.elapsed().as_secs_f64();
    assert!(
        text_of(&answer).contains(corpus::CHANGED_FILE),
        "the change was not found: {answer:#}"
    );
    at_most("a question after one changed file", &time(updated), updated, 1.0, "1 s");

    match memory(client.pid(), "status", "VmHWM") {
        Some(peak) => {
            at_most("memory at its peak", &megabytes(peak), peak as f64, 150e6, "150 MB");
        }
        None => left_out("memory at its peak", "this system has no /proc"),
    }
    client.end();

    // A process that comes later finds the index ready.
    let began = Instant::now();
    let mut client = home.serve(corpus.path());
    client.be_patient(PATIENCE);
    client.initialize(LEGACY_NEW);
    search(&mut client, &corpus.query(26));
    plain("start to first answer on the index", &time(began.elapsed().as_secs_f64()));
    if let Some(peak) = memory(client.pid(), "status", "VmHWM") {
        plain("  memory at its peak", &megabytes(peak));
    }
    client.end();
}

fn search(client: &mut Client, query: &str) -> Duration {
    let began = Instant::now();
    let answer = client.call_tool("search", json!({ "query": query }));
    let elapsed = began.elapsed();
    assert_ne!(answer["result"]["isError"], true, "{answer:#}");
    assert!(text_of(&answer).contains(".md"), "nothing was found for {query:?}: {answer:#}");
    elapsed
}
