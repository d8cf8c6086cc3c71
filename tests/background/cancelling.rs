//! User story 4: research that nobody wants any more ends, at the vendor too, and
//! what was found and what was paid is told.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::explorer::{
    Explorer, ask, assert_error, cancel, list, results, start, status, wait_for, wait_for_status,
    wait_until,
};
use crate::support::interactions::{Fault, Script, Until};

const QUESTION: &str = "How do tide tables compare?";

/// Never over, with a part of the report that can be read.
fn endless() -> Script {
    Script { draft: Some("# A beginning\n\nThe tide".to_owned()), ..Script::until(Until::Never) }
}

/// A task that runs, and of which a part of the report is known.
fn drafted(explorer: &Explorer, client: &mut Client) -> String {
    let id = start(client, QUESTION);
    wait_until(client, &id, "a draft", |told| {
        told["has_partial_report"] == true && told["progress"]["pages_read"] == 2
    });
    assert_eq!(explorer.api.log().creates(QUESTION), 1);
    id
}

/// How often the vendor was told to stop it.
fn cancels(explorer: &Explorer) -> usize {
    let log = explorer.api.log();
    log.ids(QUESTION).iter().map(|id| log.cancels(id)).sum()
}

#[test]
fn us4_1_a_cancel_ends_it_keeps_what_was_found_and_tells_what_it_cost() {
    let explorer = Explorer::new();
    explorer.api.on(|_| endless());
    let mut client = explorer.connect();
    let id = drafted(&explorer, &mut client);
    let cancelled =
        ask(&mut client, "cancel_research", json!({ "task_id": id, "save_partial": true }));
    assert_eq!((&cancelled["success"], &cancelled["status"]), (&json!(true), &json!("cancelled")));
    assert_eq!(cancelled["task_id"], id);
    assert_eq!(cancelled["partial_results_saved"], true);
    assert_eq!(cancelled["vendor"], "told");
    assert_eq!(cancelled["tokens_used"], json!({ "input": 250_000, "output": 60_000 }));
    assert!(cancelled["cost_usd"].as_f64().unwrap() > 0.5, "{cancelled:#}");
    assert_eq!(cancels(&explorer), 1);

    let told = status(&mut client, &id);
    assert_eq!(
        (&told["status"], &told["cost_so_far"]),
        (&json!("cancelled"), &cancelled["cost_usd"])
    );
    let kept = results(&mut client, &id);
    assert_error(&kept, "NOT_COMPLETED", &["cancelled"]);
    assert!(kept["report"].as_str().unwrap().contains("The tide"), "{kept:#}");
    assert_eq!(kept["sources"].as_array().map(Vec::len), Some(2), "{kept:#}");
    // And it is in the database: another process reads the same.
    drop(client);
    assert_eq!(results(&mut explorer.connect(), &id), kept);
    // What was paid is in the costs.
    let costs = explorer.run(["costs", "--by", "task", "--json"]).assert_success().json();
    assert_eq!(costs["total"]["cost_usd"], cancelled["cost_usd"], "{costs:#}");
}

#[test]
fn us4_1_pages_that_were_read_are_a_partial_result_too() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script::until(Until::Never));
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    wait_until(&mut client, &id, "a page", |told| told["progress"]["pages_read"] == 2);
    let cancelled = cancel(&mut client, &id);
    assert_eq!(cancelled["partial_results_saved"], true, "{cancelled:#}");
    let shown = explorer.run(["show", &id]).assert_success();
    assert!(shown.stdout.contains("2 sources had been read"), "{}", shown.transcript());
    let kept = results(&mut client, &id);
    assert_eq!(kept["sources"][0]["url"], "https://site1.example/pages/1", "{kept:#}");
}

#[test]
fn us4_1_what_is_not_to_be_kept_is_gone() {
    let explorer = Explorer::new();
    explorer.api.on(|_| endless());
    let mut client = explorer.connect();
    let id = drafted(&explorer, &mut client);
    let cancelled =
        ask(&mut client, "cancel_research", json!({ "task_id": id, "save_partial": false }));
    assert_eq!(cancelled["partial_results_saved"], false, "{cancelled:#}");
    assert_eq!(cancelled["vendor"], "told");
    assert!(cancelled["cost_usd"].as_f64().unwrap() > 0.5, "what it cost is told all the same");
    let left = results(&mut client, &id);
    assert_error(&left, "NOT_COMPLETED", &["cancelled"]);
    assert_eq!((left.get("report"), left.get("sources")), (None, None));
    assert!(!left.to_string().contains("The tide"), "{left:#}");
    assert_eq!(cancels(&explorer), 1);
}

#[test]
fn us4_2_what_is_completed_cannot_be_cancelled() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    wait_for_status(&mut client, &id, "completed");
    let refused = cancel(&mut client, &id);
    assert_error(&refused, "ALREADY_ENDED", &["completed already", &id]);
    assert_eq!(status(&mut client, &id)["status"], "completed");
    assert_eq!(results(&mut client, &id)["success"], true);
    assert_eq!(cancels(&explorer), 0);
    // The same on the command line, with the exit code of a failure.
    let refused = explorer.run(["cancel", &id]).assert_failure();
    assert!(refused.stderr.contains("completed already"), "{}", refused.transcript());
}

