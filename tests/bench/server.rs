//! The MCP server: starting, answering for the first time, idling, ending; beside
//! a FastMCP server that can only say hello, measured in the same run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::figures::{at_most, largest, left_out, median, megabytes, memory, plain, time};
use crate::support::client::{Client, Ended, LEGACY_NEW};
use crate::support::documents::Documents;
use crate::support::home::Home;
use crate::support::packages::python_environment;

const RUNS: usize = 30;
const REFERENCE_RUNS: usize = 5;

/// Start to the answer of `initialize`, and to the answer of the first tool call.
struct Start {
    initialized: Duration,
    answered: Duration,
}

pub fn run() {
    let (home, documents) = (Home::new(), Documents::new());
    let serve = || home.serve_command(documents.path());
    let question =
        json!({ "name": "search", "arguments": { "query": "how long are backups kept" } });
    // The first start compiles the plugins and indexes the documents.
    let cold = start(serve(), &question);

    let starts: Vec<Start> = (0..RUNS).map(|_| start(serve(), &question)).collect();
    let initialized: Vec<Duration> = starts.iter().map(|start| start.initialized).collect();
    let answered: Vec<Duration> = starts.iter().map(|start| start.answered).collect();
    plain("start to initialize, plugins to be compiled", &time(cold.initialized.as_secs_f64()));
    plain("start to first tool answer, the same", &time(cold.answered.as_secs_f64()));
    plain("start to initialize, warm cache", &time(median(&initialized)));
    plain("  the slowest of them", &time(largest(&initialized)));
    plain("start to first tool answer, warm cache", &time(median(&answered)));
    compare(&initialized, &answered);

    idle(serve());
    end("end of input to exit", Client::end, &serve);
    end("SIGTERM to exit", Client::terminate, &serve);
}

fn start(command: Command, question: &Value) -> Start {
    let began = Instant::now();
    let mut client = Client::start(command);
    client.initialize(LEGACY_NEW);
    let initialized = began.elapsed();
    let answer = client.call("tools/call", question.clone());
    let answered = began.elapsed();
    assert_ne!(answer["result"]["isError"], true, "{answer:#}");
    assert!(answer.get("error").is_none(), "{answer:#}");
    client.end();
    Start { initialized, answered }
}

/// The ratios to the reference server.
fn compare(initialized: &[Duration], answered: &[Duration]) {
    let python = match python_environment("fastmcp", &sources().join("requirements.txt")) {
        Ok(python) => python,
        Err(reason) => return left_out("comparison with FastMCP", &reason),
    };
    let hello = || {
        let mut command = Command::new(&python);
        command.arg(sources().join("hello.py"));
        command
    };
    let question = json!({ "name": "hello", "arguments": { "name": "world" } });
    // The first start writes Python's own cache.
    start(hello(), &question);
    let starts: Vec<Start> = (0..REFERENCE_RUNS).map(|_| start(hello(), &question)).collect();
    let reference: Vec<Duration> = starts.iter().map(|start| start.initialized).collect();
    let reference_answered: Vec<Duration> = starts.iter().map(|start| start.answered).collect();
    plain("FastMCP: start to initialize", &time(median(&reference)));
    plain("FastMCP: start to first tool answer", &time(median(&reference_answered)));
    let ratio = median(&reference) / median(initialized);
    at_most(
        "initialize, as a part of FastMCP's",
        &format!("1/{ratio:.0}"),
        1.0 / ratio,
        1.0 / 30.0,
        "1/30, better 1/100",
    );
    let ratio = median(&reference_answered) / median(answered);
    plain("first tool answer, as a part of FastMCP's", &format!("1/{ratio:.0}"));
}

fn idle(command: Command) {
    let mut client = Client::start(command);
    client.initialize(LEGACY_NEW);
    // What is compiled or loaded in the background has ended by then.
    client.call("tools/list", json!({}));
    std::thread::sleep(Duration::from_secs(1));
    let Some(resident) = memory(client.pid(), "status", "VmRSS") else {
        return left_out("memory of the idle server", "this system has no /proc");
    };
    at_most(
        "resident memory of the idle server",
        &megabytes(resident),
        resident as f64,
        40e6,
        "40 MB",
    );
    if let Some(share) = memory(client.pid(), "smaps_rollup", "Pss") {
        plain("  its share of it (Pss)", &megabytes(share));
    }
    client.call_tool("search", json!({ "query": "how long are backups kept" }));
    if let Some(resident) = memory(client.pid(), "status", "VmRSS") {
        plain("  after a search", &megabytes(resident));
    }
    client.end();
}

fn end(what: &str, end: fn(Client) -> Ended, serve: &dyn Fn() -> Command) {
    let times: Vec<Duration> = (0..10)
        .map(|_| {
            let mut client = Client::start(serve());
            client.initialize(LEGACY_NEW);
            client.call_tool("search", json!({ "query": "how long are backups kept" }));
            end(client).elapsed
        })
        .collect();
    at_most(what, &time(median(&times)), largest(&times), 0.2, "200 ms at the longest");
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/bench")
}
