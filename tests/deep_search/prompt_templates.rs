//! Requirement: Deep Search Prompt Templates. One for the first round, another for
//! the rounds that verify.

use std::path::Path;

use serde_json::json;

use crate::support::gemini_cli::Run;
use crate::support::researcher::{Researcher, fenced, report};

const QUERY: &str = "How deep did the bathysphere dive?";

/// What a template of this repository says by itself: its lines without variables.
fn said_by(template: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../prompts").join(template);
    let text = std::fs::read_to_string(path).expect("a template");
    let lines = text.lines().filter(|line| !line.contains("{{") && !line.contains("{%"));
    lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// The prompts of a deep search whose second round verifies.
fn prompts() -> (String, String) {
    let user = Researcher::new();
    user.fake
        .then(&Run::answers(&report("The draft", false)))
        .then(&Run::answers(&report("The check", true)));
    // With a context, so that all of the template is said.
    user.ask("deep_search", json!({ "query": QUERY, "context": "It was in 1934." }));
    let mut inputs = user.fake.runs().into_iter().filter_map(|run| run.input);
    (inputs.next().expect("round 1"), inputs.next().expect("round 2"))
}

#[test]
fn initial_deep_search_prompt() {
    // WHEN Round 1 begins
    let (prompt, _) = prompts();
    // THEN the server loads `prompts/deep-search-prompt.md`
    let said = said_by("deep-search-prompt.md");
    assert!(said.len() > 10);
    for line in said {
        assert!(prompt.contains(&line), "{line:?} is missing:\n{prompt}");
    }
    // AND substitutes `{{query}}`
    assert_eq!(fenced(&prompt, "QUERY"), QUERY);
    assert!(!prompt.contains("{{") && !prompt.contains("{%"), "{prompt}");
    // AND the prompt instructs Gemini to
    for words in [
        // reconstruct the query from five different perspectives,
        "Rebuild the question from five different perspectives",
        // search for each,
        "Search for each perspective",
        // fetch content from promising sites,
        "Fetch the most promising pages",
        // make a temporary result of it,
        "write a first, temporary result",
        "Bring it together",
        // and return with `verified: false`.
        "`verified` is false",
        "\"verified\": false",
    ] {
        assert!(prompt.contains(words), "{words:?} is missing:\n{prompt}");
    }
}

#[test]
fn verification_prompt() {
    // WHEN Round 2+ begins
    let (_, prompt) = prompts();
    // THEN the server loads `prompts/verify-prompt.md`
    let said = said_by("verify-prompt.md");
    assert!(said.len() > 10);
    for line in said {
        assert!(prompt.contains(&line), "{line:?} is missing:\n{prompt}");
    }
    // AND provides the original query, the current temporary result,
    assert_eq!(fenced(&prompt, "QUERY"), QUERY);
    assert_eq!(fenced(&prompt, "RESULT"), "The draft");
    for words in [
        // and the request to verify and update it;
        "return it corrected and completed",
        // AND instructs Gemini to analyze it for accuracy,
        "check the current result below against fresh sources",
        "List for yourself the important claims of the current result",
        // to search from several perspectives,
        "Search anew for these, from several perspectives",
        // to update it with what was verified,
        "Correct what is wrong, add what is missing",
        // and to return `verified: true` if it is confident.
        "`verified` is true only if",
    ] {
        assert!(prompt.contains(words), "{words:?} is missing:\n{prompt}");
    }
}