#[test]
fn us4_2_what_failed_cannot_be_cancelled_either() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script::failed("internal_error", "It broke."));
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    wait_for_status(&mut client, &id, "failed");
    assert_error(&cancel(&mut client, &id), "ALREADY_ENDED", &["failed already"]);
}

#[test]
fn a_second_cancel_changes_nothing() {
    let explorer = Explorer::new();
    explorer.api.on(|_| endless());
    let (mut one, mut two) = (explorer.connect(), explorer.connect());
    let id = drafted(&explorer, &mut one);
    let first = cancel(&mut two, &id);
    let second = cancel(&mut one, &id);
    assert_eq!(second["success"], true, "{second:#}");
    assert!(second["message"].as_str().unwrap().contains("cancelled before"), "{second:#}");
    for name in ["status", "vendor", "cost_usd", "partial_results_saved"] {
        assert_eq!(first[name], second[name], "{name}");
    }
    // A discard that comes too late takes nothing away.
    ask(&mut one, "cancel_research", json!({ "task_id": id, "save_partial": false }));
    assert!(results(&mut one, &id)["report"].as_str().unwrap().contains("The tide"));
    assert_eq!(cancels(&explorer), 1);
}

#[test]
fn a_cancelled_task_stays_cancelled_and_nobody_is_told_of_it() {
    let explorer = Explorer::new();
    explorer.api.on(|input| if input == QUESTION { endless() } else { Script::default() });
    let mut client = explorer.connect();
    let id = drafted(&explorer, &mut client);
    cancel(&mut client, &id);
    client.kill();
    let mut client = explorer.connect();
    let later = start(&mut client, "What else?");
    assert_eq!(explorer.wait_until_told(&later), "completed");
    assert_eq!(explorer.told().len(), 1, "{:?}", explorer.told());
    assert_eq!(status(&mut client, &id)["status"], "cancelled");
    explorer.run(["worker", "--until-done"]).assert_success();
    assert_eq!(status(&mut client, &id)["status"], "cancelled");
    assert_eq!((explorer.api.log().creates(QUESTION), cancels(&explorer)), (1, 1));
}

/// The vendor takes it a moment after the user has changed their mind: nobody but the
/// one who started it learns its name.
fn cancelled_while_it_was_being_started(by_another: bool) {
    let explorer = Explorer::new();
    let slow = Fault::Delay(Duration::from_secs(3));
    explorer.api.on(move |_| Script { creates: vec![slow.clone()], ..endless() });
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    explorer.api.wait_for("a start", |log| log.creates(QUESTION) == 1);
    let cancelled =
        if by_another { cancel(&mut explorer.connect(), &id) } else { cancel(&mut client, &id) };
    assert_eq!(
        (&cancelled["status"], &cancelled["vendor"]),
        (&json!("cancelled"), &json!("told_later"))
    );
    explorer.wait_for_cancels(QUESTION, 1);
    assert_eq!(status(&mut client, &id)["status"], "cancelled");
    assert_eq!((explorer.api.log().creates(QUESTION), cancels(&explorer)), (1, 1));
}

#[test]
fn a_cancel_while_it_is_being_started_reaches_the_vendor() {
    cancelled_while_it_was_being_started(false);
}

#[test]
fn a_cancel_by_another_process_while_it_is_being_started_reaches_the_vendor() {
    cancelled_while_it_was_being_started(true);
}

/// Puts an attempt to tell the vendor so far back that the next one is due.
fn let_time_pass(explorer: &Explorer) {
    explorer.database().execute("UPDATE jobs SET updated_at = 0", []).unwrap();
}

/// The first cancel does not reach the vendor; the server that sent it is killed, and
/// another tells the vendor. Returns what the results are afterwards.
fn told_by_another(save_partial: bool) -> Value {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script { cancels: vec![Fault::CutBefore], ..endless() });
    let mut client = explorer.connect();
    let id = drafted(&explorer, &mut client);
    let arguments = json!({ "task_id": id, "save_partial": save_partial });
    let cancelled = ask(&mut client, "cancel_research", arguments);
    assert_eq!(
        (&cancelled["status"], &cancelled["vendor"]),
        (&json!("cancelled"), &json!("told_later"))
    );
    assert!(cancelled["message"].as_str().unwrap().contains("told again"), "{cancelled:#}");
    client.kill();
    let_time_pass(&explorer);
    let mut client = explorer.connect();
    explorer.wait_for_cancels(QUESTION, 2);
    // What it cost is known by then.
    let told = wait_until(&mut client, &id, "a cost", |told| told["cost_so_far"].is_number());
    assert_eq!(told["status"], "cancelled");
    assert_eq!(cancel(&mut client, &id)["vendor"], "told");
    assert_eq!(cancels(&explorer), 2);
    results(&mut client, &id)
}

