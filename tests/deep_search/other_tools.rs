//! `search` and `deep_research` with the same CLI: one round each, with prompts of
//! their own.

use serde_json::{Value, json};

use crate::support::gemini_cli::{MODEL, Run};
use crate::support::researcher::{Asked, Researcher, fenced, plain_report};

#[track_caller]
fn assert_one_round(asked: &Asked, result: &str) {
    let answer = &asked.answer;
    assert_eq!(answer["success"], true, "{answer:#}");
    assert_eq!(answer["result"], result);
    assert_eq!(answer["verified"], false, "nobody has checked it");
    assert_eq!(answer["status"], "completed");
    // Nothing was left undone, so there is nothing to note.
    assert_eq!(answer.get("note"), None, "{answer:#}");
    let metadata = &answer["metadata"];
    assert_eq!(metadata["iterations"], 1);
    assert_eq!(metadata["model"], MODEL);
    assert_eq!(metadata["sources_visited"], json!(["https://log.example/"]));
    assert_eq!(metadata["search_queries_used"], json!(["record dive"]));
    // The words of a deep search are said of a deep search.
    assert!(!asked.ended.stderr.contains("Deep search"), "{}", asked.ended.stderr);
    assert!(!asked.progress.iter().any(|told| told.contains("Deep search")));
}

#[test]
fn search_answers_in_one_round() {
    let user = Researcher::new();
    user.fake.otherwise(&Run::answers(&plain_report("923 m [1].")));
    let asked = user.ask("search", json!({ "query": "How deep?" }));
    assert_one_round(&asked, "923 m [1].");
    let runs = user.wait_until_nothing_is_left();
    assert_eq!(runs.len(), 1);
    let prompt = runs[0].input.as_deref().expect("a prompt");
    assert!(prompt.contains("Answer the question below in one short round."), "{prompt}");
    assert_eq!(fenced(prompt, "QUERY"), "How deep?");
    assert!(!prompt.contains("\"verified\""), "{prompt}");
}

#[test]
fn deep_research_is_one_long_turn_of_the_agent() {
    let user = Researcher::new();
    user.fake.otherwise(&Run::answers(&plain_report("A long report.")));
    let asked = user
        .ask("deep_research", json!({ "query": "How deep?", "context": "for a talk to sailors" }));
    assert_one_round(&asked, "A long report.");
    let runs = user.wait_until_nothing_is_left();
    assert_eq!(runs.len(), 1);
    let prompt = runs[0].input.as_deref().expect("a prompt");
    assert!(prompt.contains("Research the question below in depth by yourself"), "{prompt}");
    assert_eq!(fenced(prompt, "QUERY"), "How deep?");
    assert_eq!(fenced(prompt, "CONTEXT"), "for a talk to sailors");
}

#[test]
fn the_tools_say_that_they_reach_the_web() {
    let user = Researcher::new();
    let mut client = user.connect();
    let listed = client.call("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools").clone();
    let names: Vec<&Value> = tools[..3].iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["search", "deep_search", "deep_research"]);
    for tool in &tools[..3] {
        assert_eq!(tool["annotations"]["openWorldHint"], true, "{tool:#}");
        assert!(tool["description"].as_str().is_some_and(|text| text.contains("from the web")));
    }
}

#[test]
fn what_is_no_question_costs_nothing() {
    let user = Researcher::new();
    for (tool, arguments) in [
        ("search", json!({ "query": "  " })),
        ("deep_search", json!({})),
        ("deep_search", json!({ "query": "How deep?", "max_iterations": 1 })),
        ("deep_search", json!({ "query": "How deep?", "max_wait_seconds": 0 })),
        ("deep_research", json!({ "query": "How deep?", "depth": 3 })),
    ] {
        let asked = user.ask(tool, arguments);
        assert_eq!(asked.answer["error"]["code"], "INVALID_INPUT", "{:#}", asked.answer);
        assert!(asked.answer["error"]["hint"].is_string(), "{:#}", asked.answer);
    }
    assert!(user.fake.runs().is_empty());
}
