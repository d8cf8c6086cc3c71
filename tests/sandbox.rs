//! Plugins that misbehave in a call. Each costs one call and nothing else: the
//! error names the plugin and the limit, and meanwhile other calls are answered.

use serde_json::json;

use crate::support::client::{LEGACY_NEW, error_of, text_of};
use crate::support::components::hostile;
use crate::support::documents::Documents;
use crate::support::home::Home;

/// Puts a component in the place of the strategy, asks a question on the command
/// line and over MCP, and checks that both errors hold all of `words`.
#[track_caller]
fn assert_costs_one_call(component: &str, limits: &str, words: &[&str]) {
    let home = home_with_strategy(component, limits);
    let documents = Documents::new();

    let finished = home
        .run(
            ["research", "When do spring tides come?", "--docs"]
                .map(Into::into)
                .into_iter()
                .chain([documents.path().as_os_str().to_owned()]),
        )
        .assert_failure();
    assert_told(&finished.stderr, words);
    assert!(finished.stdout.is_empty(), "{}", finished.transcript());

    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    let call = client.request(
        "tools/call",
        json!({ "name": "deep_search", "arguments": { "query": "when do spring tides come" } }),
    );
    // Sent after the hostile call, and not held up by it.
    let pong = client.call("ping", json!({}));
    assert!(pong["result"].is_object(), "{pong:#}");
    let list = client.call("tools/list", json!({}));
    assert!(list["result"]["tools"].is_array(), "{list:#}");
    assert_told(&error_of(&client.answer(call)), words);
    // The instance is gone, the server is not: the same again.
    let again = client.call_tool("deep_search", json!({ "query": "when do spring tides come" }));
    assert_told(&error_of(&again), words);
    let ended = client.end();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
}

#[track_caller]
fn assert_told(message: &str, words: &[&str]) {
    for word in ["hostile"].iter().chain(words) {
        assert!(message.contains(word), "{word:?} is missing in: {message}");
    }
    for noise in ["wasm backtrace", "wasm trap", "0x", "thread 'main'"] {
        assert!(!message.contains(noise), "{noise:?} is nothing a user can read: {message}");
    }
}

fn home_with_strategy(component: &str, limits: &str) -> Home {
    Home::with_config(&format!(
        "[use]\nstrategy = \"hostile\"\n\n[plugins.hostile]\nsource = '{}'\n\n\
         [plugins.hostile.limits]\n{limits}\n",
        hostile(component).display()
    ))
}

#[test]
fn endless_loop() {
    assert_costs_one_call(
        "endless_loop",
        "compute_seconds = 1",
        &["more than 1 s", "compute_seconds"],
    );
}

#[test]
fn endless_recursion() {
    assert_costs_one_call("endless_recursion", "", &["stack"]);
}

#[test]
fn memory_bomb() {
    assert_costs_one_call("memory_bomb", "", &["64 MiB", "memory_mb"]);
}

#[test]
fn a_smaller_memory_limit_is_kept_too() {
    assert_costs_one_call("memory_bomb", "memory_mb = 8", &["8 MiB", "memory_mb"]);
}

#[test]
fn panic() {
    assert_costs_one_call("panic", "", &["crashed", "the depth gauge reads below zero"]);
}

#[test]
fn giant_value() {
    assert_costs_one_call("giant_value", "", &["16 MiB", "value_mb"]);
}

#[test]
fn host_call_flood() {
    assert_costs_one_call(
        "host_call_flood",
        "host_calls = 5000\ncompute_seconds = 60",
        &["5000 calls", "host_calls"],
    );
}

#[test]
fn a_loop_before_any_question_is_asked() {
    assert_costs_one_call("endless_loop_described", "compute_seconds = 1", &["1 s"]);
}

/// One backend spins; a tool that is served by another answers all the while.
#[test]
fn a_spinning_backend_does_not_hold_up_another_tool() {
    let documents = Documents::new();
    let home = Home::with_config(&format!(
        "[tools.deep_search]\nsearch = \"hostile\"\n\n[plugins.hostile]\nsource = '{}'\n\n\
         [plugins.hostile.limits]\ncompute_seconds = 5\n",
        hostile("endless_loop_search").display()
    ));
    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    // Once alone, so that what is compiled and indexed now is not timed below.
    let alone = client.call_tool("search", json!({ "query": "backups kept" }));
    assert!(text_of(&alone).contains("operations.md"), "{alone:#}");

    let spinning: Vec<u64> = (0..4)
        .map(|_| {
            let question = json!({ "query": "when do spring tides come" });
            client.request("tools/call", json!({ "name": "deep_search", "arguments": question }))
        })
        .collect();
    for _ in 0..10 {
        let answer = client.call_tool("search", json!({ "query": "backups kept" }));
        assert!(text_of(&answer).contains("operations.md"), "{answer:#}");
    }
    assert!(
        spinning.iter().all(|id| !client.has_answer(*id)),
        "ten searches took longer than the hostile call"
    );
    for id in spinning {
        assert_told(&error_of(&client.answer(id)), &["more than 5 s"]);
    }
    assert!(client.end().status.success());
}

/// The end of input does not wait for a plugin that will not stop.
#[test]
fn a_spinning_plugin_does_not_hold_up_the_end() {
    let home = home_with_strategy("endless_loop", "compute_seconds = 60");
    let documents = Documents::new();
    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    client.request(
        "tools/call",
        json!({ "name": "deep_search", "arguments": { "query": "when do spring tides come" } }),
    );
    client.call("ping", json!({}));
    let ended = client.end();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(ended.elapsed.as_secs() < 5, "{:?}", ended.elapsed);
}
