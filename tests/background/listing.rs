//! Every task is reachable, whichever tool made it, by its words and by how it stands.

use serde_json::{Value, json};

use crate::support::documents::Documents;
use crate::support::explorer::{
    Explorer, ask, assert_error, cancel, list, results, start, status, wait_for_status,
};
use crate::support::interactions::{Script, Until};
use crate::support::program;

fn ids(list: &Value) -> Vec<&str> {
    let tasks = list["tasks"].as_array().expect("tasks");
    tasks.iter().map(|task| task["task_id"].as_str().expect("an id")).collect()
}

#[test]
fn tasks_of_every_tool_are_listed_read_and_saved() {
    let explorer = Explorer::new();
    let documents = Documents::new();
    let question = "when do spring tides come";
    for tool in ["search", "deep-search"] {
        let mut command = explorer.command([tool, question, "--docs"]);
        program::run(command.arg(documents.path())).assert_success();
    }
    let mut client = explorer.connect();
    let delegated = start(&mut client, "What is a syzygy?");
    wait_for_status(&mut client, &delegated, "completed");
    let all = list(&mut client, json!({}));
    assert_eq!((&all["count"], &all["more"]), (&json!(3), &json!(false)));
    let tools: Vec<&str> = all["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["tool"].as_str().unwrap())
        .collect();
    // Newest first.
    assert_eq!(tools, ["start_deep_research", "deep_search", "search"]);
    let first = &all["tasks"][0];
    assert_eq!(
        (&first["query"], &first["status"]),
        (&json!("What is a syzygy?"), &json!("completed"))
    );
    assert!(first["cost_usd"].as_f64().unwrap() > 0.5 && first["duration_minutes"].is_number());
    for id in ids(&all) {
        assert_eq!(status(&mut client, id)["status"], "completed");
        let read = results(&mut client, id);
        assert_eq!(read["success"], true, "{read:#}");
        assert!(!read["report"].as_str().unwrap().is_empty(), "{read:#}");
        let saved = ask(&mut client, "save_research_to_markdown", json!({ "task_id": id }));
        assert_eq!(saved["success"], true, "{saved:#}");
        let again = ask(&mut client, "cancel_research", json!({ "task_id": id }));
        assert_error(&again, "ALREADY_ENDED", &["completed"]);
    }
}

#[test]
fn tasks_are_found_by_the_words_of_question_and_report() {
    let explorer = Explorer::new();
    explorer.api.on(|input| Script {
        report: Some(format!(
            "# {input}\n\nIt is called {}.",
            if input.contains("Moon") { "syzygy" } else { "ebb" }
        )),
        ..Script::default()
    });
    let mut client = explorer.connect();
    let moon = start(&mut client, "What is it when Sun and Moon stand in line?");
    let ebb = start(&mut client, "What is the falling of the tide?");
    for id in [&moon, &ebb] {
        wait_for_status(&mut client, id, "completed");
    }
    let mut found = |words: &str| {
        let list = list(&mut client, json!({ "query": words }));
        ids(&list).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found("syzygy"), [&*moon]);
    assert_eq!(found("tide falling"), [&*ebb]);
    assert_eq!(found("what").len(), 2);
    assert_eq!(found("volcano"), [""; 0]);
    assert_eq!(found("\"*)( OR -"), [""; 0]);
    // The same on the command line.
    let history = explorer.run(["history", "--search", "syzygy", "--json"]).assert_success().json();
    assert_eq!(
        (history[0]["id"].as_str(), history.as_array().map(Vec::len)),
        (Some(&*moon), Some(1))
    );
}

#[test]
fn tasks_are_listed_by_how_they_stand_and_not_more_than_wanted() {
    let explorer = Explorer::new();
    explorer.api.on(|input| match input {
        "It fails?" => Script::failed("internal_error", "It broke."),
        "It ends?" => Script::default(),
        _ => Script::until(Until::Never),
    });
    let mut client = explorer.connect();
    let [failed, completed, cancelled, running] =
        ["It fails?", "It ends?", "It is cancelled?", "It runs?"]
            .map(|one| start(&mut client, one));
    wait_for_status(&mut client, &failed, "failed");
    wait_for_status(&mut client, &completed, "completed");
    cancel(&mut client, &cancelled);
    for (status, id) in [
        ("failed", &failed),
        ("completed", &completed),
        ("cancelled", &cancelled),
        ("running", &running),
    ] {
        let listed = list(&mut client, json!({ "status": status }));
        assert_eq!(ids(&listed), [id], "{status}");
    }
    let listed = list(&mut client, json!({ "status": "running" }));
    assert_eq!(listed["tasks"][0]["status"], "running_async");
    let two = list(&mut client, json!({ "limit": 2 }));
    assert_eq!((ids(&two), &two["more"]), (vec![&*running, &*cancelled], &json!(true)));
    let all = list(&mut client, json!({ "limit": 4 }));
    assert_eq!((&all["count"], &all["more"]), (&json!(4), &json!(false)));
    for arguments in [
        json!({ "limit": 0 }),
        json!({ "limit": 1001 }),
        json!({ "status": "dreaming" }),
        json!({ "order": "oldest" }),
    ] {
        assert_error(&ask(&mut client, "list_research", arguments), "INVALID_INPUT", &[]);
    }
}

#[test]
fn before_anything_was_asked_the_list_is_empty() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    let empty = list(&mut client, json!({ "query": "tide" }));
    assert_eq!(empty["tasks"], json!([]));
}
