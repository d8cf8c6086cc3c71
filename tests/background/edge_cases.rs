//! The edge cases of the specification, one or more tests each.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::saving::done;
use super::vendor_trouble::EXPIRED;
use crate::support::client::{Client, LEGACY_NEW};
use crate::support::explorer::{
    Explorer, ask, assert_error, list, results, start, status, wait_for, wait_for_status,
    wait_until,
};
use crate::support::interactions::{Ending, Fault, Script, Until};
use crate::support::program;

const QUESTION: &str = "How do tide tables compare?";

#[test]
fn edge_server_restarts_mid_research() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script::until(Until::Released));
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    let job = explorer.wait_for_looks(QUESTION, 3);
    client.kill();
    // The vendor's name for it is in the database, and is all that is needed.
    let kept: String = explorer
        .database()
        .query_row("SELECT job_id FROM jobs WHERE task_id = ?1", [&id], |row| row.get(0))
        .unwrap();
    assert_eq!(kept, job);
    let looks = explorer.api.log().polls(&job);
    let mut client = explorer.connect();
    explorer.wait_for_looks(QUESTION, looks + 2);
    assert_eq!(status(&mut client, &id)["status"], "running_async");
    explorer.api.release(QUESTION);
    wait_for_status(&mut client, &id, "completed");
    assert!(results(&mut client, &id)["report"].as_str().unwrap().contains("Finding 3"));
    assert_eq!(explorer.api.log().creates(QUESTION), 1);
}

/// The program with files that cannot grow beyond so many blocks of 512 bytes: a disk
/// that is full, for it alone.
fn on_a_full_disk(command: &Command, blocks: u32) -> Command {
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("ulimit -f {blocks}; exec \"$@\""), "sh"]);
    limited.arg(command.get_program()).args(command.get_args());
    limited.current_dir(command.get_current_dir().expect("a working directory"));
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    limited
}

#[test]
fn edge_sqlite_write_fails_at_the_start_is_told_and_nothing_is_paid_for() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    let id = start(&mut client, "The first?");
    wait_for_status(&mut client, &id, "completed");
    let asked = explorer.api.log().0.len();
    // Somebody else has the database to write, for longer than anybody waits.
    let blocker = explorer.database();
    blocker.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = ask(&mut client, "start_deep_research", json!({ "query": QUESTION }));
    assert_error(&refused, "STORE_ERROR", &["locked"]);
    assert_eq!(refused.get("task_id"), None, "{refused:#}");
    assert_eq!(explorer.api.log().0.len(), asked, "{:?}", explorer.api.log());
    // What is there can be read all the same.
    assert_eq!(results(&mut client, &id)["success"], true);
    blocker.execute_batch("ROLLBACK").unwrap();
    let id = start(&mut client, QUESTION);
    wait_for_status(&mut client, &id, "completed");
}

#[test]
fn edge_sqlite_is_damaged_is_told_and_nothing_is_paid_for() {
    let explorer = Explorer::new();
    let data = explorer.home.data().join("bathysphere");
    fs::create_dir_all(&data).unwrap();
    fs::write(data.join("bathysphere.sqlite3"), "This is no database. ".repeat(1000)).unwrap();
    let mut client = explorer.connect();
    let refused = ask(&mut client, "start_deep_research", json!({ "query": QUESTION }));
    assert_error(&refused, "STORE_ERROR", &["bathysphere.sqlite3"]);
    let refused = ask(&mut client, "list_research", json!({}));
    assert_error(&refused, "STORE_ERROR", &["bathysphere.sqlite3"]);
    assert!(explorer.api.log().0.is_empty(), "{:?}", explorer.api.log());
}

/// What was written beside a database that could not take it.
fn rescued(explorer: &Explorer) -> Vec<PathBuf> {
    let directory = explorer.home.data().join("bathysphere/unsaved");
    let entries = fs::read_dir(directory).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    // Not those that are yet to be renamed.
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

#[test]
fn edge_sqlite_write_fails_mid_research_and_the_report_is_saved_as_markdown() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script::until(Until::Released));
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    explorer.wait_for_looks(QUESTION, 2);
    // From now on nobody can write, for longer than anybody waits.
    let blocker = explorer.database();
    blocker.execute_batch("BEGIN IMMEDIATE").unwrap();
    explorer.api.release(QUESTION);
    let copy = wait_for("a copy of the report", || rescued(&explorer).into_iter().next());
    let text = fs::read_to_string(&copy).unwrap();
    assert!(text.contains("Finding 3") && text.contains(QUESTION), "{text}");
    assert!(copy.file_name().unwrap().to_str().unwrap().starts_with(&id), "{copy:?}");
    client.wait_for_log(&copy.display().to_string());
    // When the database recovers, it has the result after all.
    blocker.execute_batch("ROLLBACK").unwrap();
    wait_for_status(&mut client, &id, "completed");
    assert!(results(&mut client, &id)["report"].as_str().unwrap().contains("Finding 3"));
    assert_eq!(explorer.wait_until_told(&id), "completed");
    assert_eq!(explorer.api.log().creates(QUESTION), 1);
}

