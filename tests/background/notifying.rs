//! The user is told of the end of research once, whoever saw it and however many
//! servers there are.

use serde_json::json;

use crate::support::client::Client;
use crate::support::explorer::{Explorer, cancel, start, start_with, wait_for_status};
use crate::support::interactions::{Script, Until};

const QUESTION: &str = "How do tide tables compare?";

#[test]
fn one_notification_each_although_several_servers_share_the_database() {
    let explorer = Explorer::new();
    let mut servers: Vec<Client> = (0..4).map(|_| explorer.connect()).collect();
    let questions: Vec<String> = (0..8).map(|number| format!("Question {number}?")).collect();
    let ids: Vec<String> = questions
        .iter()
        .enumerate()
        .map(|(number, question)| start(&mut servers[number % 4], question))
        .collect();
    for id in &ids {
        assert_eq!(explorer.wait_until_told(id), "completed");
    }
    // Another look of each server finds nothing more to tell.
    let last = start(&mut servers[0], QUESTION);
    explorer.wait_until_told(&last);
    drop(servers);
    explorer.run(["worker", "--until-done"]).assert_success();
    let mut told = explorer.told();
    assert_eq!(told.len(), ids.len() + 1, "{told:?}");
    told.sort();
    told.dedup();
    assert_eq!(told.len(), ids.len() + 1);
}

#[test]
fn what_ended_while_nobody_could_tell_is_told_at_the_next_start() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    wait_for_status(&mut client, &id, "completed");
    explorer.wait_until_told(&id);
    client.kill();
    // As if the server had been killed before it could.
    explorer.database().execute("UPDATE tasks SET notified_at = NULL", []).unwrap();
    let _client = explorer.connect();
    crate::support::explorer::wait_for("a second line", || {
        (explorer.told().len() == 2).then_some(())
    });
}

#[test]
fn a_failure_is_told_and_a_cancel_is_not() {
    let explorer = Explorer::new();
    explorer.api.on(|input| match input {
        "It fails?" => Script::failed("internal_error", "It broke."),
        _ => Script::until(Until::Never),
    });
    let mut client = explorer.connect();
    let cancelled = start(&mut client, QUESTION);
    explorer.wait_for_looks(QUESTION, 1);
    cancel(&mut client, &cancelled);
    let failed = start(&mut client, "It fails?");
    assert_eq!(explorer.wait_until_told(&failed), "failed");
    assert_eq!(explorer.told().len(), 1, "{:?}", explorer.told());
}

#[test]
fn what_comes_back_at_once_needs_no_notification_to_be_seen_and_has_one_all_the_same() {
    let explorer = Explorer::who_waits(crate::support::explorer::PATIENTLY);
    let mut client = explorer.connect();
    let quiet = json!({ "query": "Quietly?", "enable_notifications": false });
    start_with(&mut client, quiet);
    let id = start(&mut client, QUESTION);
    assert_eq!(explorer.wait_until_told(&id), "completed");
    assert_eq!(explorer.told().len(), 1, "{:?}", explorer.told());
}
