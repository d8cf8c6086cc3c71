//! The key is in the environment of the CLI, and nowhere else.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

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

/// A text as JSON may write it: no character as it is.
fn escaped(text: &str) -> String {
    text.bytes().flat_map(|byte| ["\\u00".to_owned(), format!("{byte:02x}")]).collect()
}

/// An event with the word ESCAPED in place of the key, which is then written escaped.
fn event(event: &Value) -> String {
    format!("{}\n", event.to_string().replace("ESCAPED", &escaped(KEY)))
}

fn delta(text: &str) -> String {
    event(&json!({ "type": "message", "role": "assistant", "content": text, "delta": true }))
}

/// An answer that quotes this in each of its texts.
fn quoting(text: &str) -> String {
    json!({
        "success": true, "verified": true, "report": format!("The report says {text}."),
        "metadata": {
            "sources_visited": [format!("https://a.example/?key={text}")],
            "search_queries_used": [format!("what is {text}")],
            "summary": format!("It is {text}."),
        },
    })
    .to_string()
}

/// What the CLI may print so that no line of it holds the key.
fn leaks() -> Vec<(&'static str, Run)> {
    let (start, end) = KEY.split_at(KEY.len() / 2);
    let answer = quoting(KEY);
    // Wherever the key stands, one delta ends within it.
    let cut: String = answer.split_inclusive(start).map(delta).collect();
    assert!(!cut.contains(KEY) && cut.contains(start) && cut.contains(end));
    // The answer itself is JSON, with escapes of its own.
    let inner = quoting("ESCAPED").replace("ESCAPED", &escaped(KEY));
    let half = inner.find(&escaped(KEY)[..30]).expect("it is there") + 32;
    let query = event(&json!({
        "type": "tool_use", "tool_name": "google_web_search", "tool_id": "1",
        "parameters": { "query": "ESCAPED" },
    }));
    let done = event(&json!({ "type": "tool_result", "tool_id": "1", "status": "success" }));
    let failure = event(&json!({
        "type": "result", "status": "error",
        "error": { "type": "unknown", "message": "[API Error: the login ESCAPED is unknown]" },
    }));
    let begun = || Run::new().begins();
    vec![
        ("cut by the deltas", begun().prints(&cut).succeeds()),
        ("escaped in the event", begun().prints(&delta(&quoting("ESCAPED"))).succeeds()),
        ("escaped in the answer", begun().prints(&delta(&inner)).succeeds()),
        (
            "escaped in the answer and cut",
            begun().prints(&delta(&inner[..half])).prints(&delta(&inner[half..])).succeeds(),
        ),
        (
            "in a query",
            begun().prints(&query).prints(&done).prints(&delta(&report("Found", true))).succeeds(),
        ),
        ("in an error", begun().prints(&failure).exits(145)),
        (
            "cut, in an answer that cannot be read",
            begun().prints(&delta(&format!("No JSON, but {start}"))).prints(&delta(end)).succeeds(),
        ),
    ]
}

#[test]
fn a_key_that_the_cli_says_in_pieces_or_escaped_is_hidden_everywhere() {
    let user = Researcher::with_config("[research]\ncycles = 1\nmax_iterations = 2\n");
    let leaks = leaks();
    for (how, run) in &leaks {
        user.fake.when(&format!("A key {how}?"), run);
    }
    // The correction is not told the question.
    let (_, unreadable) = leaks.last().expect("there are some");
    user.fake.otherwise(unreadable);
    let hidden = |how: &str, text: &str| {
        for words in [KEY, &escaped(KEY)] {
            assert!(!text.contains(words), "{how}: {text}");
        }
    };
    let mut command = user.command(["serve"]);
    command.arg("-vv");
    let mut client = Client::start(command);
    client.initialize(crate::support::client::LEGACY_NEW);
    for (how, _) in &leaks {
        let id = client.begin("deep_search", json!({ "query": format!("A key {how}?") }));
        let answer = client.answer(id).to_string();
        hidden(how, &answer);
        // What cannot be read is not shown.
        let shown = !how.contains("cannot be read");
        assert_eq!(answer.contains("[secret]"), shown, "{how}: {answer}");
        for message in client.kept("notifications/progress") {
            hidden(how, &message.to_string());
        }
    }
    let ended = client.end();
    hidden("on standard error", &ended.stderr);
    for (how, _) in &leaks {
        let printed = user.run(["deep-search", "--json", &format!("A key {how}?")]);
        hidden(how, &printed.stdout);
        hidden(how, &printed.stderr);
    }
    // What was handed back to be corrected.
    let runs = user.wait_until_nothing_is_left();
    let files: Vec<_> = runs.iter().flat_map(|run| &run.included).collect();
    assert!(files.iter().any(|(_, text)| text == "No JSON, but [secret]"), "{files:?}");
    for run in &runs {
        hidden("in a prompt", run.input.as_deref().unwrap_or_default());
    }
    let mut found = Vec::new();
    files_with(user.home.path(), KEY, &mut found);
    files_with(user.home.path(), &escaped(KEY), &mut found);
    assert_eq!(found, Vec::<String>::new());
    files_with(user.home.path(), "The report says [secret].", &mut found);
    assert!(!found.is_empty(), "the database holds the reports");
}
