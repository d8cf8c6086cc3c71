//! Components that are refused before they run: what they import, which contract
//! they speak, what they are, and whether they are the ones that were pinned.

use std::fs;

use serde_json::json;

use crate::support::client::{LEGACY_NEW, error_of};
use crate::support::components::hostile;
use crate::support::documents::Documents;
use crate::support::home::Home;

/// The command line fails and the error says all of `words`; the server starts,
/// says the same to the one who asks, and goes on. Returns the error.
#[track_caller]
fn assert_refused(home: &Home, words: &[&str]) -> String {
    let documents = Documents::new();
    let mut command = home.command(["research", "When do spring tides come?", "--docs"]);
    command.arg(documents.path());
    let finished = crate::support::program::run(&mut command).assert_failure();
    assert_told(&finished.stderr, words);
    assert!(finished.stdout.is_empty(), "{}", finished.transcript());

    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    let answer = client.call_tool("deep_search", json!({ "query": "when do spring tides come" }));
    assert_told(&error_of(&answer), words);
    let list = client.call("tools/list", json!({}));
    assert!(list["result"]["tools"].is_array(), "{list:#}");
    assert_eq!(client.end().status.code(), Some(0));
    finished.stderr
}

#[track_caller]
fn assert_told(message: &str, words: &[&str]) {
    for word in ["cannot load plugin hostile"].iter().chain(words) {
        assert!(message.contains(word), "{word:?} is missing in: {message}");
    }
}

fn strategy(source: &std::path::Path, more: &str) -> Home {
    Home::with_config(&format!(
        "[use]\nstrategy = \"hostile\"\n\n[plugins.hostile]\nsource = '{}'\n{more}\n",
        source.display()
    ))
}

fn search(source: &std::path::Path) -> Home {
    Home::with_config(&format!(
        "[tools.research]\nsearch = \"hostile\"\n\n[tools.deep_search]\nsearch = \"hostile\"\n\n\
         [plugins.hostile]\nsource = '{}'\n",
        source.display()
    ))
}

#[test]
fn a_strategy_that_imports_files() {
    assert_refused(&strategy(&hostile("imports_files"), ""), &["wasi:filesystem", "strategy"]);
}

#[test]
fn a_strategy_that_imports_the_network() {
    assert_refused(&strategy(&hostile("imports_network"), ""), &["wasi:sockets", "strategy"]);
}

#[test]
fn a_strategy_that_imports_processes() {
    assert_refused(&strategy(&hostile("imports_process"), ""), &["process", "strategy"]);
}

/// No grant makes a strategy into something that may reach out.
#[test]
fn a_strategy_that_is_granted_a_program_is_refused_all_the_same() {
    let grants = "[plugins.hostile.grants]\ncommands = [\"true\"]";
    assert_refused(&strategy(&hostile("imports_process"), grants), &["process", "strategy"]);
}

#[test]
fn a_backend_that_imports_http_without_a_grant() {
    assert_refused(&search(&hostile("imports_http")), &["http", "hosts"]);
}

#[test]
fn another_version_of_the_contract() {
    assert_refused(&strategy(&hostile("wrong_version"), ""), &["0.2.0", "0.1"]);
}

#[test]
fn a_strategy_in_the_place_of_a_search_backend() {
    assert_refused(&search(&hostile("panic")), &["strategy", "search"]);
}

#[test]
fn a_plugin_that_lies_about_its_kind() {
    assert_refused(&strategy(&hostile("lies_about_kind"), ""), &["extractor", "strategy"]);
}

#[test]
fn a_core_module() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("core.wasm");
    // The smallest module there is: magic number and version.
    fs::write(&path, b"\0asm\x01\0\0\0").expect("a file");
    assert_refused(&strategy(&path, ""), &["component", "module"]);
}

#[test]
fn bytes_that_are_no_wasm() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("noise.wasm");
    let noise: Vec<u8> =
        (0..4096_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    fs::write(&path, noise).expect("a file");
    assert_refused(&strategy(&path, ""), &["component"]);
    fs::write(&path, b"").expect("a file");
    assert_refused(&strategy(&path, ""), &["component"]);
}

#[test]
fn a_component_that_was_cut_off() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("torn.wasm");
    let whole = fs::read(hostile("panic")).expect("a component");
    fs::write(&path, &whole[..whole.len() / 2]).expect("a file");
    assert_refused(&strategy(&path, ""), &[]);
}

#[test]
fn a_component_that_is_not_there() {
    let home = strategy(std::path::Path::new("no/such/plugin.wasm"), "");
    let documents = Documents::new();
    let mut command = home.command(["research", "When do spring tides come?", "--docs"]);
    command.arg(documents.path());
    let finished = crate::support::program::run(&mut command).assert_failure();
    for word in ["hostile", "no/such/plugin.wasm"] {
        assert!(finished.stderr.contains(word), "{}", finished.transcript());
    }
}

#[test]
fn a_wrong_digest() {
    let pinned = format!("sha256 = \"{}\"", "0".repeat(64));
    let told = assert_refused(&strategy(&hostile("panic"), &pinned), &["sha256"]);
    assert!(told.contains(&"0".repeat(64)), "the pinned digest is shown: {told}");
}

/// The digest is of the bytes, and the right one lets the component in.
#[test]
fn the_right_digest() {
    use sha2::{Digest as _, Sha256};
    use std::fmt::Write as _;

    let path = hostile("panic");
    let digest = Sha256::digest(fs::read(&path).expect("a component"));
    let mut pinned = String::from("sha256 = \"");
    for byte in digest {
        let _ = write!(pinned, "{byte:02x}");
    }
    pinned.push('"');
    let home = strategy(&path, &pinned);
    let documents = Documents::new();
    let mut command = home.command(["research", "When do spring tides come?", "--docs"]);
    command.arg(documents.path());
    let finished = crate::support::program::run(&mut command).assert_failure();
    assert!(finished.stderr.contains("hostile crashed"), "{}", finished.transcript());
}

/// A repository that somebody else wrote cannot bring code along.
#[test]
fn a_file_that_was_merely_found_may_not_load_a_component() {
    let (home, documents) = (Home::new(), Documents::new());
    let config = format!(
        "[use]\nstrategy = \"hostile\"\n\n[plugins.hostile]\nsource = '{}'\n",
        hostile("panic").display()
    );
    fs::write(home.work().join("plugins.toml"), config).expect("a file");
    let mut command = home.command(["research", "When do spring tides come?", "--docs"]);
    command.arg(documents.path());
    let finished = crate::support::program::run(&mut command).assert_failure();
    for word in ["plugins.toml:5", "hostile", "--config"] {
        assert!(finished.stderr.contains(word), "{}", finished.transcript());
    }
    assert!(!finished.stderr.contains("crashed"), "it ran: {}", finished.transcript());
}

/// What is installed can be looked at without running it.
#[test]
fn plugin_list_names_the_broken_one_and_shows_the_others() {
    let home = strategy(&hostile("imports_files"), "");
    let finished = home.run(["plugin", "list"]);
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert!(
        said.contains("hostile") && said.contains("wasi:filesystem"),
        "{}",
        finished.transcript()
    );
    assert!(said.contains("search-documents"), "{}", finished.transcript());
    assert_ne!(finished.status.code(), Some(101), "{}", finished.transcript());
}
