//! The same by command line, on the same durable tasks.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::support::gemini_cli::Run;
use crate::support::researcher::{Researcher, fenced, plain_report, report};

#[test]
fn deep_search_prints_the_report_and_tells_its_rounds() {
    let user = Researcher::new();
    user.fake
        .then(&Run::answers(&report("Draft", false)))
        .then(&Run::answers(&report("It dived to 923 m", true)));
    let finished = user.run(["deep-search", "How deep?"]).assert_success();
    assert!(finished.stdout.contains("It dived to 923 m"), "{}", finished.stdout);
    assert!(!finished.stdout.contains("[INFO]"), "{}", finished.stdout);
    let told: Vec<&str> = finished
        .stderr
        .lines()
        .filter(|line| line.contains("Deep search") || line.contains("Round "))
        .collect();
    assert_eq!(
        told,
        [
            "[INFO] Deep search round 1/5...",
            "[INFO] Round 1 completed, verified: false",
            "[INFO] Deep search round 2/5...",
            "[INFO] Round 2 completed, verified: true",
            "[INFO] Deep search completed: 2 rounds, verified: true",
        ]
    );
    user.wait_until_nothing_is_left();
}

#[test]
fn json_is_what_the_tools_return_over_mcp() {
    let user = Researcher::new();
    let checked = report("Checked", true);
    let asked = [
        ("deep-search", "deep_search", &checked),
        ("search", "search", &plain_report("923 m")),
        ("deep-research", "deep_research", &plain_report("A long report")),
    ];
    for (command, tool, answer) in asked {
        user.fake.otherwise(&Run::answers(answer));
        let mut printed = user.run([command, "--json", "How deep?"]).assert_success().json();
        let mut returned = user.ask(tool, json!({ "query": "How deep?" })).answer;
        for value in [&mut printed, &mut returned] {
            for other in ["duration_ms", "timestamp"] {
                value["metadata"][other] = "another each time".into();
            }
            assert!(value["task_id"].is_string(), "{value:#}");
            value["task_id"] = "another each time".into();
        }
        assert_eq!(printed, returned, "{command}");
    }
}

#[test]
fn search_and_deep_research_print_the_report() {
    let user = Researcher::new();
    for (command, prompt) in
        [("search", "in one short round"), ("deep-research", "in depth by yourself")]
    {
        user.fake.otherwise(&Run::answers(&plain_report("It dived to 923 m")));
        let finished = user.run([command, "How deep?"]).assert_success();
        assert!(finished.stdout.contains("It dived to 923 m"), "{}", finished.transcript());
        let last = user.fake.runs().pop().and_then(|run| run.input).expect("a prompt");
        assert!(last.contains(prompt), "{last}");
        assert_eq!(fenced(&last, "QUERY"), "How deep?");
    }
}

#[test]
fn a_failure_is_told_with_its_hint_and_an_exit_code() {
    let user = Researcher::new();
    user.fake.otherwise(&Run::bad_key());
    for command in ["search", "deep-search", "deep-research"] {
        let failed = user.run([command, "How deep?"]).assert_failure();
        assert_eq!(failed.code(), 1);
        assert_eq!(failed.stdout, "");
        assert!(failed.stderr.contains("GEMINI_API_KEY"), "{}", failed.stderr);
        let failed = user.run([command, "--json", "How deep?"]).assert_failure();
        assert_eq!(failed.json()["error"]["code"], "AUTH_ERROR", "{}", failed.stdout);
        assert_eq!(failed.json()["success"], false);
    }
    assert_eq!(user.fake.runs().len(), 6);
}

/// Ctrl-C ends spending and keeps the rounds; `--resume` goes on from there.
#[test]
fn an_interrupted_search_is_resumed() {
    let user = Researcher::new();
    user.fake.then(&Run::answers(&report("Draft", false))).then(&Run::hangs_with_orphan());
    let mut command: Command = user.command(["deep-search", "How deep?", "--max-iterations", "3"]);
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    user.fake.wait_until("round 2 hangs", |runs| {
        runs.iter().any(|run| run.input.is_some() && run.orphan.is_some())
    });
    let start = Instant::now();
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    let output = child.wait_with_output().expect("it ends");
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert_eq!(user.wait_until_nothing_is_left().len(), 2);
    let task = user.wait_for_status(&["cancelled"]);
    assert_eq!(task["rounds"], 1);
    let id = task["id"].as_str().expect("an id");
    assert!(stderr.contains(&format!("deep-search --resume {}", &id[..8])), "{stderr}");

    user.fake.then(&Run::answers(&report("Checked", true)));
    let resumed = user.run(["deep-search", "--json", "--resume", &id[..8]]).assert_success().json();
    assert_eq!(resumed["task_id"], id);
    assert_eq!(resumed["result"], "Checked");
    assert_eq!(resumed["verified"], true);
    let runs = user.fake.runs();
    assert_eq!(runs.len(), 3);
    assert_eq!(runs[1].input, runs[2].input, "only round 2 is repeated");
}
