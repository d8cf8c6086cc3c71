//! User story 2: research in the background can be looked at while it runs, its end
//! is told, and its report is read whenever the user likes.

use serde_json::{Value, json};

use crate::support::client::error_of;
use crate::support::explorer::{
    Explorer, ask, assert_error, results, start, start_with, status, wait_for_status, wait_until,
};
use crate::support::interactions::{Script, Until};

const QUESTION: &str = "How do tide tables compare?";

#[test]
fn us2_1_any_query_becomes_a_task_that_goes_on_in_the_background() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script::until(Until::Released));
    let mut client = explorer.connect();
    let questions = ["Why?", QUESTION, "¿Qué es la marea? 潮汐とは何ですか 🌊"];
    let ids: Vec<String> = questions.iter().map(|question| start(&mut client, question)).collect();
    for (question, id) in questions.iter().zip(&ids) {
        explorer.wait_for_looks(question, 1);
        let running = status(&mut client, id);
        assert_eq!(
            (&running["status"], &running["query"]),
            (&json!("running_async"), &json!(question))
        );
    }
    for (question, id) in questions.iter().zip(&ids) {
        explorer.api.release(question);
        wait_for_status(&mut client, id, "completed");
        assert_eq!(results(&mut client, id)["query"], *question);
    }
}

#[test]
fn us2_2_a_status_tells_what_was_really_done_and_how_long_it_may_take() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script { tells_usage: true, ..Script::until(Until::Never) });
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    // Each look at the vendor finds one step more, of ten.
    let told =
        wait_until(&mut client, &id, "both pages", |told| told["progress"]["pages_read"] == 2);
    assert_eq!(told["status"], "running_async");
    assert_eq!(told["vendor_status"], "in_progress");
    // Two thoughts, two searches and two pages; of each search two queries.
    assert_eq!(told["progress"], json!({ "steps": 6, "searches": 4, "pages_read": 2 }));
    assert_eq!(told["current_action"], "reading https://site2.example/pages/2");
    let recent = told["recent_actions"].as_array().unwrap();
    assert_eq!(recent.len(), 5, "{recent:#?}");
    assert!(recent[2].as_str().unwrap().starts_with("Looking into part 2: "), "{recent:#?}");
    assert!(told["elapsed_minutes"].as_f64().is_some_and(|minutes| minutes < 2.0), "{told:#}");
    let left = told["estimated_completion_minutes"].as_f64().unwrap();
    assert!(left > 0.0 && left < 120.0, "{told:#}");
    assert_eq!(told["tokens_used"], json!({ "input": 250_000, "output": 60_000 }));
    assert!(told["cost_so_far"].as_f64().unwrap() > 0.5, "{told:#}");
    assert_eq!(told["has_partial_report"], false);
    assert!(told["next"].as_str().unwrap().contains("check_research_status"), "{told:#}");
    // Nobody knows how much is left, so that no percentage is made up.
    assert!(!told.to_string().contains("percent") && !told.to_string().contains('%'), "{told:#}");
}

#[test]
fn us2_2_before_the_vendor_has_told_anything_the_status_says_so() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script { rounds: 0, ..Script::until(Until::Never) });
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    explorer.wait_for_looks(QUESTION, 1);
    let told = status(&mut client, &id);
    assert_eq!(told["progress"], json!({ "steps": 0, "searches": 0, "pages_read": 0 }));
    assert!(told["current_action"].as_str().unwrap().contains("told nothing yet"), "{told:#}");
}

#[test]
fn us2_3_the_user_is_told_of_the_end_unless_they_do_not_want_to_be() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    let quiet =
        start_with(&mut client, json!({ "query": "Quietly?", "enable_notifications": false }));
    wait_for_status(&mut client, &quiet, "completed");
    let loud = start_with(&mut client, json!({ "query": QUESTION, "enable_notifications": true }));
    let usual = start(&mut client, "As usual?");
    for id in [&loud, &usual] {
        assert_eq!(explorer.wait_until_told(id), "completed");
    }
    assert_eq!(explorer.told().len(), 2, "{:?}", explorer.told());
}

#[cfg(target_os = "linux")]
#[test]
fn us2_3_a_native_notification_appears_on_the_desktop() {
    use crate::support::desktop::Desktop;
    use crate::support::explorer::wait_for;
    let desktop = match Desktop::start(&["body"]) {
        Ok(desktop) => desktop,
        Err(error) => {
            eprintln!("skipped: there is no dbus-daemon here ({error})");
            return;
        }
    };
    let explorer = Explorer::with_config("[notify]\ndesktop = true\n")
        .with_variable("DBUS_SESSION_BUS_ADDRESS", desktop.address());
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    let shown = wait_for("a notification", || desktop.shown().into_iter().next());
    assert_eq!((&*shown.program, &*shown.title), ("Bathysphere", "Research completed"));
    // What, how long, what it cost, where the report is.
    let lines: Vec<&str> = shown.body.lines().collect();
    assert_eq!(lines[0], QUESTION);
    assert!(lines[1].starts_with("took ") && lines[1].contains("cost $"), "{lines:?}");
    assert_eq!(lines[2], format!("the report: bathysphere show {}", &id[..8]));
    assert_eq!(desktop.shown().len(), 1);
}

