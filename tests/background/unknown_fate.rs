//! A start whose fate is unknown may have been paid for: it is never sent again by
//! itself, and the user says what is to become of it.

use serde_json::{Value, json};

use crate::support::explorer::{
    Explorer, PATIENTLY, ask, assert_error, cancel, list, results, start, status, wait_for_status,
};
use crate::support::interactions::{Fault, Script};

const QUESTION: &str = "How do tide tables compare?";

/// Who gives up a start after a second.
fn impatient() -> Explorer {
    Explorer::with_config("[plugins.research-gemini.settings]\nstart_timeout_seconds = 1\n")
}

/// A task that needs attention, because its start was cut after it was taken.
fn parked(explorer: &Explorer) -> String {
    explorer.api.on(|_| Script::create(Fault::CutAfter));
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    wait_for_status(&mut client, &id, "needs_attention");
    id
}

#[test]
fn a_start_of_unknown_fate_is_parked_and_never_sent_again() {
    let faults = [
        ("cut before", Fault::CutBefore),
        ("cut after", Fault::CutAfter),
        ("cut in the middle", Fault::CutMiddle),
        ("hang", Fault::Hang),
        ("500 before", Fault::Status(500)),
        ("500 after", Fault::TakenThen(500)),
        ("503 after", Fault::TakenThen(503)),
        ("no json", Fault::Says("<html>".to_owned())),
        ("nothing", Fault::Says(String::new())),
        ("lies", Fault::WrongTypes),
    ];
    let questions: Vec<String> = faults.iter().map(|(name, _)| (*name).to_owned()).collect();
    let explorer = impatient();
    explorer.api.on(move |input| {
        let fault = faults.iter().find(|(name, _)| *name == input).expect("a fault");
        Script::create(fault.1.clone())
    });
    let mut client = explorer.connect();
    let ids: Vec<String> = questions.iter().map(|question| start(&mut client, question)).collect();
    for (id, question) in ids.iter().zip(&questions) {
        let told = wait_for_status(&mut client, id, "needs_attention");
        let failure = &told["failure"];
        assert_eq!(failure["code"], "NEEDS_ATTENTION", "{question}: {told:#}");
        let (message, hint) =
            (failure["message"].as_str().unwrap(), failure["hint"].as_str().unwrap());
        assert!(message.contains("may have been paid for"), "{question}: {message}");
        for way in ["task adopt", "task retry", "cancel"] {
            assert!(hint.contains(way), "{question}: {hint}");
        }
        assert_error(&results(&mut client, id), "NEEDS_ATTENTION", &[]);
    }
    // Neither this server, nor the next, nor a worker sends it again.
    client.kill();
    let mut client = explorer.connect();
    explorer.run(["worker", "--until-done"]).assert_success();
    let parked = list(&mut client, json!({ "status": "needs_attention" }));
    assert_eq!(parked["count"], questions.len(), "{parked:#}");
    for question in &questions {
        assert_eq!(explorer.api.log().creates(question), 1, "{question}");
    }
    // It has not ended, so that there is no end to tell of.
    assert_eq!(explorer.told(), [""; 0]);
}

#[test]
fn who_waits_for_the_start_is_told_that_its_fate_is_unknown() {
    let explorer = Explorer::who_waits(PATIENTLY);
    explorer.api.on(|_| Script::create(Fault::TakenThen(502)));
    let mut client = explorer.connect();
    let started = ask(&mut client, "start_deep_research", json!({ "query": QUESTION }));
    assert_error(&started, "NEEDS_ATTENTION", &["may have been paid for"]);
    assert_eq!(started["status"], "needs_attention");
    assert!(started["task_id"].is_string());
    let printed = explorer.run(["start", "Again?", "--json"]);
    assert_eq!(printed.code(), 1, "{}", printed.transcript());
    assert_eq!(printed.json()["status"], "needs_attention");
}

#[test]
fn a_task_that_is_adopted_is_completed_and_paid_for_once() {
    let explorer = Explorer::new();
    let id = parked(&explorer);
    let job = explorer.api.log().ids(QUESTION)[0].clone();
    // What is no name of an interaction is refused.
    explorer.run(["task", "adopt", &id, "two words"]).assert_failure();
    explorer.run(["task", "adopt", &id, ""]).assert_failure();
    let mut client = explorer.connect();
    let adopted = explorer.run(["task", "adopt", &id[..13], &job]).assert_success();
    assert!(adopted.stdout.contains(&job), "{}", adopted.transcript());
    wait_for_status(&mut client, &id, "completed");
    let read = results(&mut client, &id);
    assert!(read["report"].as_str().unwrap().contains("Finding 3"), "{read:#}");
    assert!(read["metadata"]["cost_usd"].as_f64().unwrap() > 0.5, "{read:#}");
    assert_eq!(explorer.wait_until_told(&id), "completed");
    assert_eq!(explorer.api.log().creates(QUESTION), 1);
    // It is decided, and stays so.
    for decision in [&["task", "adopt", &id, &job][..], &["task", "retry", &id]] {
        let refused = explorer.run(decision).assert_failure();
        assert!(refused.stderr.contains("completed"), "{}", refused.transcript());
    }
}

