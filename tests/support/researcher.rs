//! A user who researches with a fake Gemini CLI: a home, the CLI in PATH, a key, and
//! a directory for temporary files that nobody else writes to.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Client, Ended, LEGACY_NEW};
use super::gemini_cli::{FakeCli, Recorded};
use super::home::Home;
use super::program::{self, DEADLINE, Finished};

/// The key of every researcher; it is looked for where it must not be.
pub const KEY: &str = "canary-key-b7e1f0c2";

/// Longer than it takes to remove a directory whose program has ended.
const REMOVAL: Duration = Duration::from_secs(10);

pub struct Researcher {
    pub home: Home,
    pub fake: FakeCli,
    variables: Vec<(String, OsString)>,
}

impl Researcher {
    pub fn new() -> Self {
        Self::with_config("")
    }

    /// Who names a plugins.toml with this text.
    pub fn with_config(text: &str) -> Self {
        let researcher =
            Self { home: Home::with_config(text), fake: FakeCli::new(), variables: Vec::new() };
        fs::create_dir(researcher.temporary()).expect("a fresh directory");
        researcher
    }

    /// With this variable in the environment of every command.
    pub fn with_variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    /// What the program is told to use for temporary files.
    pub fn temporary(&self) -> PathBuf {
        self.home.path().join("tmp")
    }

    /// What is there now: a directory for each run of the CLI.
    pub fn temporary_entries(&self) -> Vec<PathBuf> {
        entries(&self.temporary())
    }

    /// The user's configuration directory.
    pub fn configuration(&self) -> PathBuf {
        self.home.path().join("config/bathysphere")
    }

    pub fn command<I, S>(&self, arguments: I) -> Command
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let mut command = self.home.command(arguments);
        command
            .env("PATH", self.fake.search_path())
            .env("TMPDIR", self.temporary())
            .env("GEMINI_API_KEY", KEY)
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
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

    /// Asks one question of a server of its own: the answer, the progress that was
    /// told of it, and how the server ended.
    #[track_caller]
    pub fn ask(&self, tool: &str, arguments: Value) -> Asked {
        let mut client = self.connect();
        let id = client.begin(tool, arguments);
        let answer = structured(&client.answer(id));
        let progress = messages(&client.kept("notifications/progress"));
        Asked { answer, progress, ended: client.end() }
    }

    /// `deep_search` with nothing but a question.
    #[track_caller]
    pub fn deep_search(&self, query: &str) -> Asked {
        self.ask("deep_search", json!({ "query": query }))
    }

    /// What `history` lists, newest first.
    #[track_caller]
    pub fn history(&self) -> Vec<Value> {
        let listed = self.run(["history", "--json"]).assert_success().json();
        listed.as_array().expect("a list").clone()
    }

