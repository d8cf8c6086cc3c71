//! Things that are not JSON-RPC, or not what the protocol allows: each gets an
//! error, and the server goes on.

use serde_json::{Value, json};

use crate::support::client::{Client, LEGACY_NEW};
use crate::support::documents::Documents;
use crate::support::home::Home;

/// Sends a line to an open session, and checks that it is answered by an error
/// and that the session still works.
#[track_caller]
fn assert_refused(line: &[u8]) -> Value {
    let (home, documents) = (Home::new(), Documents::new());
    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    client.send_line(line);
    let error = client.stray_error();
    assert!(error["error"]["code"].is_i64(), "{error:#}");
    assert!(error["error"]["message"].as_str().is_some_and(|text| !text.is_empty()), "{error:#}");
    assert_works(client);
    error
}

#[track_caller]
fn assert_works(mut client: Client) {
    let list = client.call("tools/list", json!({}));
    assert!(list["result"]["tools"].is_array(), "{list:#}");
    let ended = client.end();
    assert!(ended.status.success(), "{ended:?}");
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
}

#[test]
fn broken_json() {
    let error = assert_refused(br#"{"jsonrpc":"2.0","id":7,"method":"tools/"#);
    assert_eq!(error["error"]["code"], -32700, "{error:#}");
}

#[test]
fn bytes_that_are_not_text() {
    assert_refused(b"\xff\xfe\x00\x01 not even UTF-8 \x80");
}

#[test]
fn json_that_is_no_message() {
    assert_refused(b"42");
    assert_refused(br#""hello""#);
    assert_refused(br#"{"hello":"sailor"}"#);
}

#[test]
fn a_batch() {
    assert_refused(
        br#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#,
    );
}

#[test]
fn a_deeply_nested_value() {
    let mut line = br#"{"jsonrpc":"2.0","id":7,"method":"ping","params":"#.to_vec();
    line.extend(std::iter::repeat_n(b'[', 100_000));
    assert_refused(&line);
}

#[test]
fn an_empty_line_is_passed_over() {
    let (home, documents) = (Home::new(), Documents::new());
    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    client.send_line(b"");
    client.send_line(b"\r");
    assert_works(client);
}

#[test]
fn wrong_types() {
    let (home, documents) = (Home::new(), Documents::new());
    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    client.send(&json!({ "jsonrpc": "2.0", "id": 70, "method": "tools/call", "params": "search" }));
    let answer = error_for(&mut client, 70);
    assert!(answer["error"]["code"].is_i64(), "{answer:#}");
    client.send(&json!({
        "jsonrpc": "2.0", "id": 71, "method": "tools/call", "params": { "name": 3, "arguments": [] },
    }));
    let answer = error_for(&mut client, 71);
    assert!(answer["error"]["code"].is_i64(), "{answer:#}");
    assert_works(client);
}

#[test]
fn an_unknown_method() {
    let (home, documents) = (Home::new(), Documents::new());
    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    let answer = client.call("tools/levitate", json!({}));
    assert_eq!(answer["error"]["code"], -32601, "{answer:#}");
    client.notify("notifications/levitated", json!({}));
    assert_works(client);
}

#[test]
fn a_request_before_the_session_is_open() {
    let (home, documents) = (Home::new(), Documents::new());
    let mut client = home.serve(documents.path());
    let answer = client.call("tools/list", json!({}));
    assert!(answer["error"]["code"].is_i64(), "neither a session nor a context: {answer:#}");
}

#[test]
fn an_answer_to_nothing_is_passed_over() {
    let (home, documents) = (Home::new(), Documents::new());
    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    client.send(&json!({ "jsonrpc": "2.0", "id": 999, "result": {} }));
    client.notify("notifications/cancelled", json!({ "requestId": 12_345 }));
    assert_works(client);
}

#[test]
fn a_line_of_seventeen_mebibytes() {
    let (home, documents) = (Home::new(), Documents::new());
    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    let question = "tide ".repeat((17 << 20) / 5);
    let id = client
        .request("tools/call", json!({ "name": "search", "arguments": { "query": question } }));
    let answer = error_for(&mut client, id);
    let text = answer.to_string();
    assert!(text.len() < 10_000, "the error does not repeat the question");
    assert_works(client);
}

/// The error for a message that was read as a request or was not: by its id, or
/// without one.
#[track_caller]
fn error_for(client: &mut Client, id: u64) -> Value {
    let answer = client.answer_or_stray_error(id);
    assert!(
        answer.get("error").is_some() || answer["result"]["isError"] == true,
        "an error was to come: {answer:#}"
    );
    answer
}
