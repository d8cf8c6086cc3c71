//! User story 5: a report is kept for good as a Markdown file.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::explorer::{Explorer, ask, assert_error, cancel, start, wait_for_status};
use crate::support::interactions::{Script, Until};

const QUESTION: &str = "How do tide tables compare?";
const SAVE: &str = "save_research_to_markdown";

/// A user whose research is done, the server, and the task's id.
pub fn done() -> (Explorer, Client, String) {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    wait_for_status(&mut client, &id, "completed");
    (explorer, client, id)
}

#[track_caller]
fn saved(client: &mut Client, arguments: Value) -> (Value, String) {
    let saved = ask(client, SAVE, arguments);
    assert_eq!(saved["success"], true, "{saved:#}");
    let text = fs::read_to_string(path_of(&saved)).expect("the file is there");
    (saved, text)
}

fn path_of(saved: &Value) -> PathBuf {
    PathBuf::from(saved["file_path"].as_str().unwrap_or_else(|| panic!("no path: {saved:#}")))
}

/// What lies below a directory, without temporary files that were left.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut found = Vec::new();
    for path in entries {
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

#[test]
fn us5_1_a_completed_report_becomes_a_file_named_after_month_prefix_task_and_time() {
    let (explorer, mut client, id) = done();
    let (saved, text) = saved(&mut client, json!({ "task_id": id }));
    assert_eq!(saved["task_id"], id);
    let path = path_of(&saved);
    // In the server's working directory, where nothing else is said.
    let directory = path.parent().unwrap();
    let reports = explorer.home.work().join("research_reports");
    assert_eq!(directory.parent().unwrap(), fs::canonicalize(&reports).unwrap_or(reports));
    let created = saved["created_at"].as_str().unwrap();
    assert_eq!(directory.file_name().unwrap().to_str(), Some(&created[..7]));
    let stamp: String = created.replace(['-', ':', 'Z'], "").replace('T', "_");
    assert_eq!(saved["filename"], format!("research_{id}_{stamp}.md"));
    assert_eq!(path.file_name().unwrap().to_str(), saved["filename"].as_str());
    let kilobytes = text.len() as f64 / 1024.0;
    assert!((saved["file_size_kb"].as_f64().unwrap() - kilobytes).abs() < 0.06, "{saved:#}");

    // Front matter, the report with its citations as footnotes, numbered sources.
    assert!(text.starts_with("---\n"), "{text}");
    for part in [QUESTION, "Finding 3 is", "[^1]", "## Sources", "site1.example", &id] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("[cite:"), "{text}");
    assert_eq!(files(&explorer.home.work()).len(), 1, "nothing is left beside it");
}

#[test]
fn us5_1_directory_and_prefix_are_the_users() {
    let (explorer, mut client, id) = done();
    let arguments =
        json!({ "task_id": &id[..13], "output_dir": "notes/tides", "filename_prefix": "tides" });
    let (saved, _) = saved(&mut client, arguments);
    let path = path_of(&saved);
    let notes = fs::canonicalize(explorer.home.work().join("notes/tides")).unwrap();
    assert!(fs::canonicalize(&path).unwrap().starts_with(&notes), "{path:?}");
    assert!(saved["filename"].as_str().unwrap().starts_with(&format!("tides_{id}_")), "{saved:#}");
}

#[test]
fn us5_1_a_prefix_cannot_lead_out_of_the_directory_and_nothing_is_written_over() {
    let (explorer, mut client, id) = done();
    let mut seen = Vec::new();
    for prefix in ["../../out", "/etc/cron.d/x", "a\u{0}b", "research", "research", ""] {
        let arguments = json!({ "task_id": id, "output_dir": "kept", "filename_prefix": prefix });
        let (saved, _) = saved(&mut client, arguments);
        let path = fs::canonicalize(path_of(&saved)).unwrap();
        let kept = fs::canonicalize(explorer.home.work().join("kept")).unwrap();
        assert!(path.starts_with(kept), "{prefix:?}: {path:?}");
        assert!(!seen.contains(&path), "{prefix:?}: {path:?}");
        seen.push(path);
    }
    assert_eq!(files(&explorer.home.work()).len(), 6);
    for (arguments, code) in [
        (json!({ "task_id": id, "output_dir": "" }), "INVALID_INPUT"),
        (json!({ "task_id": id, "output_dir": "a\u{0}b" }), "INVALID_INPUT"),
        (json!({ "task_id": id, "output_dir": "../plugins.toml" }), "INVALID_INPUT"),
        (json!({ "task_id": id, "overwrite": true }), "INVALID_INPUT"),
    ] {
        assert_error(&ask(&mut client, SAVE, arguments), code, &[]);
    }
    assert_eq!(files(&explorer.home.work()).len(), 6);
}

#[test]
fn us5_2_research_that_is_not_completed_is_refused_with_its_status() {
    let explorer = Explorer::new();
    explorer.api.on(|input| match input {
        "failed" => Script::failed("internal_error", "It broke."),
        _ => Script::until(Until::Never),
    });
    let mut client = explorer.connect();
    let ids = ["running", "failed", "cancelled"].map(|question| start(&mut client, question));
    wait_for_status(&mut client, &ids[1], "failed");
    cancel(&mut client, &ids[2]);
    for (id, status) in ids.iter().zip(["running_async", "failed", "cancelled"]) {
        let refused = ask(&mut client, SAVE, json!({ "task_id": id }));
        assert_error(&refused, "NOT_COMPLETED", &["is not completed", status]);
        assert_eq!((&refused["status"], &refused["task_id"]), (&json!(status), &json!(id)));
        let refused = explorer.run(["save", id]).assert_failure();
        assert!(refused.stderr.contains(status), "{}", refused.transcript());
    }
    assert_eq!(files(&explorer.home.work()), [""; 0].map(PathBuf::from));
}

#[test]
fn us5_3_without_metadata_the_file_is_smaller() {
    let (_explorer, mut client, id) = done();
    let (whole, with) = saved(&mut client, json!({ "task_id": id }));
    let (bare, without) = saved(&mut client, json!({ "task_id": id, "include_metadata": false }));
    assert!(with.starts_with("---\n") && with.contains("cost"), "{with}");
    assert!(!without.starts_with("---"), "{without}");
    for word in [&id, "deep-research-preview-04-2026"] {
        assert!(with.contains(word) && !without.contains(word), "{word}: {without}");
    }
    assert!(without.len() < with.len());
    assert!(bare["file_size_kb"].as_f64() < whole["file_size_kb"].as_f64());
    assert!(without.contains("Finding 3 is") && without.contains("## Sources"), "{without}");
}

#[test]
fn us5_3_sources_can_be_left_out_too() {
    let (_explorer, mut client, id) = done();
    let (_, text) = saved(&mut client, json!({ "task_id": id, "include_sources": false }));
    assert!(text.contains("Finding 3 is") && !text.contains("## Sources"), "{text}");
}

#[test]
fn a_report_is_saved_on_the_command_line_and_as_a_page() {
    let (explorer, _client, id) = done();
    let printed = explorer.run(["save", &id, "--output-dir", "kept"]).assert_success();
    let path = PathBuf::from(printed.stdout.trim_end());
    assert!(fs::read_to_string(&path).unwrap().contains("Finding 3 is"));
    let page = explorer
        .run(["save", &id, "--output-dir", "kept", "--format", "html", "--json"])
        .assert_success()
        .json();
    let html = fs::read_to_string(path_of(&page)).unwrap();
    assert!(html.starts_with("<!DOCTYPE html>") || html.starts_with("<!doctype html>"), "{html}");
    assert!(html.contains("Finding 3 is"));
}