    /// Waits until the newest task stands so, and returns it.
    #[track_caller]
    pub fn wait_for_status(&self, statuses: &[&str]) -> Value {
        let start = Instant::now();
        loop {
            let task = self.history().into_iter().next().expect("there is a task");
            if statuses.iter().any(|status| task["status"] == *status) {
                return task;
            }
            assert!(start.elapsed() < DEADLINE, "{statuses:?} did not come: {task:#}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until no run of the CLI is left, nor a directory of one, nor text that
    /// was to be corrected. Returns the runs.
    #[track_caller]
    pub fn wait_until_nothing_is_left(&self) -> Vec<Recorded> {
        let runs = self.fake.wait_until_all_are_gone();
        let start = Instant::now();
        loop {
            let mut left = self.temporary_entries();
            left.extend(self.texts_to_correct());
            if left.is_empty() {
                return runs;
            }
            assert!(start.elapsed() < REMOVAL, "left behind: {left:?}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Every file that waits for correction.
    pub fn texts_to_correct(&self) -> Vec<PathBuf> {
        let place = self.configuration().join("corrections");
        entries(&place).iter().flat_map(|directory| entries(directory)).collect()
    }
}

/// One question, asked of a server of its own.
#[derive(Debug)]
pub struct Asked {
    /// The structured content.
    pub answer: Value,
    pub progress: Vec<String>,
    pub ended: Ended,
}

impl Asked {
    /// The lines of the log that begin so.
    pub fn log(&self, start: &str) -> Vec<&str> {
        self.ended.stderr.lines().filter(|line| line.starts_with(start)).collect()
    }
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// What a tool returned for programs; its text says the same for people.
#[track_caller]
pub fn structured(answer: &Value) -> Value {
    let structured = &answer["result"]["structuredContent"];
    assert!(structured.is_object(), "a tool's answer has structured content: {answer:#}");
    let failed = answer["result"]["isError"] == true;
    assert_eq!(structured["success"] == false, failed, "{answer:#}");
    structured.clone()
}

/// The words of progress notifications, whose numbers only ever rise.
#[track_caller]
pub fn messages(notifications: &[Value]) -> Vec<String> {
    let steps: Vec<f64> =
        notifications.iter().filter_map(|one| one["params"]["progress"].as_f64()).collect();
    assert!(steps.is_sorted_by(|one, next| one < next), "{notifications:#?}");
    notifications
        .iter()
        .filter_map(|one| one["params"]["message"].as_str().map(str::to_owned))
        .collect()
}

/// What a model answers when it keeps to the form.
pub struct Reply<'a> {
    pub report: &'a str,
    pub verified: Option<bool>,
    pub sources: &'a [&'a str],
    pub queries: &'a [&'a str],
    pub summary: &'a str,
}

impl Reply<'_> {
    pub fn text(&self) -> String {
        let mut reply = json!({
            "success": true,
            "report": self.report,
            "metadata": {
                "sources_visited": self.sources,
                "search_queries_used": self.queries,
                "summary": self.summary,
            },
        });
        if let Some(verified) = self.verified {
            reply["verified"] = verified.into();
        }
        format!("```json\n{reply:#}\n```\n")
    }
}

/// The report of a round, with one source, one query and a summary that are made
/// from its words.
pub fn report(report: &str, verified: bool) -> String {
    Reply {
        report,
        verified: Some(verified),
        sources: &[&format!("https://{}.example/", report.to_lowercase().replace(' ', "-"))],
        queries: &[&format!("query for {report}")],
        summary: &format!("Summary of {report}"),
    }
    .text()
}

/// The answer of one round that nobody checks.
pub fn plain_report(report: &str) -> String {
    Reply {
        report,
        verified: None,
        sources: &["https://log.example/"],
        queries: &["record dive"],
        summary: "As deep as it went.",
    }
    .text()
}

/// Whether a run was to correct what could not be read.
pub fn is_correction(run: &Recorded) -> bool {
    run.input.as_deref().is_some_and(|prompt| prompt.contains("You are a JSON formatter"))
}

/// The file that a correction was told to read.
#[track_caller]
pub fn file_to_correct(run: &Recorded) -> PathBuf {
    let prompt = run.input.as_deref().expect("a prompt");
    let line = prompt.lines().find(|line| line.contains("temp-invalid-output-"));
    PathBuf::from(line.unwrap_or_else(|| panic!("no file is named:\n{prompt}")).trim())
}

/// The JSON that a prompt shows as an example.
#[track_caller]
pub fn example_in(prompt: &str) -> Value {
    let example = prompt.split("```json\n").nth(1).and_then(|rest| rest.split("\n```").next());
    let example = example.unwrap_or_else(|| panic!("no example:\n{prompt}"));
    serde_json::from_str(example).unwrap_or_else(|error| panic!("{error}: {example}"))
}

/// The part of a prompt between the lines that fence it in, without their number.
#[track_caller]
pub fn fenced<'a>(prompt: &'a str, label: &str) -> &'a str {
    let open = format!("=== BEGIN {label} ");
    let (_, rest) =
        prompt.split_once(&open).unwrap_or_else(|| panic!("no fence around {label}:\n{prompt}"));
    let (first, rest) = rest.split_once('\n').expect("a line");
    let number = first.split(' ').next().expect("a number");
    let close = format!("\n=== END {label} {number} ===");
    let (text, _) =
        rest.split_once(&close).unwrap_or_else(|| panic!("{close:?} is missing:\n{prompt}"));
    text
}