#[test]
fn a_task_that_is_adopted_without_a_server_goes_on_with_a_worker() {
    let explorer = Explorer::new();
    let id = parked(&explorer);
    let job = explorer.api.log().ids(QUESTION)[0].clone();
    explorer.run(["task", "adopt", &id, &job]).assert_success();
    assert_eq!(explorer.status(&id)["status"], "running_async");
    explorer.run(["worker", "--until-done"]).assert_success();
    assert_eq!(explorer.status(&id)["status"], "completed");
    assert_eq!(explorer.api.log().creates(QUESTION), 1);
}

#[test]
fn a_task_that_is_retried_is_started_once_more() {
    let explorer = Explorer::new();
    let id = parked(&explorer);
    let mut client = explorer.connect();
    explorer.run(["task", "retry", &id]).assert_success();
    wait_for_status(&mut client, &id, "completed");
    assert_eq!(explorer.api.log().creates(QUESTION), 2);
    assert_eq!(explorer.wait_until_told(&id), "completed");
}

#[test]
fn an_interaction_that_is_adopted_and_unknown_to_the_vendor_has_expired_until_the_right_one_is() {
    let explorer = Explorer::new();
    let id = parked(&explorer);
    let mut client = explorer.connect();
    explorer.run(["task", "adopt", &id, "v1_ffffffffffffffffffffffffffffffff"]).assert_success();
    let told = wait_for_status(&mut client, &id, "failed");
    assert_eq!(told["failure"]["code"], "EXPIRED", "{told:#}");
    let job = explorer.api.log().ids(QUESTION)[0].clone();
    explorer.run(["task", "adopt", &id, &job]).assert_success();
    wait_for_status(&mut client, &id, "completed");
    assert_eq!(explorer.api.log().creates(QUESTION), 1);
}

#[test]
fn a_task_that_is_retried_the_next_day_is_not_ended_for_being_late() {
    let explorer = Explorer::new();
    let id = parked(&explorer);
    explorer
        .database()
        .execute_batch(
            "UPDATE tasks SET created_at = created_at - 86400000, deadline = deadline - 86400000",
        )
        .unwrap();
    explorer.run(["task", "retry", &id]).assert_success();
    explorer.run(["worker", "--until-done"]).assert_success();
    assert_eq!(explorer.status(&id)["status"], "completed");
}

#[test]
fn what_could_not_be_started_in_time_is_not_started_and_paid_for_after_it() {
    let explorer = Explorer::new();
    let id = parked(&explorer);
    // As if the process had died before anything was sent.
    explorer
        .database()
        .execute_batch(
            "UPDATE calls SET state = 'failed';
             UPDATE tasks SET status = 'running', owner = '', deadline = created_at",
        )
        .unwrap();
    explorer.run(["worker", "--until-done"]).assert_success();
    let told = explorer.status(&id);
    assert_eq!(told["failure"]["code"], "TIMEOUT", "{told:#}");
    assert!(told["failure"]["message"].as_str().unwrap().contains("not started"), "{told:#}");
    assert_eq!(explorer.api.log().creates(QUESTION), 1, "the one of unknown fate");
}

#[test]
fn a_cancelled_task_is_not_revived_by_resuming_it() {
    let explorer = Explorer::new();
    let id = parked(&explorer);
    explorer.run(["cancel", &id]).assert_success();
    let refused = explorer.run(["deep-search", "--resume", &id]).assert_failure();
    assert!(refused.stderr.contains("stays so"), "{}", refused.transcript());
    assert_eq!(explorer.status(&id)["status"], "cancelled");
    assert_eq!(explorer.api.log().creates(QUESTION), 1);
}

#[test]
fn a_task_of_unknown_fate_can_be_given_up() {
    let explorer = Explorer::new();
    let id = parked(&explorer);
    let mut client = explorer.connect();
    let given_up = cancel(&mut client, &id);
    assert_eq!(
        (&given_up["success"], &given_up["status"], &given_up["vendor"]),
        (&json!(true), &json!("cancelled"), &json!("unknown"))
    );
    assert!(given_up["message"].as_str().unwrap().contains("console"), "{given_up:#}");
    explorer.run(["task", "retry", &id]).assert_failure();
    assert_eq!(status(&mut client, &id)["status"], "cancelled");
    assert_eq!(explorer.api.log().creates(QUESTION), 1);
}

/// A server that dies between the request and the answer cannot know either.
#[test]
fn a_server_that_is_killed_while_it_starts_leaves_a_task_that_needs_attention() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script::create(Fault::Hang));
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    explorer.api.wait_for("a start", |log| log.creates(QUESTION) == 1);
    client.kill();
    let mut client = explorer.connect();
    let told = wait_for_status(&mut client, &id, "needs_attention");
    assert_eq!(told["failure"]["code"], "NEEDS_ATTENTION", "{told:#}");
    assert_eq!(explorer.api.log().creates(QUESTION), 1);
    let next: Value = told["next"].clone();
    assert!(next.as_str().unwrap().contains("task adopt"), "{next}");
}
