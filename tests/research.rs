//! The command line on real documents: reports whose every finding can be looked
//! up, and reading them back.

use std::fs;

use crate::support::citations::assert_findings_stand;
use crate::support::documents::{Documents, HIDDEN_WORD};
use crate::support::home::Home;

const QUESTIONS: [(&str, &str, &str); 6] = [
    ("When do spring tides come?", "tides.md", "new moon"),
    ("How long are backups kept?", "operations.md", "35 days"),
    ("Why did the primary stop taking writes?", "incidents.rst", "write-ahead log"),
    ("Why does the lure of the anglerfish glow?", "bioluminescence.html", "bacteria"),
    ("How thick were the quartz windows?", "pressure.txt", "76 millimetres"),
    ("How is a sounding corrected for the tide?", "soundings.py", "chart datum"),
];

#[test]
fn every_finding_stands_where_it_says() {
    let (home, documents) = (Home::new(), Documents::new());
    for (question, file, words) in QUESTIONS {
        let finished =
            home.run(["research", question, "--json", "--docs", text(&documents)]).assert_success();
        let outcome = finished.json();
        assert_eq!(outcome["status"], "completed", "{outcome:#}");
        assert_findings_stand(&outcome, &home.work());
        let findings = outcome["findings"].to_string();
        assert!(findings.contains(file), "{question} {outcome:#}");
        assert!(normal(&findings).contains(words), "{question} {outcome:#}");
        assert!(!finished.stdout.contains(HIDDEN_WORD));
    }
}

#[test]
fn the_report_is_markdown_that_names_file_and_line() {
    let (home, documents) = (Home::new(), Documents::new());
    let finished = home
        .run(["research", "How do I fail over to the standby?", "--docs", text(&documents)])
        .assert_success();
    let report = &finished.stdout;
    assert!(report.starts_with('#'), "{report}");
    let cited = report.lines().any(|line| {
        line.split("operations.md:")
            .nth(1)
            .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    });
    assert!(cited, "no finding names file and line: {report}");
    assert!(!report.contains('\u{1b}'), "colours in a pipe: {report:?}");
    assert!(!report.contains('\r'), "progress in the report: {report:?}");
}

#[test]
fn paths_are_as_the_user_would_write_them() {
    let (home, documents) = (Home::new(), Documents::new());
    let arguments = ["research", "How long are backups kept?", "--json", "--docs", "."];
    let mut command = home.command(arguments);
    command.current_dir(documents.path());
    let outcome = crate::support::program::run(&mut command).assert_success().json();
    assert_eq!(outcome["findings"][0]["source"]["url"], "handbook/operations.md", "{outcome:#}");
    assert_findings_stand(&outcome, documents.path());
}

#[test]
fn a_question_that_the_documents_do_not_answer_is_not_padded() {
    let (home, documents) = (Home::new(), Documents::new());
    let finished = home.run([
        "research",
        "Who won the chess championship of Reykjavik?",
        "--json",
        "--docs",
        text(&documents),
    ]);
    let outcome = finished.assert_success().json();
    assert_eq!(outcome["findings"].as_array().map(Vec::len), Some(0), "{outcome:#}");
    assert!(outcome["note"].as_str().is_some_and(|note| !note.is_empty()), "{outcome:#}");
}

#[test]
fn find_prints_hits() {
    let (home, documents) = (Home::new(), Documents::new());
    let plain = home.run(["find", "rule of twelfths", "--docs", text(&documents)]).assert_success();
    assert!(plain.stdout.contains("tides.md:"), "{}", plain.transcript());
    let json = home
        .run(["find", "rule of twelfths", "--limit", "1", "--json", "--docs", text(&documents)])
        .assert_success()
        .json();
    let text = json.to_string();
    assert!(text.contains("tides.md"), "{json:#}");
    assert!(!text.contains("operations.md"), "one hit was asked for: {json:#}");
}

#[test]
fn each_way_of_asking_answers_as_its_tool_does() {
    let (home, documents) = (Home::new(), Documents::new());
    for command in ["search", "deep-search"] {
        let arguments = [command, QUESTIONS[0].0, "--docs", text(&documents)];
        let report = home.run(arguments).assert_success().stdout;
        assert!(report.contains("tides.md:"), "{report}");
        let finished = home
            .run([command, QUESTIONS[0].0, "--json", "--docs", text(&documents)])
            .assert_success();
        let answer = finished.json();
        assert_eq!(answer["success"], true, "{answer:#}");
        assert_eq!(answer["metadata"]["query"], QUESTIONS[0].0);
        assert!(answer["metadata"]["iterations"].as_u64() >= Some(1), "{answer:#}");
        let shown = home
            .run(["show", answer["task_id"].as_str().expect("an id"), "--json"])
            .assert_success()
            .json();
        assert_eq!(shown["tool"], command.replace('-', "_"));
    }
}

