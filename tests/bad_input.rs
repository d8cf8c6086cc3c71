//! Input that is wrong in itself: a clear error, the right exit code, no panic.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use crate::support::documents::Documents;
use crate::support::home::Home;
use crate::support::program::{run, run_with_input};

#[test]
fn an_empty_question() {
    let (home, documents) = (Home::new(), Documents::new());
    for question in ["", "  \n\t"] {
        let finished =
            home.run(["research", question, "--docs", text(&documents)]).assert_wrong_input();
        assert!(finished.stderr.contains("empty"), "{}", finished.transcript());
        assert!(finished.stdout.is_empty(), "{}", finished.transcript());
    }
    let history = home.run(["history", "--json"]).assert_success().json();
    assert!(history.as_array().is_none_or(Vec::is_empty), "nothing was begun: {history:#}");
}

/// Too long for one argument, so it comes by standard input and by MCP.
#[test]
fn a_question_of_a_megabyte() {
    let (home, documents) = (Home::new(), Documents::new());
    let question = format!("When do spring tides come? {}", "and then ".repeat(120_000));
    let mut command = home.command(["research", "-", "--json", "--docs", text(&documents)]);
    let finished = run_with_input(&mut command, question.as_bytes());
    // Answered or refused, but told either way.
    if finished.status.success() {
        assert!(finished.json()["findings"].is_array(), "{}", finished.transcript());
    } else {
        let finished = finished.assert_wrong_input();
        assert!(finished.stderr.contains("question"), "{}", finished.transcript());
        assert!(finished.stderr.len() < 10_000, "the error repeats the question");
    }

    let mut client = home.serve(documents.path());
    client.initialize(crate::support::client::LEGACY_NEW);
    for tool in ["search", "deep_search"] {
        let answer = client.call_tool(tool, serde_json::json!({ "query": question }));
        assert!(answer.get("result").is_some() || answer.get("error").is_some(), "{answer:#}");
        assert!(answer.to_string().len() < 500_000, "{tool}: the answer repeats the question");
    }
    assert!(client.end().status.success());
}

#[test]
fn a_question_of_nothing_but_punctuation() {
    let (home, documents) = (Home::new(), Documents::new());
    for question in ["???", "\"", "AND OR NOT", "* NEAR(", "'; DROP TABLE tasks; --", "\u{0}x"] {
        if question.contains('\u{0}') {
            // The system takes no such argument; it reaches the program by MCP.
            let mut client = home.serve(documents.path());
            client.initialize(crate::support::client::LEGACY_NEW);
            client.call_tool("search", serde_json::json!({ "query": question }));
            assert!(client.end().status.success());
            continue;
        }
        let finished = home.run(["research", question, "--json", "--docs", text(&documents)]);
        if finished.status.success() {
            finished.json();
        } else {
            finished.assert_failure();
        }
    }
}

#[test]
fn a_missing_directory() {
    let home = Home::new();
    for command in ["research", "search", "deep-search", "deep-research", "find"] {
        let finished = home.run([command, "tides", "--docs", "no/such/place"]).assert_wrong_input();
        assert!(finished.stderr.contains("no/such/place"), "{}", finished.transcript());
        assert!(finished.stdout.is_empty(), "{}", finished.transcript());
    }
    let finished =
        run(&mut home.command(["serve", "--docs", "no/such/place"])).assert_wrong_input();
    assert!(finished.stderr.contains("no/such/place"), "{}", finished.transcript());
    assert!(finished.stdout.is_empty(), "stdout belongs to MCP: {}", finished.transcript());
}

#[test]
fn a_file_in_place_of_a_directory() {
    let (home, documents) = (Home::new(), Documents::new());
    let file = documents.path().join("tides.md");
    let finished = home
        .run(["research", "tides", "--docs", file.to_str().expect("UTF-8")])
        .assert_wrong_input();
    assert!(finished.stderr.contains("tides.md"), "{}", finished.transcript());
}

#[test]
fn an_empty_directory() {
    let home = Home::new();
    let finished = home.run(["research", "When do tides come?", "--docs", ".", "--json"]);
    let outcome = finished.assert_success().json();
    assert_eq!(outcome["findings"].as_array().map(Vec::len), Some(0), "{outcome:#}");
    assert!(outcome["note"].as_str().is_some_and(|note| !note.is_empty()), "{outcome:#}");
}

#[test]
fn an_unreadable_file_is_passed_over_and_named() {
    let (home, documents) = (Home::new(), Documents::new());
    documents.write("notes/locked.md", b"# Locked\n\nNobody may read about the periscope.\n");
    let locked = documents.path().join("notes/locked.md");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).expect("permissions");
    if fs::File::open(&locked).is_ok() {
        eprintln!("skipped: this user (root?) can read a file that has no permissions");
        return;
    }
    let finished = home
        .run(["research", "When do spring tides come?", "--docs", text(&documents)])
        .assert_success();
    assert!(finished.stdout.contains("tides.md:"), "{}", finished.transcript());
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert!(said.contains("locked.md"), "{}", finished.transcript());
}

