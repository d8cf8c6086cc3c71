//! Requirement: Startup Cleanup of Orphaned Temp Files.

use std::fs;

use serde_json::json;

use crate::support::client::Client;
use crate::support::gemini_cli::Run;
use crate::support::researcher::{Researcher, plain_report, structured};

/// Whether the server answers.
#[track_caller]
fn assert_at_work(client: &mut Client, user: &Researcher) {
    user.fake.otherwise(&Run::answers(&plain_report("923 m")));
    let answer = structured(&client.call_tool("search", json!({ "query": "How deep?" })));
    assert_eq!(answer["result"], "923 m");
}

#[test]
fn startup_cleanup_with_orphaned_files() {
    let user = Researcher::new();
    // WHEN the server starts and there are orphaned files in the config directory
    let corrections = user.configuration().join("corrections");
    let orphans = [
        user.configuration().join("temp-invalid-output-1763160000.txt"),
        corrections.join("one/temp-invalid-output-1763160001.txt"),
        corrections.join("two/temp-invalid-output-1763160002.txt"),
    ];
    let others = [
        user.configuration().join("notes.txt"),
        user.configuration().join("temp-invalid-output-notes.md"),
    ];
    for path in orphans.iter().chain(&others) {
        fs::create_dir_all(path.parent().expect("a directory")).expect("room");
        fs::write(path, "left behind").expect("room");
    }
    let mut client = user.connect();
    // THEN those of this name are found AND deleted, AND their number is logged
    client.wait_for_log("[INFO] cleaned up 3 orphaned temp files");
    for path in &orphans {
        assert!(!path.exists(), "{path:?}");
    }
    for path in &others {
        assert!(path.exists(), "{path:?}");
    }
    assert_at_work(&mut client, &user);
}

#[test]
fn startup_cleanup_with_no_orphaned_files() {
    // WHEN the server starts and there are none
    let user = Researcher::new();
    let mut client = user.connect();
    // THEN it looks, AND logs that there were 0, AND goes on
    client.wait_for_log("[INFO] cleaned up 0 orphaned temp files");
    assert_at_work(&mut client, &user);
}

#[test]
fn startup_cleanup_with_inaccessible_config_directory() {
    // WHEN the config directory does not exist, or cannot be read
    for as_a_file in [false, true] {
        let user = Researcher::new();
        fs::remove_dir(user.configuration()).expect("it is empty");
        if as_a_file {
            fs::write(user.configuration(), "").expect("room");
        }
        // THEN that is handled, AND a warning is logged, AND the server goes on
        let mut client = user.connect();
        client.wait_for_log("[WARN] the configuration directory");
        assert!(client.log().contains(user.configuration().to_str().expect("UTF-8")));
        assert_at_work(&mut client, &user);
    }
}
