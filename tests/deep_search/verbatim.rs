//! The report is the agent's own words, whatever is in them.

use serde_json::json;

use crate::support::gemini_cli::Run;
use crate::support::researcher::{Reply, Researcher, structured};

const REPORTS: &[&str] = &[
    "# Code\n\n```rust\nfn main() {\n    println!(\"{}\", r#\"{\"a\": 1}\"#);\n}\n```\n\nDone.",
    "A block of JSON:\n\n```json\n{\"success\": false, \"verified\": true, \"report\": \"not me\"}\n```\n",
    "| depth | who |\n|------:|-----|\n| 923 m | \"Beebe\" \\| Barton |\n",
    "Braces {{ query }} {% raw %} }} ] [ and 'single' \"double\" `back` \\n \\\\ \\u0041 \t tab.",
    "~~~~\n````json\n```\n````\n~~~~\n\n    indented ``` code\n\n<think>no thought</think> \u{fffd} é 深海 🐙",
];

#[test]
fn reports_with_fences_braces_quotes_and_tables_come_back_as_they_are() {
    let user = Researcher::new();
    let mut client = user.connect();
    for report in REPORTS {
        // The second round returns it as the first did: it went through the prompt.
        for verified in [false, true] {
            let reply = Reply {
                report,
                verified: Some(verified),
                sources: &["https://log.example/"],
                queries: &["deep sea"],
                summary: "As it is.",
            };
            user.fake.then(&Run::answers(&reply.text()));
        }
        let answer = structured(&client.call_tool("deep_search", json!({ "query": "How deep?" })));
        assert_eq!(answer["result"].as_str(), Some(*report));
        assert_eq!(answer["verified"], true);
    }
    // No answer needed to be corrected or repeated.
    assert_eq!(user.fake.runs().len(), 2 * REPORTS.len());
}

/// Models forget the fence, and write the report's line breaks as they are.
#[test]
fn a_report_that_is_not_quite_json_needs_no_correction() {
    let user = Researcher::new();
    let careless = "{\"success\": true, \"verified\": true, // checked\n \"report\": \"# Depth\n\n\
                    ```text\n{923 m}\n```\n\nThat is all.\", \"metadata\": {},}";
    user.fake.otherwise(&Run::answers(careless));
    let asked = user.deep_search("How deep?");
    assert_eq!(asked.answer["result"], "# Depth\n\n```text\n{923 m}\n```\n\nThat is all.");
    // The answer, and the round that checks it.
    assert_eq!(user.fake.runs().len(), 2);
}