#[test]
fn a_vendor_that_could_not_be_reached_is_told_later_by_another_server() {
    let kept = told_by_another(true);
    assert!(kept["report"].as_str().unwrap().contains("The tide"), "{kept:#}");
}

#[test]
fn what_was_discarded_does_not_come_back_with_what_the_vendor_tells_later() {
    let left = told_by_another(false);
    assert_eq!((left.get("report"), left.get("sources")), (None, None), "{left:#}");
}

#[test]
fn what_it_cost_is_known_although_the_vendor_does_not_tell_it_at_the_end() {
    let explorer = Explorer::new();
    let silent = Fault::Says("{\"status\": \"cancelled\"}".to_owned());
    explorer.api.on(move |_| Script {
        cancels: vec![silent.clone()],
        tells_usage: true,
        ..endless()
    });
    let mut client = explorer.connect();
    let id = drafted(&explorer, &mut client);
    let cancelled = cancel(&mut client, &id);
    assert_eq!(cancelled["vendor"], "told");
    assert!(cancelled["cost_usd"].as_f64().unwrap() > 0.5, "{cancelled:#}");
    let costs = explorer.run(["costs", "--json"]).assert_success().json();
    assert_eq!(costs["total"]["cost_usd"], cancelled["cost_usd"], "{costs:#}");
}

#[test]
fn a_vendor_that_refuses_does_not_keep_the_task_alive() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script { refuses_cancel: true, ..endless() });
    let mut client = explorer.connect();
    let id = drafted(&explorer, &mut client);
    let cancelled = cancel(&mut client, &id);
    assert_eq!(
        (&cancelled["status"], &cancelled["vendor"]),
        (&json!("cancelled"), &json!("told_later"))
    );
    assert_eq!(status(&mut client, &id)["status"], "cancelled");
    // Nobody looks at it any more.
    let looks = |explorer: &Explorer| {
        let log = explorer.api.log();
        log.polls(&log.ids(QUESTION)[0])
    };
    let before = looks(&explorer);
    let later = start(&mut client, "What else?");
    wait_until(&mut client, &later, "a page", |told| told["progress"]["pages_read"] == 2);
    assert!(looks(&explorer) <= before + 1, "{} looks after {before}", looks(&explorer));
}

#[test]
fn what_has_ended_at_the_vendor_meanwhile_is_cancelled_all_the_same() {
    let explorer = Explorer::with_config("").with_variable("RUST_LOG", "debug");
    explorer.api.on(|_| Script { polls: vec![Fault::Hang], ..Script::until(Until::Released) });
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    explorer.wait_for_looks(QUESTION, 1);
    // The look hangs, so that only the vendor knows of the end.
    explorer.api.release(QUESTION);
    let cancelled = cancel(&mut client, &id);
    assert_eq!((&cancelled["status"], &cancelled["vendor"]), (&json!("cancelled"), &json!("told")));
    // It is paid for as a whole; so it is kept as a whole.
    assert_eq!(cancelled["tokens_used"], json!({ "input": 250_000, "output": 60_000 }));
    assert!(results(&mut client, &id)["report"].as_str().unwrap().contains("Finding 3"));
}

#[test]
fn a_task_that_its_process_has_left_can_be_cancelled_without_a_server() {
    let explorer = Explorer::new();
    explorer.api.on(|_| endless());
    let mut client = explorer.connect();
    let id = drafted(&explorer, &mut client);
    client.kill();
    let cancelled = explorer.run(["cancel", &id, "--json"]).assert_success().json();
    assert_eq!((&cancelled["status"], &cancelled["vendor"]), (&json!("cancelled"), &json!("told")));
    assert_eq!(cancels(&explorer), 1);
    let mut client = explorer.connect();
    assert_eq!(list(&mut client, json!({ "status": "cancelled" }))["count"], 1);
}

#[test]
fn a_start_that_only_waits_for_its_turn_is_cancelled_without_the_vendor() {
    let explorer = Explorer::new();
    // Refused for a while, so that nothing is at the vendor yet.
    explorer.api.on(|_| Script { creates: vec![Fault::RateLimited(50)], ..endless() });
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    explorer.api.wait_for("a start", |log| log.creates(QUESTION) == 1);
    // The refusal is written down before the pause begins.
    wait_for("the refusal", || {
        let open: i64 = explorer
            .database()
            .query_row("SELECT count(*) FROM calls WHERE state = 'sent'", [], |row| row.get(0))
            .unwrap();
        (open == 0).then_some(())
    });
    let cancelled = cancel(&mut client, &id);
    assert_eq!(
        (&cancelled["status"], &cancelled["vendor"]),
        (&json!("cancelled"), &json!("not_involved"))
    );
    assert_eq!(cancelled["partial_results_saved"], false);
    assert_eq!(explorer.api.log().creates(QUESTION), 1);
}
