//! Starting and ending: what the server does when its client goes away.

use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use serde_json::json;

use crate::support::client::LEGACY_NEW;
use crate::support::documents::Documents;
use crate::support::home::Home;

/// The server ends within 200 ms; the benchmark measures that. Here the machine
/// may be busy, and only a hang is a fault.
const PROMPT: Duration = Duration::from_secs(2);

#[test]
fn the_end_of_input_ends_an_idle_server() {
    let (home, documents) = (Home::new(), Documents::new());
    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    let ended = client.end();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(ended.elapsed < PROMPT, "{:?}", ended.elapsed);
    assert!(ended.rest.is_empty(), "{:?}", ended.rest);
}

#[test]
fn the_end_of_input_before_the_first_request_is_no_error() {
    let (home, documents) = (Home::new(), Documents::new());
    let ended = home.serve(documents.path()).end();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(ended.rest.is_empty(), "{:?}", ended.rest);
    assert!(!ended.stderr.to_lowercase().contains("error"), "{}", ended.stderr);
}

#[test]
fn the_end_of_input_ends_a_busy_server() {
    let (home, documents) = (Home::new(), Documents::many(100));
    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    client.begin_deep_search();
    let ended = client.end();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(ended.elapsed < PROMPT, "{:?}", ended.elapsed);
    assert_database_is_sound(&home);
}

#[test]
fn sigterm_ends_the_server_cleanly() {
    let (home, documents) = (Home::new(), Documents::new());
    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    client.call_tool("search", json!({ "query": "spring tides" }));
    let ended = client.terminate();
    // 0, or the shell's number for the signal: never death by the signal itself.
    assert!(matches!(ended.status.code(), Some(0 | 143)), "{ended:?}");
    assert!(ended.elapsed < PROMPT, "{:?}", ended.elapsed);
    assert_database_is_sound(&home);
}

#[test]
fn sigterm_ends_a_busy_server() {
    let (home, documents) = (Home::new(), Documents::many(100));
    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    client.begin_deep_search();
    let ended = client.terminate();
    assert!(matches!(ended.status.code(), Some(0 | 143)), "{ended:?}");
    assert!(ended.elapsed < PROMPT, "{:?}", ended.elapsed);
    assert_database_is_sound(&home);
}

#[test]
fn logs_go_to_stderr() {
    let (home, documents) = (Home::new(), Documents::new());
    let mut command = home.serve_command(documents.path());
    command.arg("-vv");
    let mut client = crate::support::client::Client::start(command);
    client.initialize(LEGACY_NEW);
    client.call_tool("search", json!({ "query": "spring tides" }));
    // The client fails on any line of standard output that is not JSON-RPC.
    assert!(client.end().status.success());
}

/// Every SQLite file of this home is whole.
#[track_caller]
pub fn assert_database_is_sound(home: &Home) {
    let mut directories = vec![home.data()];
    let mut checked = 0;
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).expect("a directory") {
            let path = entry.expect("a readable directory").path();
            if path.is_dir() {
                directories.push(path);
            } else if is_database(&path) {
                let connection =
                    Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)
                        .expect("an open database");
                let verdict: String = connection
                    .query_row("PRAGMA integrity_check", [], |row| row.get(0))
                    .expect("a verdict");
                assert_eq!(verdict, "ok", "{}", path.display());
                let violations: Vec<String> = connection
                    .prepare("PRAGMA foreign_key_check")
                    .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
                    .expect("a list");
                assert!(violations.is_empty(), "{}: {violations:?}", path.display());
                checked += 1;
            }
        }
    }
    assert!(checked > 0, "no database in {}", home.data().display());
}

fn is_database(path: &std::path::Path) -> bool {
    use std::io::Read as _;
    let mut start = [0; 16];
    std::fs::File::open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok())
        && &start == b"SQLite format 3\0"
}