#[test]
fn us2_4_the_results_are_the_whole_report_its_sources_and_what_it_took() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    wait_for_status(&mut client, &id, "completed");
    let whole = results(&mut client, &id);
    assert_eq!((&whole["success"], &whole["status"]), (&json!(true), &json!("completed")));
    assert_eq!((&whole["task_id"], &whole["query"]), (&json!(id), &json!(QUESTION)));
    let report = whole["report"].as_str().unwrap();
    for part in
        ["# How do tide tables compare?", "Finding 1 is", "Finding 3 is", "| part | found |"]
    {
        assert!(report.contains(part), "{part}: {report}");
    }
    assert_eq!(whole["sources"].as_array().map(Vec::len), Some(5), "{whole:#}");
    let metadata = &whole["metadata"];
    assert_eq!(metadata["tokens_used"], json!({ "input": 250_000, "output": 60_000 }));
    assert_eq!(metadata["mode"], "async");
    assert!(metadata["cost_usd"].as_f64().unwrap() > 0.5);
    assert!(metadata["duration_minutes"].as_f64().is_some());
    assert!(metadata["completed_at"].as_str() > metadata["created_at"].as_str(), "{metadata:#}");

    let bare = json!({ "task_id": id, "include_sources": false });
    let bare = ask(&mut client, "get_research_results", bare);
    assert_eq!((&bare["report"], bare.get("sources")), (&whole["report"], None));
    // The beginning of an id is enough, as everywhere.
    assert_eq!(results(&mut client, &id[..13])["task_id"], id);
}

#[test]
fn us2_4_a_long_report_is_read_in_parts_that_make_the_whole() {
    let explorer = Explorer::new();
    let text: String = (1..=400).fold("# Tides\n\n".to_owned(), |text, number| {
        text + &format!("Der {number}. Hafen führt — naïve — eigene Tafeln 🌊.\n\n")
    });
    let report = text.clone();
    explorer.api.on(move |_| Script { report: Some(report.clone()), ..Script::default() });
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    wait_for_status(&mut client, &id, "completed");
    let whole = results(&mut client, &id);
    let total = whole["page"]["total"].as_u64().unwrap();
    assert_eq!(whole["page"], json!({ "offset": 0, "length": total, "total": total }));
    assert_eq!(whole["report"].as_str().unwrap().chars().count() as u64, total);

    let mut parts = String::new();
    let mut offset = Some(0);
    while let Some(from) = offset {
        let page = json!({ "task_id": id, "offset": from, "limit": 7000 });
        let part = ask(&mut client, "get_research_results", page);
        assert_eq!((&part["success"], &part["page"]["total"]), (&json!(true), &json!(total)));
        assert!(part["page"]["length"].as_u64().unwrap() <= 7000);
        parts.push_str(part["report"].as_str().unwrap());
        offset = part["page"]["next_offset"].as_u64();
    }
    assert_eq!(Value::from(parts), whole["report"]);

    let beyond = json!({ "task_id": id, "offset": total + 1000, "limit": 5 });
    let beyond = ask(&mut client, "get_research_results", beyond);
    assert_eq!((&beyond["report"], &beyond["page"]["length"]), (&json!(""), &json!(0)));
    let nothing = json!({ "task_id": id, "limit": 0 });
    let nothing = ask(&mut client, "get_research_results", nothing);
    assert_error(&nothing, "INVALID_INPUT", &["limit is 0"]);
    let wrong = client.call_tool("get_research_results", json!({ "task_id": id, "offset": -1 }));
    assert!(error_of(&wrong).contains("offset"), "{wrong:#}");
}

#[test]
fn us2_4_results_that_are_yet_to_come_say_so_and_show_what_there_is() {
    let explorer = Explorer::new();
    explorer.api.on(|input| Script {
        draft: (input == QUESTION).then(|| "# A beginning\n\nThe tide".to_owned()),
        ..Script::until(Until::Never)
    });
    let mut client = explorer.connect();
    let (drafted, silent) = (start(&mut client, QUESTION), start(&mut client, "Nothing yet?"));
    wait_until(&mut client, &drafted, "a draft", |told| told["has_partial_report"] == true);
    let so_far = results(&mut client, &drafted);
    assert_error(&so_far, "NOT_COMPLETED", &["running_async"]);
    assert!(so_far["report"].as_str().unwrap().contains("The tide"), "{so_far:#}");
    assert!(so_far["error"]["hint"].as_str().unwrap().contains("check_research_status"));
    explorer.wait_for_looks("Nothing yet?", 1);
    let nothing = results(&mut client, &silent);
    assert_error(&nothing, "NOT_COMPLETED", &["running_async"]);
    assert_eq!(nothing.get("report"), None);
}

#[test]
fn a_task_that_nobody_knows_is_not_found() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    for tool in [
        "check_research_status",
        "get_research_results",
        "cancel_research",
        "save_research_to_markdown",
    ] {
        let answer = client.call_tool(tool, json!({ "task_id": "0198c2f4-nobody" }));
        assert_error(&answer["result"]["structuredContent"], "NOT_FOUND", &["0198c2f4-nobody"]);
        let missing = client.call_tool(tool, json!({}));
        assert!(error_of(&missing).contains("task_id"), "{tool}: {missing:#}");
    }
}
