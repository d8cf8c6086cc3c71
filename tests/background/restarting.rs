//! Research goes on whichever process is there: after a kill, after the client has
//! gone, and with no client at all.

use serde_json::json;

use crate::support::client::{Client, Ended};
use crate::support::explorer::{
    Explorer, PATIENTLY, ask, list, results, start, status, wait_for, wait_for_status,
};
use crate::support::interactions::{Fault, Script, Until};

const QUESTION: &str = "How do tide tables compare?";

/// Ends a server in the middle of research; the next one finishes it.
fn goes_on_after(end: fn(Client) -> Ended) {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script::until(Until::Released));
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    explorer.wait_for_looks(QUESTION, 2);
    end(client);
    // Nobody looks after it, and it is not lost.
    let told = explorer.status(&id);
    assert_eq!(told["status"], "running_async", "{told:#}");
    assert!(told["note"].as_str().unwrap().contains("bathysphere worker"), "{told:#}");
    explorer.api.release(QUESTION);
    let mut client = explorer.connect();
    wait_for_status(&mut client, &id, "completed");
    assert_eq!(explorer.wait_until_told(&id), "completed");
    assert_eq!(explorer.api.log().creates(QUESTION), 1);
}

#[test]
fn research_goes_on_after_a_kill() {
    goes_on_after(Client::kill);
}

#[test]
fn research_goes_on_after_the_client_has_closed() {
    goes_on_after(Client::end);
}

#[test]
fn research_goes_on_after_a_termination() {
    goes_on_after(Client::terminate);
}

#[test]
fn a_worker_sees_to_everything_that_was_left() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script::until(Until::Released));
    let mut client = explorer.connect();
    let questions = ["One?", "Two?", "Three?"];
    let ids = questions.map(|question| start(&mut client, question));
    for question in questions {
        explorer.wait_for_looks(question, 1);
        explorer.api.release(question);
    }
    client.kill();
    let worked = explorer.run(["worker", "--until-done"]).assert_success();
    assert_eq!(worked.stdout, "", "{}", worked.transcript());
    for (question, id) in questions.iter().zip(&ids) {
        assert_eq!(explorer.status(id)["status"], "completed");
        assert_eq!(explorer.api.log().creates(question), 1);
        // Of each the user was told, with no server there.
        assert_eq!(explorer.wait_until_told(id), "completed");
    }
    // With nothing to do it ends at once.
    explorer.run(["worker", "--until-done"]).assert_success();
    assert_eq!(explorer.told().len(), 3);
}

#[test]
fn a_worker_goes_on_until_it_is_ended() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script::until(Until::Released));
    let worker = Client::start(explorer.command(["worker"]));
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    explorer.wait_for_looks(QUESTION, 1);
    client.kill();
    explorer.api.release(QUESTION);
    wait_for("the end", || (explorer.status(&id)["status"] == "completed").then_some(()));
    let ended = worker.terminate();
    assert_eq!(ended.status.code(), Some(143), "{ended:?}");
}

/// The client does not wait for the answer: the start is at the vendor, and its name
/// is known.
#[test]
fn a_client_that_closes_right_after_the_start_loses_nothing() {
    let explorer = Explorer::who_waits(PATIENTLY);
    let slow = Fault::Delay(std::time::Duration::from_secs(2));
    explorer.api.on(move |_| Script { creates: vec![slow.clone()], ..Script::default() });
    let mut client = explorer.connect();
    client.begin("start_deep_research", json!({ "query": QUESTION }));
    explorer.api.wait_for("a start", |log| log.creates(QUESTION) == 1);
    let ended = client.end();
    assert!(ended.status.success(), "{ended:?}");
    let mut client = explorer.connect();
    let listed = list(&mut client, json!({}));
    assert_eq!(listed["count"], 1, "{listed:#}");
    let id = listed["tasks"][0]["task_id"].as_str().unwrap();
    wait_for_status(&mut client, id, "completed");
    assert_eq!(explorer.api.log().creates(QUESTION), 1);
}

/// A client that cancels its request wants no answer, but the research was paid for.
#[test]
fn a_request_that_is_cancelled_leaves_the_research_running() {
    let explorer = Explorer::who_waits(PATIENTLY);
    explorer.api.on(|_| Script::until(Until::Released));
    let mut client = explorer.connect();
    let request = client.begin("start_deep_research", json!({ "query": QUESTION }));
    explorer.wait_for_looks(QUESTION, 1);
    client.notify("notifications/cancelled", json!({ "requestId": request }));
    let listed = list(&mut client, json!({}));
    let id = listed["tasks"][0]["task_id"].as_str().unwrap().to_owned();
    assert_eq!(status(&mut client, &id)["status"], "running_async");
    explorer.api.release(QUESTION);
    wait_for_status(&mut client, &id, "completed");
    let job = &explorer.api.log().ids(QUESTION)[0];
    assert_eq!(explorer.api.log().cancels(job), 0);
}

/// A process without the key leaves the task to one that has it.
#[test]
fn a_server_without_the_key_leaves_the_task_alone() {
    let mut explorer = Explorer::new();
    explorer.api.on(|_| Script::until(Until::Released));
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    explorer.wait_for_looks(QUESTION, 1);
    client.kill();
    explorer = explorer.with_variable("GEMINI_API_KEY", "");
    let mut keyless = explorer.connect();
    explorer = explorer.with_variable("GEMINI_API_KEY", crate::support::interactions::KEY);
    explorer.api.release(QUESTION);
    let mut client = explorer.connect();
    wait_for_status(&mut client, &id, "completed");
    // It can be read there all the same.
    assert_eq!(results(&mut keyless, &id)["success"], true);
}

/// Servers that share a database do not look at the same job.
#[test]
fn of_many_servers_one_looks_after_a_task() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script::until(Until::Released));
    let mut first = explorer.connect();
    let id = start(&mut first, QUESTION);
    explorer.wait_for_looks(QUESTION, 1);
    first.kill();
    let mut servers: Vec<Client> = (0..3).map(|_| explorer.connect()).collect();
    let looks = explorer.api.log().polls(&explorer.api.log().ids(QUESTION)[0]);
    explorer.wait_for_looks(QUESTION, looks + 20);
    let owners: i64 = explorer
        .database()
        .query_row("SELECT epoch FROM tasks WHERE id = ?1", [&id], |row| row.get(0))
        .unwrap();
    explorer.api.release(QUESTION);
    for server in &mut servers {
        wait_for_status(server, &id, "completed");
        let again = ask(server, "get_research_results", json!({ "task_id": id }));
        assert_eq!(again["success"], true, "{again:#}");
    }
    assert_eq!(owners, 2, "it changed hands once");
    assert_eq!(explorer.wait_until_told(&id), "completed");
    assert_eq!(explorer.told().len(), 1);
    assert_eq!(explorer.api.log().creates(QUESTION), 1);
}
