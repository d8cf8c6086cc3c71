//! Corrections beside each other, and what they may see.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::json;

use crate::support::gemini_cli::{Recorded, Run};
use crate::support::researcher::{Researcher, file_to_correct, is_correction, report, structured};

fn corrections(runs: &[Recorded]) -> Vec<&Recorded> {
    runs.iter().filter(|run| is_correction(run)).collect()
}

/// Eight of them under way at the same moment, four from each of two servers of one
/// user: more than seconds could tell apart.
#[test]
fn corrections_in_the_same_second_do_not_meet() {
    let user = Researcher::with_config("[plugins.agent-gemini-cli.limits]\nconcurrency = 16\n");
    let mut hold = user.fake.hold();
    user.fake
        .when("You are a JSON formatter", &Run::answers(&report("Corrected", false)).held_by(&hold))
        .when("You are a sceptical fact-checker", &Run::answers(&report("Checked", true)))
        .otherwise(&Run::answers("This is no JSON: ECHO").echoes());
    let mut clients = [user.connect(), user.connect()];
    let mut requests = Vec::new();
    for (server, client) in clients.iter_mut().enumerate() {
        for number in 1..=4 {
            let query = format!("What is question-{server}{number}?");
            requests.push((server, client.begin("deep_search", json!({ "query": query }))));
        }
    }
    let runs = user.fake.wait_until("eight corrections", |runs| corrections(runs).len() == 8);
    let corrections = corrections(&runs);
    let files: BTreeSet<PathBuf> = corrections.iter().map(|run| file_to_correct(run)).collect();
    assert_eq!(files.len(), 8, "each has a file of its own: {files:?}");
    let directories: BTreeSet<_> = files.iter().filter_map(|file| file.parent()).collect();
    assert_eq!(directories.len(), 8, "and a directory of its own: {directories:?}");
    let mut texts = BTreeSet::new();
    for file in &files {
        // All are there at once, each with what one answer said, for nobody else to read.
        texts.insert(fs::read_to_string(file).expect("it is needed"));
        let mode = fs::metadata(file).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{mode:o}");
    }
    assert_eq!(texts.len(), 8, "{texts:?}");
    for run in corrections {
        let [(_, text)] = &run.included[..] else { panic!("one file: {:?}", run.included) };
        assert_eq!(text, &fs::read_to_string(file_to_correct(run)).expect("it is needed"));
    }
    // A server that starts meanwhile takes none of them for an orphan.
    let third = user.connect();
    third.wait_for_log("[INFO] cleaned up 0 orphaned temp files");
    drop(third);
    hold.release();
    for (server, id) in requests {
        let answer = structured(&clients[server].answer(id));
        assert_eq!(answer["result"], "Checked", "{answer:#}");
    }
    assert!(files.iter().all(|file| !file.exists()));
    user.wait_until_nothing_is_left();
}

/// It is the whole text, also where the CLI's own reader would cut it.
#[test]
fn a_long_text_is_corrected_as_a_whole() {
    let user = Researcher::new();
    let talk = format!("No JSON, but a long line: {} and its end.", "deep ".repeat(2000));
    user.fake
        .then(&Run::answers(&talk))
        .then(&Run::answers(&report("Corrected", false)))
        .then(&Run::answers(&report("Checked", true)));
    let asked = user.deep_search("How deep?");
    assert_eq!(asked.answer["result"], "Checked");
    let runs = user.wait_until_nothing_is_left();
    assert_eq!(runs[1].included[0].1, talk);
    assert!(runs[1].input.as_deref().is_some_and(|prompt| prompt.contains("and its end.")));
}

/// An error in a correction is that error, and not bad JSON.
#[test]
fn a_correction_that_cannot_succeed_is_not_repeated() {
    let user = Researcher::new();
    user.fake
        .then(&Run::answers("This is no JSON."))
        .then(&Run::daily_quota())
        .otherwise(&Run::answers(&report("Paid for in vain", false)));
    let asked = user.deep_search("How deep?");
    assert_eq!(asked.answer["error"]["code"], "QUOTA_EXHAUSTED", "{:#}", asked.answer);
    assert_eq!(asked.log("[ERROR] JSON correction failed: ").len(), 1);
    assert_eq!(user.wait_until_nothing_is_left().len(), 2);
}
