//! Answers that end before they are complete: half a text is no text.

use serde_json::json;

use super::answers::SCHEMA;
use super::value;
use crate::{Failure, extract};

const BEGINNING: &str = r#"{"success": true, "verified": true, "report": ""#;

fn assert_cut_off(text: &str) {
    let failure = extract(text, SCHEMA);
    assert_eq!(failure, Err(Failure::Unfit("/report is cut off".into())), "{text}");
}

#[test]
fn a_report_that_is_cut_off_is_not_a_report() {
    for report in [
        "# Report\\n\\nThe ans",
        "# Report\n\nThe ans",
        "It rises [1]",
        "It rises [1]\n",
        "fn main() {}",
        "fn main() { if x {} }",
        "a list [\"a\", \"b\"]",
        "He said \\\"yes\\\" and th",
        "He said \"yes\" and th",
        "He said \"yes\", and th",
        "He said \"yes\": and th",
        "He said \"yes\"",
        "He said \"yes\",",
        "He said \"yes\" and \"no",
        "He said \"yes\" and \"no\" and [left],",
        "the word \"x and th",
        "Use {\"a\": \"x\"} and th",
        "Use {\"a\": \"x\", \"b",
        "```sh\nls \"$HOME\"\n```\nand th",
        "it names, verified: true}",
        "ends in a backslash \\",
    ] {
        for (before, after) in [("", ""), ("```json\n", "\n```\n"), ("Here:\n", "\n")] {
            assert_cut_off(&format!("{before}{BEGINNING}{report}{after}"));
        }
    }
    assert_cut_off("{'verified': True, 'report': 'It's do");
    assert_cut_off("{\\\"verified\\\": true, \\\"report\\\": \\\"The ans");
    assert_cut_off("{\"verified\": true, \"report\": \"one\" + \"tw");
    assert_cut_off("{\"verified\": true, \"report\": \"one\" +");
    assert_cut_off("{\"verified\": true, \"report\": \"\"\"The ans");
    assert_cut_off("{\"verified\": true, \"report\": \"whole\", \"report\": \"The ans");
}

#[test]
fn what_stands_complete_before_the_end_is_kept() {
    let kept = json!({"verified": true, "report": "whole"});
    for end in [
        "",
        "\n",
        "\n```",
        "}",
        "}\n```",
        ",",
        ", \"metad",
        ", \"metadata\": {\"summary\": \"Two sen",
        ", \"metadata\": {\"sources_visited\": [\"https://a",
        ", \"metadata\": {\"sources_visited\": [\"https://a]",
    ] {
        let text = format!("{{\"verified\": true, \"report\": \"whole\"{end}");
        assert_eq!(value(&text, SCHEMA), kept, "{text}");
    }
    let quoted = "{\"verified\": true, \"report\": \"He said \"yes\" twice\"\n```";
    assert_eq!(value(quoted, SCHEMA)["report"], "He said \"yes\" twice");
    let lost = "{\"verified\": true, \"report\": \"r\", \"metadata\": {\"sources_visited\": [\"https://a]}}";
    assert_eq!(value(lost, SCHEMA)["metadata"], json!({"sources_visited": ["https://a"]}));
}

/// Wherever an answer is cut, the report is whole or there is none.
#[test]
fn no_cut_leaves_half_a_report() {
    for report in [
        "# Tides\n\nThey rise [1], they \"fall\" {so}.\n\n```json\n{\"report\": \"x\"}\n```\n",
        "A \"spring tide\", as they say, and {\"verified\": true, \"report\": \"EVIL\"} too. End.",
    ] {
        let escaped = json!({"verified": true, "report": report, "metadata": {"summary": "s"}});
        let raw = format!(
            "{{\"verified\": true, \"report\": \"{report}\", \"metadata\": {{\"summary\": \"s\"}}}}"
        );
        for text in [escaped.to_string(), raw, format!("```json\n{escaped:#}\n```")] {
            for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
                if let Ok(found) = extract(&text[..end], SCHEMA) {
                    let found: serde_json::Value = serde_json::from_str(&found.json).unwrap();
                    assert_eq!(found["report"], report, "{}", &text[..end]);
                }
            }
        }
    }
}
