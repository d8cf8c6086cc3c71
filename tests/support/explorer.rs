//! A user who hands questions to Gemini Deep Research, which is a stand-in: a home,
//! a key, and servers and commands that share one database.

use std::ffi::OsStr;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Client, LEGACY_NEW};
use super::home::Home;
use super::interactions::Interactions;
use super::program::{self, DEADLINE, Finished};
use super::researcher::structured;

pub struct Explorer {
    pub home: Home,
    pub api: Arc<Interactions>,
}

/// Looks at jobs come quickly, and a start waits for nothing unless a test says so.
const QUICK: &str = "[research]\npoll_seconds = 0.05\nwait_seconds = 0\n";

impl Explorer {
    pub fn new() -> Self {
        Self::with_config("")
    }

    /// Who names a plugins.toml with this text beside the quick looks.
    pub fn with_config(text: &str) -> Self {
        Self {
            home: Home::with_config(&format!("{QUICK}\n{text}")),
            api: Arc::new(Interactions::start()),
        }
    }

    /// Whose start waits for so long.
    pub fn who_waits(seconds: f64) -> Self {
        let config = format!("[research]\npoll_seconds = 0.05\nwait_seconds = {seconds}\n");
        Self { home: Home::with_config(&config), api: Arc::new(Interactions::start()) }
    }

    /// Who has configured this of research, and nothing else.
    #[allow(dead_code, reason = "the benchmarks look less often")]
    pub fn with_research(text: &str) -> Self {
        let home = Home::with_config(&format!("[research]\n{text}"));
        Self { home, api: Arc::new(Interactions::start()) }
    }

    pub fn command<I, S>(&self, arguments: I) -> Command
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let mut command = self.home.command(arguments);
        command.envs(self.api.environment());
        command
    }

    #[track_caller]
    pub fn run<I, S>(&self, arguments: I) -> Finished
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        program::run(&mut self.command(arguments))
    }

    /// A server, and a session with it.
    #[track_caller]
    pub fn connect(&self) -> Client {
        let mut client = Client::start(self.command(["serve"]));
        client.initialize(LEGACY_NEW);
        client
    }
}

/// Calls a tool, and returns its structured result.
#[track_caller]
pub fn ask(client: &mut Client, tool: &str, arguments: Value) -> Value {
    structured(&client.call_tool(tool, arguments))
}

/// Starts research, and returns the task's id.
#[track_caller]
pub fn start(client: &mut Client, query: &str) -> String {
    let started = ask(client, "start_deep_research", json!({ "query": query }));
    started["task_id"].as_str().unwrap_or_else(|| panic!("no task: {started:#}")).to_owned()
}

#[track_caller]
pub fn status(client: &mut Client, id: &str) -> Value {
    ask(client, "check_research_status", json!({ "task_id": id }))
}

/// Asks until the task stands so, and returns its status.
#[track_caller]
pub fn wait_for_status(client: &mut Client, id: &str, wanted: &str) -> Value {
    let begun = Instant::now();
    loop {
        let status = status(client, id);
        if status["status"] == wanted {
            return status;
        }
        assert!(begun.elapsed() < DEADLINE, "`{wanted}` did not come: {status:#}");
        thread::sleep(Duration::from_millis(20));
    }
}
