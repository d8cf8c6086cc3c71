//! Answers as research agents give them, against the schema that the tools use.

use serde_json::{Value, json};

use super::value;
use crate::{Failure, extract};

pub const SCHEMA: &str = r#"{
  "type": "object",
  "required": ["verified", "report"],
  "properties": {
    "success": {"type": "boolean"},
    "verified": {"type": "boolean"},
    "report": {"type": "string", "minLength": 1},
    "metadata": {
      "type": "object",
      "properties": {
        "sources_visited": {"type": "array", "items": {"type": "string"}},
        "search_queries_used": {"type": "array", "items": {"type": "string"}},
        "summary": {"type": "string"}
      }
    }
  }
}"#;

fn answer(text: &str) -> Value {
    value(text, SCHEMA)
}

/// A report with everything that confuses: tables, code in fences, JSON, quotes.
const REPORT: &str = "# Tides\n\nHe said \"spring\" & 'neap'.\n\n| a | b |\n|---|---|\n| `{` | ] |\n\n```json\n{\"report\": \"inner\", \"verified\": true}\n```\n\n```rust\nfn main() { println!(\"{}\", xs[0]); }\n```\n\nSee [1](https://a.example/b_(c)), {x} and C:\\dir.\n";

fn whole(report: &str) -> Value {
    json!({
        "success": true,
        "verified": false,
        "report": report,
        "metadata": {
            "sources_visited": ["https://a.example/x", "https://b.example/?q=[1]&r={2}"],
            "search_queries_used": ["spring tide \"table\"", "neap"],
            "summary": "Two sentences. Really."
        }
    })
}

#[test]
fn whatever_stands_around_a_sound_answer_it_is_found_to_the_letter() {
    let json = serde_json::to_string_pretty(&whole(REPORT)).unwrap();
    for text in [
        json.clone(),
        format!("\u{feff}{json}"),
        format!("```json\n{json}\n```"),
        format!("```\n{json}\n```\n\nLet me know if {{more}} is needed [or not]."),
        format!("~~~json\n{json}\n~~~"),
        format!("I looked at [1], [2, 3] and {{braces}}.\n\nsteps: [search, read]\n{json}"),
        format!("<think>\nmaybe {{\"verified\": true, \"report\": \"draft\"}}\n</think>\n{json}"),
        format!("so I will answer [now] {{ok}}\n</think>\n\n```json\n{json}\n```"),
        format!("<thinking>[{{\"not\": \"it\"}}]</thinking>{json}"),
        format!("{{\"tool\": \"search\", \"args\": [\"x\"]}}\n{json}\n{{\"done\": true}}"),
        format!("[{json}]"),
        format!("{{\"response\": {json}}}"),
        format!("{{\"status\": \"ok\", \"result\": {{\"answer\": {json}}}}}"),
        format!("Unclosed [ bracket, unclosed {{ brace.\n{json}"),
        format!("{json}\n```\n{json}\n```"),
    ] {
        let found = extract(&text, SCHEMA).unwrap_or_else(|failure| panic!("{text}: {failure:?}"));
        assert_eq!(found.json, json, "{text}");
        assert!(!found.repaired);
    }
}

#[test]
fn an_answer_inside_a_string_is_unpacked() {
    let inner = whole(REPORT).to_string();
    let encoded = serde_json::to_string(&inner).unwrap();
    for text in [
        encoded.clone(),
        format!("```json\n{encoded}\n```"),
        format!("{{\"response\": {encoded}}}"),
        format!("[{{\"type\": \"text\", \"text\": {encoded}}}]"),
    ] {
        assert_eq!(answer(&text), whole(REPORT), "{text}");
    }
}

#[test]
fn the_last_whole_answer_wins() {
    let draft = whole("draft").to_string();
    let last = r#"{"verified": true, "report": "final"}"#;
    let mended = "{'verified': True, 'report': 'final',}";
    let example = r#"{"success": true, "verified": false, "report": "Markdown…", "metadata": {"sources_visited": ["https://…"], "search_queries_used": ["…"], "summary": "one or two sentences"}}"#;
    for text in [
        format!("{draft}\n\nAfter checking:\n\n{last}"),
        format!("```json\n{draft}\n```\nRevised:\n```json\n{last}\n```"),
        format!("You asked for this form:\n```json\n{example}\n```\nHere it is:\n{last}"),
        format!("{example}{last}"),
        format!("{example}\n{mended}"),
        format!("{last}\n\n{{\"verified\": true, \"report\": \"cut o"),
        format!("{last}\n{{\"verified\": \"yes\", \"report\": \"of the wrong type\"}}"),
        format!("{last}\n{{\"verified\": true, \"report\": \"\"}}"),
    ] {
        assert_eq!(answer(&text)["report"], "final", "{text}");
    }
}

