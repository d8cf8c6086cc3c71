//! Fifty questions at once: as many programs as the limit allows, the rest in a queue
//! that can be seen, and nothing left when all is done.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::support::client::Client;
use crate::support::gemini_cli::{Recorded, Run};
use crate::support::researcher::{Reply, Researcher, messages, structured};

const CALLS: usize = 50;
const AT_ONCE: usize = 8;
/// Runs of the CLI for one question.
const ROUNDS: usize = 2;

/// What a server may grow by over two batches: caches fill up, and an allocator keeps
/// some of what it was given.
const GROWTH: u64 = 64 << 20;

/// Says what the round is of, and takes as long as a model does in this test.
fn round(report: &str, verified: bool) -> Run {
    let reply = Reply {
        report,
        verified: Some(verified),
        sources: &["https://ECHO.example/"],
        queries: &["query for ECHO"],
        summary: "Of ECHO.",
    };
    Run::answers(&reply.text()).echoes().takes(Duration::from_millis(200))
}

/// Asks fifty questions at once, and waits for all of the answers.
fn batch(client: &mut Client, number: usize) {
    let questions: Vec<(u64, String)> = (0..CALLS)
        .map(|call| {
            let word = format!("question-{}", number * 1000 + call);
            let query = format!("What is the answer to {word}?");
            (client.begin("deep_search", json!({ "query": query })), word)
        })
        .collect();
    for (id, word) in &questions {
        let answer = structured(&client.answer(*id));
        assert_eq!(answer["success"], true, "{answer:#}");
        assert_eq!(answer["result"], format!("Checked {word}"));
        assert_eq!(answer["verified"], true);
        assert_eq!(answer["metadata"]["iterations"], ROUNDS);
        assert_eq!(
            answer["metadata"]["sources_visited"],
            json!([format!("https://{word}.example/")])
        );
    }
    let progress = client.kept("notifications/progress");
    let queued: BTreeSet<u64> = progress
        .iter()
        .filter(|told| {
            told["params"]["message"].as_str().is_some_and(|text| text.contains("queued"))
        })
        .filter_map(|told| told["params"]["progressToken"].as_u64())
        .filter(|token| questions.iter().any(|(id, _)| id == token))
        .collect();
    // A place may come free before the word of the queue is out, but not for most.
    assert!(queued.len() >= CALLS / 2, "{queued:?} were told that they wait");
    for (id, _) in &questions {
        let of_this: Vec<_> = progress
            .iter()
            .filter(|told| told["params"]["progressToken"] == *id)
            .cloned()
            .collect();
        let told = messages(&of_this);
        assert!(told.iter().any(|text| text == "Deep search completed: 2 rounds, verified: true"));
    }
}

/// How many ran at the same time, at the most.
fn most_at_once(runs: &[Recorded]) -> usize {
    let mut moments: Vec<(SystemTime, bool)> = runs
        .iter()
        .flat_map(|run| {
            let (start, end) = run.time.expect("it came to its end");
            [(start, true), (end, false)]
        })
        .collect();
    // Of the same moment, the end comes first: false is less than true.
    moments.sort();
    let mut running = 0_usize;
    let counts = moments.iter().map(|(_, starts)| {
        running = if *starts { running + 1 } else { running.saturating_sub(1) };
        running
    });
    counts.max().unwrap_or(0)
}

/// What a leak would add to, where the system tells it.
#[derive(Debug, Clone, Copy)]
struct Figures {
    resident_bytes: u64,
    open_files: usize,
}

impl Figures {
    fn of(client: &Client) -> Option<Self> {
        let process = PathBuf::from(format!("/proc/{}", client.pid()));
        let status = fs::read_to_string(process.join("status")).ok()?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kilobytes: u64 = resident.trim().strip_suffix(" kB")?.parse().ok()?;
        let open_files = fs::read_dir(process.join("fd")).ok()?.count();
        Some(Self { resident_bytes: kilobytes << 10, open_files })
    }
}

#[test]
fn fifty_calls_at_once_leak_neither_processes_nor_files_nor_memory() {
    let user = Researcher::with_config(&format!(
        "[plugins.agent-gemini-cli.limits]\nconcurrency = {AT_ONCE}\n"
    ));
    user.fake
        .when("You are a sceptical fact-checker", &round("Checked ECHO", true))
        .otherwise(&round("Draft ECHO", false));
    let mut client = user.connect();
    let mut figures = Vec::new();
    for number in 1..=3 {
        batch(&mut client, number);
        let runs = user.wait_until_nothing_is_left();
        assert_eq!(runs.len(), number * CALLS * ROUNDS);
        figures.extend(Figures::of(&client));
        if number == 1 {
            let most = most_at_once(&runs);
            assert!((2..=AT_ONCE).contains(&most), "{most} at once");
        }
    }
    assert_eq!(figures.len(), if cfg!(target_os = "linux") { 3 } else { 0 });
    if let [first, _, last] = figures[..] {
        let most = first.resident_bytes + GROWTH;
        assert!(last.resident_bytes < most, "memory grew: {figures:?}");
        assert!(last.open_files <= first.open_files + 8, "open files grew: {figures:?}");
    }
    assert!(client.end().status.success());
    let tasks = user.run(["history", "--json", "--limit", "1000"]).assert_success().json();
    let tasks = tasks.as_array().expect("a list");
    assert_eq!(tasks.len(), 3 * CALLS);
    assert!(tasks.iter().all(|task| task["status"] == "completed"));
}
