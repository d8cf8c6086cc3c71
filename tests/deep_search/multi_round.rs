//! Requirement: Multi-Round Deep Search Tool. The server runs iterative research
//! with verification loops of its own.

use serde_json::json;

use crate::support::gemini_cli::Run;
use crate::support::researcher::{Researcher, fenced, report};

const QUERY: &str = "How deep did the bathysphere dive?";

#[test]
fn successful_multi_round_deep_search() {
    let user = Researcher::new();
    user.fake
        .then(&Run::searches(
            "bathysphere depth",
            &[("A log", "https://log.example/"), ("A book", "https://book.example/")],
            &report("Draft one", false),
        ))
        .then(&Run::answers(&report("Draft two", false)))
        .then(&Run::answers(&report("Draft three", false)))
        .then(&Run::answers(&report("Final four", true)));
    // WHEN a user calls `deep_search` with a query string
    let asked = user.deep_search(QUERY);
    let runs = user.wait_until_nothing_is_left();
    let prompts: Vec<&str> = runs.iter().filter_map(|run| run.input.as_deref()).collect();
    assert_eq!(prompts.len(), 4);

    // THEN Round 1 runs the Gemini CLI with the deep search prompt, AND it performs a
    // search from five perspectives and returns a temporary result
    assert_eq!(fenced(prompts[0], "QUERY"), QUERY);
    assert!(prompts[0].contains("This is round 1 of at most 5"), "{}", prompts[0]);
    assert!(prompts[0].contains("five different perspectives"), "{}", prompts[0]);
    assert!(!prompts[0].contains("BEGIN RESULT"), "{}", prompts[0]);

    // AND each later round is fed the query and the current temporary result, with a
    // prompt that asks to verify from several perspectives and to update it
    for (number, current) in [(2, "Draft one"), (3, "Draft two"), (4, "Draft three")] {
        let prompt = prompts[number - 1];
        assert!(prompt.contains(&format!("This is round {number} of at most 5")), "{prompt}");
        assert_eq!(fenced(prompt, "QUERY"), QUERY);
        assert_eq!(fenced(prompt, "RESULT"), current);
        assert!(prompt.contains("check the current result below"), "{prompt}");
        assert!(prompt.contains("Search anew for these, from several perspectives"), "{prompt}");
    }
    // What was visited before is known to the next round.
    assert!(fenced(prompts[1], "SOURCES").contains("https://log.example/"));

    // AND the loop continues until it is verified
    assert_eq!(asked.answer["verified"], true);
    assert_eq!(asked.answer["stop_reason"], "verified");

    // AND the final result is returned with full metadata
    assert_eq!(asked.answer["success"], true);
    assert_eq!(asked.answer["result"], "Final four");
    assert_eq!(asked.answer["status"], "completed");
    assert!(asked.answer["task_id"].is_string());
    assert!(asked.answer.get("note").is_none(), "{:#}", asked.answer);
    let metadata = &asked.answer["metadata"];
    assert_eq!(metadata["iterations"], 4);
    assert_eq!(metadata["query"], QUERY);
    assert_eq!(
        metadata["sources_visited"],
        json!([
            "https://log.example/",
            "https://book.example/",
            "https://draft-one.example/",
            "https://draft-two.example/",
            "https://draft-three.example/",
            "https://final-four.example/",
        ])
    );
    assert_eq!(
        metadata["search_queries_used"],
        json!([
            "bathysphere depth",
            "query for Draft one",
            "query for Draft two",
            "query for Draft three",
            "query for Final four",
        ])
    );
    assert_eq!(metadata["rounds"].as_array().map(Vec::len), Some(4));
    // What four runs of the fake say that they took.
    assert_eq!(asked.answer["usage"]["input_tokens"], 4000);
    assert_eq!(asked.answer["usage"]["output_tokens"], 280);
    assert_eq!(asked.answer["usage"]["searches"], 1);
}

#[test]
fn early_termination_on_verification() {
    let user = Researcher::new();
    // WHEN the Gemini CLI returns `verified: true` before the maximum
    user.fake
        .then(&Run::answers(&report("Draft", false)))
        .then(&Run::answers(&report("Checked", true)))
        .otherwise(&Run::answers(&report("One round too many", true)));
    let asked = user.deep_search(QUERY);
    // THEN the current result is returned at once
    assert_eq!(user.wait_until_nothing_is_left().len(), 2);
    assert_eq!(asked.answer["result"], "Checked");
    assert_eq!(asked.answer["verified"], true);
    // AND the metadata shows how many rounds there really were
    assert_eq!(asked.answer["metadata"]["iterations"], 2);
    assert_eq!(asked.answer["metadata"]["rounds"].as_array().map(Vec::len), Some(2));
}

#[test]
fn maximum_iterations_reached() {
    let user = Researcher::new();
    user.fake
        .then(&Run::answers(&report("Draft", false)))
        .then(&Run::answers(&report("Better", false)))
        .then(&Run::answers(&report("Best", false)))
        .otherwise(&Run::answers(&report("One round too many", true)));
    // WHEN the loop reaches the maximum without verification
    let asked = user.ask("deep_search", json!({ "query": QUERY, "max_iterations": 3 }));
    assert_eq!(user.wait_until_nothing_is_left().len(), 3);
    // THEN the best result is returned
    assert_eq!(asked.answer["success"], true);
    assert_eq!(asked.answer["result"], "Best");
    assert_eq!(asked.answer["verified"], false);
    assert_eq!(asked.answer["stop_reason"], "limit");
    assert_eq!(asked.answer["metadata"]["iterations"], 3);
    // AND a note says that verification was not completed
    let note = asked.answer["note"].as_str().expect("a note");
    assert!(note.contains("verification was not completed"), "{note}");
}