/// The report as it is when the model forgets to escape it.
#[test]
fn a_report_that_was_not_escaped_is_kept_whole() {
    let long = format!("He said \"yes\" and {}left", "went on and on ".repeat(100));
    for report in [
        long.as_str(),
        "He said \"yes\" and left",
        "He said \"yes\", and \"no\", then left.",
        "\"Quoted\" at the start, and at the \"end\"",
        "line one\nline two\n\n- \"item\": first\n- \"item\": second",
        "Use {\"a\": 1, \"b\": 2} to set it",
        "Use {\"a\": \"x\", \"b\": \"y\"} to set it",
        "A list [\"a\", \"b\"] of two",
        "```json\n{\n  \"name\": \"x\",\n  \"items\": [\"a\", \"b\"]\n}\n```\nand more",
        "```json\n{\"report\": \"inner\", \"verified\": 1}\n```\nand more",
        "fn main() { println!(\"{}\", xs[0]); }",
        "<a href=\"https://x.example\">link</a>, and <b class=\"c\">d</b>",
        "| \"a\" | \"b\" |\n|---|---|\n| 1 | 2 |",
        "The ship, name: \"Trieste\", dived",
        "A remark.\n\"Note\": this is not a field",
        "Some \"quotes\", {braces} and ```fences```.\n",
        "He said \"yes\", note: that was all",
        "\"a\", ... and so on",
        "Say \"a\" # b\nand \"c\" // d\nand \"e\", # f\nmore",
        "See \"x\"\n```sh\nls \"$HOME\"\n```\nend",
        "She wrote: \"one\" + \"two\" is \"onetwo\", he agreed",
        "A \"spring tide\" comes at new moon [1], and {so}, on [2]. Then it ends",
        "A \"spring tide\", as it is called [1], comes at new moon. Then it ends",
    ] {
        for (before, after) in [
            ("{\"success\": true, \"verified\": true, \"report\": \"", "\"}"),
            ("{\"verified\": true, \"report\": \"", "\", \"success\": true}"),
            ("```json\n{\n  \"report\": \"", "\",\n  \"verified\": true\n}\n```\n"),
            ("{\"report\": \"", "\",\n \"metadata\": {\"summary\": \"s\"}, \"verified\": true}"),
        ] {
            let text = format!("{before}{report}{after}");
            let found = answer(&text);
            assert_eq!(found["report"], report, "{text}");
            assert_eq!(found["verified"], true, "{text}");
        }
    }
}

#[test]
fn damage_of_all_kinds_is_mended() {
    for text in [
        "{'success': True, 'verified': False, 'report': 'It''s done'}",
        "{“success”: true, “verified”: false, “report”: “It''s done”}",
        "{success: true, verified: false, report: \"It''s done\"}",
        "{\n  \"success\": true // yes\n  \"verified\": false, # not yet\n  \"report\": \"It''s done\",\n}",
        "{\"success\": true, \"verified\": true, \"report\": \"It''s done\", \"verified\": false,}",
        "{\\\"success\\\": true, \\\"verified\\\": false, \\\"report\\\": \\\"It''s done\\\"}",
        "{\"success\": true, \"verified\": false, \"report\": \"It''s done\"",
        "{\"success\": true \"verified\": false \"report\": \"It''s done\"}",
        "{\"success\": true, \"verified\": false, \"report\": \"\"\"It''s done\"\"\"}",
        "```json\n{\"success\": true, \"verified\": false, \"report\": \"It''s done\"\n```\n",
        "{\"success\": true, \"verified\": false, \"report\": \"It''s done\", ...}",
    ] {
        let expected = json!({"success": true, "verified": false, "report": "It''s done"});
        assert_eq!(answer(text), expected, "{text}");
    }
    let number = "{\"verified\": true, \"report\": \"r\", \"score\": NaN,}";
    assert_eq!(answer(number)["score"], "NaN");
}

#[test]
fn of_an_answer_that_is_cut_off_only_what_is_complete_is_kept() {
    let whole = r#"{"verified": true, "report": "all of it", "metadata": {"sources_visited": ["https://a.example/", "https://b.exa"#;
    let kept = json!({"verified": true, "report": "all of it", "metadata": {"sources_visited": ["https://a.example/"]}});
    assert_eq!(answer(whole), kept);
    let first = r#"{"verified": true, "report": "all of it", "metadata": {"sources_visited": ["https://a.exa"#;
    assert_eq!(answer(first), json!({"verified": true, "report": "all of it"}));
    for (text, problem) in [
        (r#"{"report": "all of it", "verified": tr"#, "/verified is missing"),
        (r#"{"report": "all of it", "verified":"#, "/verified is missing"),
        (r#"{"report": "all of it", "#, "/verified is missing"),
        (r#"{"verified": true, "report": "#, "/report is missing"),
        (r#"{"verified": true, "report": ""#, "/report is cut off"),
        (r#"{"verified": , "report": "x"}"#, "/verified is missing"),
    ] {
        assert_eq!(extract(text, SCHEMA), Err(Failure::Unfit(problem.into())), "{text}");
    }
}

/// No name and no text in an answer that is not in what the model wrote.
#[test]
fn damage_anywhere_invents_nothing() {
    let text = format!("Thinking [1].\n```json\n{}\n```\n", whole(REPORT));
    let known = ["success", "verified", "report", "metadata"];
    for at in 0..text.len() {
        let cut = &text[..at];
        let mut missing = text.clone();
        missing.remove(at);
        for broken in [cut, &missing] {
            let Ok(found) = extract(broken, SCHEMA) else {
                continue;
            };
            let found: Value = serde_json::from_str(&found.json).unwrap();
            for (name, field) in found.as_object().unwrap() {
                assert!(broken.contains(name.as_str()), "{broken}");
                if name == "report" {
                    assert!(!field.as_str().unwrap().is_empty());
                }
            }
            assert!(known[1..3].iter().all(|name| found.get(name).is_some()), "{broken}");
        }
    }
}
