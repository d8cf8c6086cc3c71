//! What a prompt asks for: the schema that the extractor reads the answer by, and
//! the example that the model is shown.

use super::Prompt;

/// Only what an answer is worthless without is demanded: a missing list of sources
/// is no reason to pay for the same research again.
macro_rules! schema {
    ($required:literal) => {
        concat!(
            r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "required": ["#,
            $required,
            r#"],
  "properties": {
    "success": {},
    "verified": {"type": "boolean"},
    "report": {"type": "string", "minLength": 1},
    "metadata": {
      "properties": {"sources_visited": {}, "search_queries_used": {}, "summary": {}}
    }
  }
}"#
        )
    };
}

macro_rules! report {
    () => {
        r##"# Title\n\nThe answer in a few sentences [1].\n\n## Findings\n\n- A claim with \"quoted\" words [1][2]\n\n## Not confirmed\n\n- …\n\n## Sources\n\n1. [Title of the page](https://…)\n2. …"##
    };
}

macro_rules! example {
    ($verified:literal) => {
        concat!(
            "{\n  \"success\": true,\n",
            $verified,
            "  \"report\": \"",
            report!(),
            r#"",
  "metadata": {
    "sources_visited": ["https://…"],
    "search_queries_used": ["…"],
    "summary": "One or two sentences …"
  }
}"#
        )
    };
}

impl Prompt {
    /// The JSON Schema of the answer. A correction is read by the schema of what it
    /// corrects; its own is what all of them have in common.
    pub const fn schema(self) -> &'static str {
        match self {
            Self::DeepSearch | Self::Verify => schema!(r#""report", "verified""#),
            Self::Search | Self::DeepResearch | Self::Correction => schema!(r#""report""#),
        }
    }

    /// A whole answer. What is to be replaced holds an ellipsis, so that it cannot
    /// pass for an address or a query; see also `is_placeholder`.
    pub const fn example(self) -> &'static str {
        match self {
            Self::DeepSearch | Self::Verify | Self::Correction => {
                example!("  \"verified\": false,\n")
            }
            Self::Search | Self::DeepResearch => example!(""),
        }
    }
}

/// Whether a report is the example's own, or nothing but dots and marks: a model
/// that returns it has answered nothing.
pub fn is_placeholder(report: &str) -> bool {
    const EXAMPLE: &str = concat!("\"", report!(), "\"");
    let example: String = serde_json::from_str(EXAMPLE).expect("the example is JSON");
    let words = |text: &str| -> Vec<String> {
        text.split(|character: char| !character.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let said = words(report);
    said.is_empty() || said == ["Title"] || said == words(&example)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn example(prompt: Prompt) -> Value {
        serde_json::from_str(prompt.example()).unwrap()
    }

    fn fits(prompt: Prompt, answer: &Value) -> bool {
        let schema = serde_json::from_str(prompt.schema()).unwrap();
        jsonschema::draft202012::meta::validate(&schema).unwrap();
        jsonschema::validator_for(&schema).unwrap().is_valid(answer)
    }

    #[test]
    fn the_examples_fit_their_schemas() {
        for prompt in Prompt::ALL {
            assert!(fits(prompt, &example(prompt)), "{}", prompt.name());
            // What the extractor finds in a model's answer, it finds in the example.
            let answer = format!("Here you are:\n```json\n{}\n```\n", prompt.example());
            let found = extractor_json::extract(&answer, prompt.schema()).unwrap();
            assert!(!found.repaired);
            let found: Value = serde_json::from_str(&found.json).unwrap();
            assert_eq!(found, example(prompt));
        }
    }

    #[test]
    fn only_the_rounds_of_a_deep_search_say_whether_they_are_verified() {
        for prompt in [Prompt::DeepSearch, Prompt::Verify] {
            assert_eq!(example(prompt)["verified"], json!(false));
            assert!(!fits(prompt, &json!({"report": "x"})));
            assert!(!fits(prompt, &json!({"report": "x", "verified": "yes"})));
            assert!(fits(prompt, &json!({"report": "x", "verified": true})));
        }
        for prompt in [Prompt::Search, Prompt::DeepResearch] {
            assert_eq!(example(prompt).get("verified"), None);
            assert!(fits(prompt, &json!({"report": "x"})));
        }
    }

    #[test]
    fn a_report_is_demanded_and_all_else_may_be_missing_or_more() {
        for prompt in Prompt::ALL {
            assert!(!fits(prompt, &json!({"verified": true, "success": true})));
            assert!(!fits(prompt, &json!({"verified": true, "report": ""})));
            assert!(!fits(prompt, &json!({"verified": true, "report": ["x"]})));
            let more = json!({"verified": true, "report": "x", "metadata": null, "more": 1});
            assert!(fits(prompt, &more));
        }
    }

    #[test]
    fn the_example_is_told_from_an_answer() {
        for prompt in Prompt::ALL {
            let mut example = example(prompt);
            assert!(is_placeholder(example["report"].as_str().unwrap()));
            let metadata = example["metadata"].take();
            for text in [
                &metadata["sources_visited"][0],
                &metadata["search_queries_used"][0],
                &metadata["summary"],
            ] {
                assert!(text.as_str().unwrap().contains('…'));
            }
        }
        for report in ["", " \n", "…", "# Title\n\n…", "...", "# Title"] {
            assert!(is_placeholder(report), "{report}");
        }
        for report in ["42", "# Title\n\nThe answer is 42.", "月は地球の衛星です。"] {
            assert!(!is_placeholder(report), "{report}");
        }
    }
}
