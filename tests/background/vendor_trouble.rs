//! A vendor that stumbles, forgets, lies or says what nobody has heard before: a look
//! that fails is no failure of the research.

use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::explorer::{
    Explorer, ask, cancel, results, start, start_with, status, wait_for_status, wait_until,
};
use crate::support::interactions::{Ending, Fault, Script, Until};

const QUESTION: &str = "How do tide tables compare?";
pub const EXPIRED: &str = "Research session expired on Gemini servers. Task was interrupted and \
                           cannot be recovered.";

/// What a question comes to when it ends badly.
fn failed(explorer: &Explorer, client: &mut Client, script: Script) -> (String, Value) {
    explorer.api.on(move |_| script.clone());
    let id = start(client, QUESTION);
    let told = wait_for_status(client, &id, "failed");
    (id, told)
}

#[test]
fn looks_that_fail_are_no_failure() {
    let faults = [
        Fault::CutBefore,
        Fault::CutAfter,
        Fault::CutMiddle,
        Fault::Status(500),
        Fault::Status(503),
        Fault::Status(401),
        Fault::Status(400),
        Fault::RateLimited(1),
        Fault::RetryInfo(1),
        Fault::Says("{".to_owned()),
        Fault::Says("[]".to_owned()),
        Fault::Says(String::new()),
        Fault::WrongTypes,
        Fault::OtherId,
        Fault::Huge(20 << 20),
    ];
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    let mut ids = Vec::new();
    for (number, fault) in faults.iter().enumerate() {
        let question = format!("Trouble {number}: {fault:.20?}");
        let fault = fault.clone();
        explorer.api.on(move |_| Script::polls([Fault::No, fault.clone(), fault.clone()]));
        ids.push((start(&mut client, &question), question.clone()));
        // The next one is to have its own script.
        explorer.api.wait_for("a start", |log| log.creates(&question) == 1);
    }
    for (id, question) in ids {
        let ended =
            wait_until(&mut client, &id, "the end", |told| told["status"] != "running_async");
        assert_eq!(ended["status"], "completed", "{question}: {ended:#}");
        let read = results(&mut client, &id);
        assert!(read["report"].as_str().unwrap().contains("Finding 3"), "{question}: {read:#}");
        assert_eq!(explorer.api.log().creates(&question), 1, "{question}");
    }
}

#[test]
fn while_the_vendor_cannot_be_looked_at_the_task_runs_and_keeps_what_is_known() {
    let explorer = Explorer::new();
    explorer.api.on(|_| {
        let mut polls = vec![Fault::No; 12];
        polls.resize(10_000, Fault::CutBefore);
        Script { polls, ..Script::until(Until::Never) }
    });
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    explorer.wait_for_looks(QUESTION, 15);
    let told = status(&mut client, &id);
    assert_eq!(
        (&told["status"], &told["progress"]["pages_read"]),
        (&json!("running_async"), &json!(2))
    );
    assert!(client.log().contains("cannot be looked at just now"), "{}", client.log());
}

#[test]
fn one_passing_404_does_no_harm() {
    for lost in [Fault::Status(404), Fault::Status(403)] {
        let explorer = Explorer::new();
        explorer.api.on(move |_| {
            let polls = vec![Fault::No, lost.clone(), lost.clone(), Fault::No, lost.clone()];
            Script { polls, ..Script::until(Until::Polls(2)) }
        });
        let mut client = explorer.connect();
        let id = start(&mut client, QUESTION);
        let ended =
            wait_until(&mut client, &id, "the end", |told| told["status"] != "running_async");
        assert_eq!(ended["status"], "completed", "{ended:#}");
    }
}

#[test]
fn a_failure_is_told_in_the_vendors_words() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    let script = Script::failed("internal_error", "The research agent broke down.");
    let (id, told) = failed(&explorer, &mut client, script);
    let message = told["failure"]["message"].as_str().unwrap();
    assert!(message.contains("The research agent broke down"), "{told:#}");
    assert!(told["cost_so_far"].as_f64().is_some(), "what it cost is told: {told:#}");
    let read = results(&mut client, &id);
    assert_eq!((&read["success"], &read["status"]), (&json!(false), &json!("failed")));
    assert!(read["error"]["message"].as_str().unwrap().contains("broke down"), "{read:#}");
    assert_eq!(explorer.wait_until_told(&id), "failed");
}