#[test]
fn edge_network_is_lost_during_research() {
    let mut explorer = Explorer::new();
    explorer.api.on(|_| {
        let mut polls = vec![Fault::No; 2];
        polls.resize(8, Fault::CutBefore);
        Script { polls, ..Script::until(Until::Polls(4)) }
    });
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    explorer.wait_for_looks(QUESTION, 4);
    // While it is away a start of the machine without any network changes nothing.
    client.kill();
    explorer = explorer.offline();
    let mut offline = explorer.connect();
    offline.wait_for_log("cannot be looked at just now");
    assert_eq!(status(&mut offline, &id)["status"], "running_async");
    offline.kill();
    let online = explorer.api.url();
    explorer = explorer.with_variable("GOOGLE_GEMINI_BASE_URL", online);
    let mut client = explorer.connect();
    wait_for_status(&mut client, &id, "completed");
    assert_eq!(explorer.wait_until_told(&id), "completed");
    assert_eq!(explorer.api.log().creates(QUESTION), 1);
}

fn expires(status: u16) {
    let explorer = Explorer::new();
    explorer.api.on(move |_| Script {
        draft: Some("# A beginning\n\nThe tide".to_owned()),
        ending: Ending::Gone(status),
        ..Script::until(Until::Released)
    });
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    wait_until(&mut client, &id, "a draft", |told| told["has_partial_report"] == true);
    client.kill();
    let looks = explorer.api.log().polls(&explorer.api.log().ids(QUESTION)[0]);
    explorer.api.release(QUESTION);
    let mut client = explorer.connect();
    let told = wait_for_status(&mut client, &id, "failed");
    assert_eq!(told["failure"]["code"], "EXPIRED", "{told:#}");
    assert!(told["failure"]["message"].as_str().unwrap().contains(EXPIRED), "{told:#}");
    // Once may be a passing trouble: it was looked for three times at the least.
    let log = explorer.api.log();
    assert!(log.polls(&log.ids(QUESTION)[0]) - looks >= 3);
    let read = results(&mut client, &id);
    assert!(read["report"].as_str().unwrap().contains("The tide"), "{read:#}");
    assert_eq!(read["error"]["code"], "EXPIRED");
    assert_eq!(explorer.wait_until_told(&id), "failed");
    assert_eq!(log.creates(QUESTION), 1);
}

#[test]
fn edge_interaction_is_expired_on_recovery() {
    expires(404);
}

#[test]
fn edge_interaction_is_expired_on_recovery_and_answered_with_403() {
    expires(403);
}

#[test]
fn edge_notification_library_is_unavailable() {
    let explorer = Explorer::with_config("[notify]\ndesktop = true\n")
        .with_variable("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere/at/all");
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    let log = explorer.home.data().join("bathysphere/notifications.log");
    let line = wait_for("a line", || fs::read_to_string(&log).ok().filter(|log| !log.is_empty()));
    assert!(line.contains(QUESTION) && line.contains(&id[..8]), "{line}");
    assert_eq!(line.lines().count(), 1, "{line}");
}

#[test]
fn edge_output_directory_does_not_exist() {
    let (explorer, mut client, id) = done();
    let arguments = json!({ "task_id": id, "output_dir": "not/there/yet" });
    let saved = ask(&mut client, "save_research_to_markdown", arguments);
    assert_eq!(saved["success"], true, "{saved:#}");
    assert!(explorer.home.work().join("not/there/yet").is_dir());
    assert!(PathBuf::from(saved["file_path"].as_str().unwrap()).is_file());
}

#[test]
fn edge_disk_is_full_during_markdown_save() {
    // The other server stays, so that the files of the database need not grow.
    let (explorer, _other, id) = done();
    let mut client = Client::start(on_a_full_disk(&explorer.command(["serve"]), 1));
    client.initialize(LEGACY_NEW);
    let arguments = json!({ "task_id": id, "output_dir": "kept" });
    let refused = ask(&mut client, "save_research_to_markdown", arguments);
    // The path, and the room it takes.
    assert_error(&refused, "DISK_FULL", &["kept", &id, "it needs ", " KB"]);
    assert!(refused["error"]["hint"].is_string());
    let left = program::run(Command::new("find").arg(explorer.home.work()).args(["-type", "f"]));
    assert_eq!(left.stdout, "", "nothing is left of it");
    // Reading goes on as before.
    assert_eq!(results(&mut client, &id)["success"], true);
    assert_eq!(list(&mut client, json!({}))["count"], 1);
}
