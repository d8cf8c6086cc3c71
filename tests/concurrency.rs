//! Several processes on one home, and processes that die in the middle.

use std::thread;

use serde_json::json;

use crate::lifecycle::assert_database_is_sound;
use crate::support::citations::assert_findings_stand;
use crate::support::client::{LEGACY_NEW, text_of};
use crate::support::documents::Documents;
use crate::support::home::Home;

#[test]
fn two_processes_research_at_once() {
    let (home, documents) = (Home::new(), Documents::new());
    let directory = documents.path().to_str().expect("UTF-8");
    let questions = [
        "When do spring tides come?",
        "How long are backups kept?",
        "Why does the lure of the anglerfish glow?",
        "How thick were the quartz windows?",
    ];
    thread::scope(|scope| {
        for question in questions {
            let home = &home;
            scope.spawn(move || {
                let outcome = home
                    .run(["research", question, "--json", "--docs", directory])
                    .assert_success()
                    .json();
                assert_findings_stand(&outcome, &home.work());
            });
        }
    });
    let history = home.run(["history", "--json"]).assert_success().json();
    let text = history.to_string();
    for question in questions {
        assert_eq!(text.matches(question).count(), 1, "{history:#}");
    }
    assert_database_is_sound(&home);
}

#[test]
fn two_servers_share_one_home() {
    let (home, documents) = (Home::new(), Documents::new());
    let mut first = home.serve(documents.path());
    let mut second = home.serve(documents.path());
    first.initialize(LEGACY_NEW);
    second.initialize(LEGACY_NEW);
    let query =
        json!({ "name": "deep_search", "arguments": { "query": "when do spring tides come" } });
    let one = first.request("tools/call", query.clone());
    let two = second.request("tools/call", query);
    assert!(text_of(&first.answer(one)).contains("tides.md"));
    assert!(text_of(&second.answer(two)).contains("tides.md"));
    // One going away does not disturb the other.
    assert!(first.end().status.success());
    let again = second.call_tool("search", json!({ "query": "backups kept" }));
    assert!(text_of(&again).contains("operations.md"), "{again:#}");
    assert!(second.end().status.success());
    assert_database_is_sound(&home);
}

#[test]
fn nothing_is_half_written_after_a_kill() {
    let (home, documents) = (Home::new(), Documents::many(30));
    for _ in 0..3 {
        let mut client = home.serve(documents.path());
        client.initialize(LEGACY_NEW);
        client.begin_deep_search();
        let ended = client.kill();
        assert!(!ended.status.success());
        assert_database_is_sound(&home);
    }
    // The next process finds the tasks of the killed ones.
    let history = home.run(["history", "--json"]).assert_success().json();
    assert_eq!(history.as_array().map(Vec::len), Some(3), "{history:#}");
    let outcome = home
        .run([
            "research",
            "What was the sounding at station 42 in book 7?",
            "--json",
            "--docs",
            documents.path().to_str().expect("UTF-8"),
        ])
        .assert_success()
        .json();
    assert_findings_stand(&outcome, &home.work());
    let history = home.run(["history", "--json"]).assert_success().json();
    assert!(!history.to_string().contains("\"running\""), "left behind as running: {history:#}");
}