#[test]
fn a_deep_search_tells_its_rounds_in_the_words_that_scripts_look_for() {
    let (home, documents) = (Home::new(), Documents::new());
    let finished = home
        .run(["deep-search", QUESTIONS[0].0, "--docs", text(&documents), "-v"])
        .assert_success();
    let said = |line: &str| finished.stderr.lines().filter(|said| *said == line).count();
    let of = finished
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("[INFO] Deep search round 1/"))
        .unwrap_or_else(|| panic!("no first round: {}", finished.transcript()));
    assert_eq!(said(&format!("[INFO] Deep search round 1/{of}")), 1, "{}", finished.stderr);
    assert_eq!(said("[INFO] Round 1 completed, verified: false"), 1, "{}", finished.stderr);
    let last = finished
        .stderr
        .lines()
        .filter(|line| line.starts_with("[INFO] Deep search completed: "))
        .count();
    assert_eq!(last, 1, "{}", finished.stderr);
}

#[test]
fn history_lists_what_was_asked_and_show_reads_it_back() {
    let (home, documents) = (Home::new(), Documents::new());
    let first = home
        .run(["research", QUESTIONS[0].0, "--json", "--docs", text(&documents)])
        .assert_success()
        .json();
    let report =
        home.run(["research", QUESTIONS[1].0, "--docs", text(&documents)]).assert_success().stdout;
    let history = home.run(["history", "--json"]).assert_success().json().to_string();
    for (question, ..) in &QUESTIONS[..2] {
        assert!(history.contains(question), "{history}");
    }
    let id = first["id"].as_str().expect("a task has an id");
    assert!(history.contains(id), "{history}");
    let shown = home.run(["show", id, "--json"]).assert_success().json();
    assert_eq!(shown["findings"], first["findings"]);
    assert_eq!(shown["question"]["text"], QUESTIONS[0].0);
    let plain = home.run(["show", id]).assert_success().stdout;
    assert!(plain.contains("tides.md:"), "{plain}");
    assert!(report.contains("operations.md:"), "{report}");
}

#[test]
fn an_unknown_id_is_told() {
    let home = Home::new();
    let finished = home.run(["show", "no-such-task"]).assert_failure();
    assert!(finished.stderr.contains("no-such-task"), "{}", finished.transcript());
    assert!(finished.stdout.is_empty(), "{}", finished.transcript());
}

#[test]
fn the_index_follows_the_files() {
    let (home, documents) = (Home::new(), Documents::new());
    let ask = || {
        home.run(["find", "periscope depth of the ferry", "--json", "--docs", text(&documents)])
            .assert_success()
            .stdout
    };
    assert!(!ask().contains("ferry.md"));
    documents.write("notes/ferry.md", b"# Ferry\n\nThe periscope depth of the ferry is unknown.\n");
    assert!(ask().contains("ferry.md"));
    documents.write("notes/ferry.md", b"# Bus\n\nNothing of the kind.\n");
    assert!(!ask().contains("unknown"));
    fs::remove_file(documents.path().join("notes/ferry.md")).expect("a file to remove");
    assert!(!ask().contains("ferry.md"));
}

#[test]
fn one_flag_moves_everything() {
    let (home, documents) = (Home::new(), Documents::new());
    let elsewhere = home.path().join("elsewhere");
    let before = files_below(&home.data());
    let mut command = home.command(["research", QUESTIONS[0].0, "--docs", text(&documents)]);
    command.arg("--home").arg(&elsewhere).env("XDG_CACHE_HOME", home.path().join("cache"));
    crate::support::program::run(&mut command).assert_success();
    assert!(!files_below(&elsewhere).is_empty());
    assert_eq!(files_below(&home.data()), before);
    assert!(files_below(&home.path().join("cache")).is_empty());
    assert!(files_below(&home.path().join("config")).is_empty());
}

#[test]
fn the_other_commands_answer() {
    let home = Home::new();
    let plugins = home.run(["plugin", "list", "--json"]).assert_success().json().to_string();
    for name in ["strategy-adaptive", "extractor-json", "search-documents", "agent-extractive"] {
        assert!(plugins.contains(name), "{plugins}");
    }
    let config = home.run(["config"]).assert_success().stdout;
    assert!(config.contains("strategy-adaptive"), "{config}");
    let doctor = home.run(["doctor"]).assert_success().stdout;
    assert!(doctor.contains("search-documents"), "{doctor}");
    let version = home.run(["--version"]).assert_success().stdout;
    assert!(version.contains(env!("CARGO_PKG_VERSION")), "{version}");
    let help = home.run(["--help"]).assert_success().stdout;
    for command in [
        "research",
        "search",
        "deep-search",
        "deep-research",
        "find",
        "history",
        "show",
        "serve",
        "plugin",
        "config",
        "doctor",
    ] {
        assert!(help.contains(command), "{help}");
    }
}

fn text(documents: &Documents) -> &str {
    documents.path().to_str().expect("a temporary path is UTF-8")
}

/// With line ends and runs of blanks made one blank.
fn normal(text: &str) -> String {
    text.replace("\\n", " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn files_below(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        let Ok(entries) = fs::read_dir(&directory) else {
            continue;
        };
        for entry in entries {
            let path = entry.expect("a readable directory").path();
            if path.is_dir() {
                directories.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