#[test]
fn a_code_that_is_a_number_is_understood_too() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    let script = Script::ending(Ending::Failed(json!(13), "Internal.".to_owned()));
    let (_, told) = failed(&explorer, &mut client, script);
    assert!(told["failure"]["message"].as_str().unwrap().contains("Internal"), "{told:#}");
}

#[test]
fn completed_without_a_word_is_a_failure() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    let (_, told) = failed(&explorer, &mut client, Script::ending(Ending::Empty));
    assert_eq!(told["failure"]["code"], "EMPTY_ANSWER", "{told:#}");
}

#[test]
fn a_cancel_at_the_vendors_console_is_told() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    let script = Script::ending(Ending::Status("cancelled".to_owned(), false));
    let (_, told) = failed(&explorer, &mut client, script);
    assert!(told["failure"]["message"].as_str().unwrap().contains("cancelled at the vendor"));
}

#[test]
fn incomplete_with_a_report_is_completed_with_a_note_and_without_one_failed() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    for word in ["incomplete", "budget_exceeded"] {
        explorer.api.on(move |_| Script::ending(Ending::Status(word.to_owned(), true)));
        let id = start(&mut client, QUESTION);
        wait_for_status(&mut client, &id, "completed");
        let read = results(&mut client, &id);
        assert!(read["report"].as_str().unwrap().contains("Finding 3"), "{read:#}");
        assert!(read["note"].as_str().unwrap().contains("Gemini ended the research"), "{read:#}");
        let script = Script::ending(Ending::Status(word.to_owned(), false));
        let (_, told) = failed(&explorer, &mut client, script);
        let message = told["failure"]["message"].as_str().unwrap();
        assert!(message.contains("wrote nothing"), "{told:#}");
    }
}

#[test]
fn a_status_that_nobody_knows_is_shown_and_waited_for() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script {
        ending: Ending::Status("requires_contemplation".to_owned(), false),
        ..Script::until(Until::AtOnce)
    });
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    explorer.wait_for_looks(QUESTION, 3);
    let told = status(&mut client, &id);
    assert_eq!(told["status"], "running_async");
    assert_eq!(told["vendor_status"], "requires_contemplation");
    assert_eq!(cancel(&mut client, &id)["status"], "cancelled");
}

#[test]
fn a_step_that_nobody_knows_is_shown_as_what_it_is_called() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script {
        first_steps: vec![
            json!({ "type": "telescope_call", "arguments": { "at": "the Moon" } }),
            json!({ "kind": "no type at all" }),
            json!("not even an object"),
        ],
        rounds: 0,
        ..Script::until(Until::Polls(3))
    });
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    let told = wait_until(&mut client, &id, "a step", |told| {
        told["recent_actions"].to_string().contains("telescope_call")
            || told["status"] == "completed"
    });
    assert_eq!(told["status"], "running_async", "{told:#}");
    wait_for_status(&mut client, &id, "completed");
}

#[test]
fn max_wait_hours_ends_it_at_the_vendor_too() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script {
        draft: Some("# A beginning\n\nThe tide".to_owned()),
        ..Script::until(Until::Never)
    });
    let mut client = explorer.connect();
    let a_second = 1.0 / 3600.0;
    let id =
        start_with(&mut client, json!({ "query": QUESTION, "max_wait_hours": 2.0 * a_second }));
    let told = wait_for_status(&mut client, &id, "failed");
    assert_eq!(told["failure"]["code"], "TIMEOUT", "{told:#}");
    assert!(told["failure"]["hint"].as_str().unwrap().contains("max_wait_hours"), "{told:#}");
    explorer.wait_for_cancels(QUESTION, 1);
    let read = results(&mut client, &id);
    assert!(
        read["report"].as_str().unwrap().contains("The tide"),
        "what was found is kept: {read:#}"
    );
    assert_eq!(explorer.wait_until_told(&id), "failed");
}

#[test]
fn max_wait_hours_passes_while_no_process_looks() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script::until(Until::Never));
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    explorer.wait_for_looks(QUESTION, 1);
    client.kill();
    explorer.database().execute("UPDATE tasks SET deadline = created_at", []).unwrap();
    explorer.run(["worker", "--until-done"]).assert_success();
    let told = explorer.status(&id);
    assert_eq!((&told["status"], &told["failure"]["code"]), (&json!("failed"), &json!("TIMEOUT")));
    let mut client = explorer.connect();
    explorer.wait_for_cancels(QUESTION, 1);
    assert_eq!(
        ask(&mut client, "check_research_status", json!({ "task_id": id }))["status"],
        "failed"
    );
}
