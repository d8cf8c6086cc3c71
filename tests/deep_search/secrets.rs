//! The key is in the environment of the CLI, and nowhere else.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::client::Client;
use crate::support::gemini_cli::Run;
use crate::support::researcher::{KEY, Researcher, report};

/// The files beneath a directory that hold these bytes.
fn files_with(directory: &Path, words: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files_with(&path, words, found);
        } else if let Ok(bytes) = fs::read(&path)
            && bytes.windows(words.len()).any(|window| window == words.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
}

#[test]
fn the_key_is_in_the_environment_of_the_cli_and_nowhere_else() {
    let user = Researcher::new()
        .with_variable("AWS_SECRET_ACCESS_KEY", "another-canary")
        .with_variable("GITHUB_TOKEN", "another-canary")
        .with_variable("NODE_OPTIONS", "--require=/tmp/evil.js")
        .with_variable("LD_LIBRARY_PATH", "/nonexistent");
    // A run that ends well, with a correction, and one that does not.
    user.fake
        .then(&Run::answers("This is no JSON."))
        .then(&Run::answers(&report("Corrected", false)))
        .then(&Run::answers(&report("Checked", true)))
        .then(&Run::bad_key());
    let mut command = user.command(["serve"]);
    command.arg("-vv");
    let mut client = Client::start(command);
    let mut said = client.initialize(crate::support::client::LEGACY_NEW).to_string();
    for _ in 0..2 {
        let id = client.begin("deep_search", json!({ "query": "How deep?" }));
        said.push_str(&client.answer(id).to_string());
    }
    let runs = user.wait_until_nothing_is_left();
    assert_eq!(runs.len(), 4);
    for run in &runs {
        let expected = [
            "GEMINI_API_KEY",
            "GEMINI_CLI_NO_RELAUNCH",
            "GEMINI_CLI_TRUST_WORKSPACE",
            "GEMINI_SYSTEM_MD",
            "HOME",
            "NO_COLOR",
            "PATH",
            "TMPDIR",
        ];
        // What the shell that the fake is sets by itself; and the way out through a
        // proxy, where this machine has one.
        let of_the_shell = ["PWD", "OLDPWD", "SHLVL", "_"];
        let names: Vec<&str> = run
            .environment
            .iter()
            .map(String::as_str)
            .filter(|name| !of_the_shell.contains(name))
            .filter(|name| {
                !name.to_lowercase().ends_with("_proxy") && *name != "NODE_EXTRA_CA_CERTS"
            })
            .collect();
        assert_eq!(names, expected);
        // Each run has a home and a temporary directory of its own.
        assert!(run.home.starts_with(user.temporary()), "{:?}", run.home);
        assert!(!run.arguments.iter().any(|argument| argument.contains(KEY)));
        assert!(!run.input.as_deref().unwrap_or_default().contains(KEY));
    }
    let ended = client.end();
    for message in &ended.rest {
        said.push_str(&message.to_string());
    }
    let shown = user.run(["config"]).assert_success();
    let examined = user.run(["doctor"]);
    for text in [&said, &ended.stderr, &shown.stdout, &examined.stdout, &examined.stderr] {
        assert!(!text.contains(KEY), "{text}");
        assert!(!text.contains("another-canary"), "{text}");
    }
    let mut found = Vec::new();
    files_with(user.home.path(), KEY, &mut found);
    files_with(user.home.path(), "another-canary", &mut found);
    assert_eq!(found, Vec::<String>::new());
    // The search itself finds what is there.
    files_with(user.home.path(), "Checked", &mut found);
    assert!(!found.is_empty(), "the database holds the report");
}
