//! Requirement: Deep Search Result Format. One JSON shape, with what each round came
//! to.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::client::text_of;
use crate::support::gemini_cli::Run;
use crate::support::researcher::{Reply, Researcher, report, structured};

fn strings(value: &Value) -> Vec<&str> {
    let list = value.as_array().unwrap_or_else(|| panic!("a list: {value:#}"));
    list.iter().map(|one| one.as_str().unwrap_or_else(|| panic!("a text: {one:#}"))).collect()
}

#[test]
fn successful_response_format() {
    let user = Researcher::new();
    let markdown = "# Depth\n\nIt dived to **923 m** [1].\n\n1. [Log](https://log.example/)";
    let checked = Reply {
        report: markdown,
        verified: Some(true),
        sources: &["https://log.example/", "https://draft.example/"],
        queries: &["record dive"],
        summary: "The depth is confirmed.",
    };
    user.fake.then(&Run::answers(&report("Draft", false))).then(&Run::answers(&checked.text()));
    let mut client = user.connect();
    let before = Timestamp::now();
    // WHEN a deep search completes
    let answer = client.call_tool("deep_search", json!({ "query": "How deep?" }));
    // THEN the response has all of this, and each of its kind
    let answer_text = text_of(&answer);
    let answer = structured(&answer);
    assert_eq!(answer["success"], true);
    assert_eq!(answer["result"], markdown);
    assert_eq!(answer["verified"], true);
    let metadata = &answer["metadata"];
    assert!(metadata["duration_ms"].as_u64().is_some_and(|time| time < 60_000), "{metadata:#}");
    assert_eq!(metadata["query"], "How deep?");
    assert!(metadata["model"].is_string());
    let timestamp = metadata["timestamp"].as_str().expect("a text");
    let when: Timestamp = timestamp.parse().expect("RFC 3339");
    assert!((before..=Timestamp::now()).contains(&when), "{timestamp}");
    assert_eq!(metadata["iterations"], 2);
    // Those of all rounds, each once.
    assert_eq!(
        strings(&metadata["sources_visited"]),
        ["https://draft.example/", "https://log.example/"]
    );
    assert_eq!(strings(&metadata["search_queries_used"]), ["query for Draft", "record dive"]);
    assert_eq!(metadata["rounds"].as_array().map(Vec::len), Some(2));
    // And what is ours.
    assert!(answer["task_id"].as_str().is_some_and(|id| id.len() > 8));
    assert_eq!(answer["status"], "completed");
    assert_eq!(answer["usage"]["input_tokens"], 2000);
    assert!(answer.get("error").is_none());
    // Whoever reads only the text misses nothing.
    assert!(answer_text.contains("It dived to **923 m** [1]."), "{answer_text}");
}

#[test]
fn per_round_metadata() {
    let user = Researcher::new();
    let second = Reply {
        report: "Checked",
        verified: Some(true),
        sources: &["https://b.example/1", "https://b.example/2"],
        queries: &["is it so", "who says so"],
        summary: "Two more sources say so.",
    };
    user.fake.then(&Run::answers(&report("Draft", false))).then(&Run::answers(&second.text()));
    let asked = user.deep_search("How deep?");
    // WHEN the `rounds` array is in the metadata THEN each round has these four
    assert_eq!(
        asked.answer["metadata"]["rounds"],
        json!([
            {
                "round_number": 1,
                "sources_visited": ["https://draft.example/"],
                "search_queries": ["query for Draft"],
                "intermediate_result_summary": "Summary of Draft",
            },
            {
                "round_number": 2,
                "sources_visited": ["https://b.example/1", "https://b.example/2"],
                "search_queries": ["is it so", "who says so"],
                "intermediate_result_summary": "Two more sources say so.",
            },
        ])
    );
}