#[test]
fn odd_files_are_passed_over() {
    let (home, documents) = (Home::new(), Documents::new());
    documents.write("empty.md", b"");
    documents.write("bom.md", "\u{feff}# With a mark\n\nSpring tides are mentioned.\n".as_bytes());
    documents.write("crlf.md", b"# Windows\r\n\r\nLines end twice here.\r\n");
    documents.write("latin1.txt", b"caf\xe9 tides na\xefve\n");
    documents.write("nul.txt", b"tides\0tides\0tides\n");
    documents.write("long.txt", "tides ".repeat(400_000).as_bytes());
    documents.write("deep.html", "<div>".repeat(50_000).as_bytes());
    documents.write("unclosed.html", b"<p>tides <script> if (a < b) {");
    documents.write("fence.md", b"```\n# not a heading\n");
    std::os::unix::fs::symlink("/etc", documents.path().join("outside")).expect("a link");
    std::os::unix::fs::symlink(".", documents.path().join("round")).expect("a link");
    std::os::unix::fs::symlink("nowhere", documents.path().join("dangling.md")).expect("a link");
    let outcome = home
        .run(["research", "When do spring tides come?", "--json", "--docs", text(&documents)])
        .assert_success()
        .json();
    assert!(outcome["findings"].to_string().contains("tides.md"), "{outcome:#}");
    let answer = outcome.to_string();
    assert!(!answer.contains("outside/"), "a link led out of the directory: {answer}");
    assert!(!answer.contains("round/"), "a link led round in circles: {answer}");
}

#[test]
fn a_reader_that_goes_away() {
    let (home, documents) = (Home::new(), Documents::new());
    for arguments in [
        vec!["research", "When do spring tides come?", "--docs", text(&documents)],
        vec!["search", "tides", "--docs", text(&documents)],
        vec!["find", "tides", "--docs", text(&documents)],
        vec!["config"],
        vec!["plugin", "list"],
        vec!["--help"],
    ] {
        let mut child = home
            .command(&arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        // Closed before anything can be written.
        drop(child.stdout.take());
        let mut stderr = String::new();
        child.stderr.take().expect("piped").read_to_string(&mut stderr).expect("text");
        let status = child.wait().expect("an end");
        assert!(!stderr.contains("panicked"), "{arguments:?}: {stderr}");
        assert_ne!(status.code(), Some(101), "{arguments:?}: {stderr}");
    }
}

#[test]
fn broken_configuration_names_file_line_and_remedy() {
    let documents = Documents::new();
    for (config, words) in [
        ("[use\nstrategy = 1\n", vec!["plugins.toml", "1"]),
        ("[use]\nstratgy = \"strategy-adaptive\"\n", vec!["plugins.toml", "stratgy", "strategy"]),
        ("[use]\nstrategy = 7\n", vec!["plugins.toml", "strategy", "string"]),
        ("[use]\nstrategy = \"nobody\"\n", vec!["plugins.toml", "nobody"]),
        (
            "[plugins.mine]\nsource = \"no/such/file.wasm\"\n[use]\nstrategy = \"mine\"\n",
            vec!["mine", "no/such/file.wasm"],
        ),
        ("[plugins.search-documents.limits]\nmemory_mb = -1\n", vec!["plugins.toml", "memory_mb"]),
        (
            "[plugins.strategy-adaptive.settings]\nno_such_setting = true\n",
            vec!["plugins.toml", "no_such_setting"],
        ),
    ] {
        let home = Home::with_config(config);
        let finished = home.run(["research", "tides", "--docs", text(&documents)]).assert_failure();
        for word in words {
            assert!(finished.stderr.contains(word), "{config:?}: {}", finished.transcript());
        }
        assert!(finished.stdout.is_empty(), "{}", finished.transcript());
    }
}

#[test]
fn a_named_configuration_that_is_missing() {
    let home = Home::new();
    let mut command = home.command(["config"]);
    command.env("BATHYSPHERE_CONFIG", "no/such/plugins.toml");
    let finished = run(&mut command).assert_failure();
    assert!(finished.stderr.contains("no/such/plugins.toml"), "{}", finished.transcript());
}

#[test]
fn a_misspelt_command_or_flag() {
    let home = Home::new();
    let finished = home.run(["reserch", "tides"]).assert_wrong_input();
    assert!(finished.stderr.contains("research"), "{}", finished.transcript());
    let finished = home.run(["research", "tides", "--doc", "."]);
    assert!(
        finished.status.success() || finished.stderr.contains("--docs"),
        "{}",
        finished.transcript()
    );
}

fn text(documents: &Documents) -> &str {
    documents.path().to_str().expect("a temporary path is UTF-8")
}
