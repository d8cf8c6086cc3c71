//! The whole way from a text to a value.

mod answers;
mod cut;
mod quoted;
mod thinking;

use serde_json::{Value, json};

use crate::{Failure, extract};

const ANSWER: &str = r#"{
  "type": "object",
  "required": ["result", "verified"],
  "properties": {
    "result": {"type": "string"},
    "verified": {"type": "boolean"},
    "sources": {"type": "array", "items": {"type": "string"}}
  }
}"#;

fn value(text: &str, schema: &str) -> Value {
    match extract(text, schema) {
        Ok(found) => serde_json::from_str(&found.json).expect("valid JSON"),
        Err(failure) => panic!("{text}: {failure:?}"),
    }
}

#[test]
fn exact_json_is_handed_on_to_the_letter() {
    let exact =
        "{ \"result\": \"a ``` {b} ] c\",\r\n \"verified\": true, \"n\": 12345678901234567890.10 }";
    for text in [
        exact.to_owned(),
        format!("\u{feff}{exact}"),
        format!("Here it is:\n```json\n{exact}\n```\nDone {{really}}."),
        format!("<think>maybe {{\"result\": \"no\", \"verified\": false}} [1, 2]</think>{exact}"),
        format!("Looking at [a] and [b, c] first: {{x}} {{\"other\": 1}} {exact}"),
        format!("{exact} and {{\"verified\": true}}"),
    ] {
        let found = extract(&text, ANSWER).unwrap();
        assert_eq!(found.json, exact, "{text}");
        assert!(!found.repaired);
    }
}

#[test]
fn what_was_handed_on_is_handed_on_again() {
    for exact in [
        r#"{"result": "models end it with </think> {\"a\": 1} [2]", "verified": true}"#,
        r#"{"result": "```json\n{\"result\": \"x\", \"verified\": false}\n```", "verified": true}"#,
        r#"{"verified": true, "verified": false, "result": ""}"#,
    ] {
        for schema in ["{}", r#"{"type": "object"}"#, ANSWER] {
            assert_eq!(extract(exact, schema).unwrap().json, exact);
            let fenced = format!("```json\n{exact}\n```");
            assert_eq!(extract(&fenced, schema).unwrap().json, exact);
        }
    }
}

#[test]
fn the_last_of_equals_is_the_answer_when_fields_are_named() {
    let text =
        r#"{"result": "draft", "verified": false} then {"result": "final", "verified": true}"#;
    assert_eq!(value(text, ANSWER)["result"], "final");
    assert_eq!(value(text, "{}")["result"], "draft");
    let cut = r#"{"result": "whole", "verified": true} and {"result": "cut", "verified": false, "sources": ["#;
    assert_eq!(value(cut, ANSWER)["result"], "whole", "what is cut off is not the last word");
}

#[test]
fn common_damage_is_mended() {
    for (broken, meant) in [
        (r#"{"a": 1, "b": [1, 2,],}"#, json!({"a": 1, "b": [1, 2]})),
        ("{'a': 'it''s', b: don't}", json!({"a": "it''s", "b": "don't"})),
        ("{\"a\": \"two\nlines\"}", json!({"a": "two\nlines"})),
        ("{\"a\": 1 // one\n, /* two */ \"b\": 2 # three\n}", json!({"a": 1, "b": 2})),
        (
            r#"{"a": "he said "no" and left", "b": 1}"#,
            json!({"a": "he said \"no\" and left", "b": 1}),
        ),
        (r#"{"a": "x" "b": "y"}"#, json!({"a": "x", "b": "y"})),
        (r#"{"a": "lost, "b": "y"}"#, json!({"a": "lost", "b": "y"})),
        (r#"{"a": True, "b": None, "c": .5}"#, json!({"a": true, "b": null, "c": 0.5})),
        (r#"{"a": [1, 2, {"b": 3]"#, json!({"a": [1, 2, {"b": 3}]})),
        (r#"{"a": "cut off he"#, json!({"a": "cut off he"})),
        (r#"{\"a\": \"x\"}"#, json!({"a": "x"})),
        (r#""{\"a\": 1}""#, json!({"a": 1})),
        ("{“a”: “b”}", json!({"a": "b"})),
        (
            r#"{"p": "C:\dir\new", "e": "\u00e9\ud83d\ude42"}"#,
            json!({"p": "C:\\dir\new", "e": "é🙂"}),
        ),
        (
            "{\"a\": [\n1\n2\n], \"url\": https://x.example/a}",
            json!({"a": [1, 2], "url": "https://x.example/a"}),
        ),
        ("{\"a\": [1, 2, ...], ... }", json!({"a": [1, 2]})),
        ("{\"a\": 1, \"a\": 2}", json!({"a": 2})),
    ] {
        assert_eq!(value(broken, "{}"), meant, "{broken}");
        let exact = serde_json::from_str::<Value>(broken).is_ok_and(|value| value.is_object());
        assert_eq!(extract(broken, "{}").unwrap().repaired, !exact, "{broken}");
    }
}

#[test]
fn nothing_is_invented() {
    let named = r#"{"required": ["a"], "properties": {"a": {}, "b": {}}}"#;
    for (broken, kept, filled) in [
        (r#"{"a": 1, "b": }"#, json!({"a": 1}), json!({"a": 1, "b": ""})),
        (r#"{"a": 1, "b":}"#, json!({"a": 1}), json!({"a": 1, "b": null})),
        (r#"{"a": 1, "b":"#, json!({"a": 1}), json!({"a": 1})),
        (r#"{"a": 1, "b"#, json!({"a": 1}), json!({"a": 1})),
        (r#"{"a": 1, "b": tr"#, json!({"a": 1}), json!({"a": 1, "b": true})),
        (r#"{"a": 1, "b": -"#, json!({"a": 1}), json!({"a": 1, "b": 0})),
        (
            r#"{"a": 1, "b": ["x", "y"#,
            json!({"a": 1, "b": ["x"]}),
            json!({"a": 1, "b": ["x", "y"]}),
        ),
    ] {
        assert_eq!(value(broken, named), kept, "{broken}");
        assert_eq!(value(broken, "{}"), filled, "{broken}");
    }
    for cut in [
        r#"{"result": "text that is cut o"#,
        r#"{"verified": true, "result": "text that is cut o"#,
        "{verified: true, result: text that is cut o",
    ] {
        let failure = extract(cut, ANSWER).unwrap_err();
        assert_eq!(failure, Failure::Unfit("/result is cut off".into()), "{cut}");
        assert!(extract(cut, "{}").is_ok(), "without names there is nothing to pass for");
    }
}

#[test]
fn without_json_there_is_none() {
    for text in ["", "no JSON here", "use {braces} or [brackets]", "{", "}{", "```json\n```"] {
        assert!(extract(text, ANSWER).is_err(), "{text}");
    }
    assert!(matches!(extract("{}", "{nonsense"), Err(Failure::Schema(_))));
    assert_eq!(extract("nothing", "{}"), Err(Failure::Nothing));
}

#[test]
fn arrays_and_plain_values_can_be_asked_for() {
    let list = r#"{"type": "array", "items": {"type": "integer"}}"#;
    assert_eq!(value("see [x] and [1, 2, 3,]", list), json!([1, 2, 3]));
    assert_eq!(value(" 42 ", r#"{"type": "integer"}"#), json!(42));
    assert_eq!(value("[1] gives {\"a\": 1}", "{}"), json!({"a": 1}));
    assert_eq!(value("the list: [1, 2", "{}"), json!([1, 2]));
}

/// A small generator with a fixed seed: the same inputs every time.
struct Seeded(u64);

impl Seeded {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }
}

const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    ":",
    ",",
    "\\",
    "\\u",
    "\\ud83d",
    "/*",
    "*/",
    "//",
    "#",
    "\n",
    " ",
    "...",
    "`",
    "```",
    "“",
    "”",
    "a",
    "result",
    "verified",
    "true",
    "nul",
    "1",
    "-",
    "1e",
    "é",
    "🙂",
    "\0",
    "\u{feff}",
    "\"a\":",
    "<think>",
    "</think>",
    "=>",
    "=",
    ";",
    "\u{200b}",
    "{\\\"",
    "\\\"",
    "\\'",
    "\"\"\"",
    "+",
    "´",
    "：",
    "N(\"",
    "(1)",
    "\\x4",
    "\"a\"",
    "\"result\":",
    ", a: ",
    "-",
];

#[test]
fn noise_never_panics_and_gives_valid_json_that_fits() {
    let mut seeded = Seeded(0x1929_0606);
    for _ in 0..30_000 {
        let text: String =
            (0..seeded.next(40)).map(|_| PIECES[seeded.next(PIECES.len())]).collect();
        for schema in ["{}", ANSWER] {
            let found = extract(&text, schema);
            assert_eq!(found, extract(&text, schema));
            if let Ok(found) = found {
                let value: Value = serde_json::from_str(&found.json).expect(&text);
                assert!(schema == "{}" || value["verified"].is_boolean(), "{text}");
                assert!(
                    found.repaired || text.contains(&found.json) || text.contains('\\'),
                    "{text}"
                );
            }
        }
    }
}

/// Damages real answers in one place each; the fields that come out are always
/// among those that went in.
#[test]
fn damage_never_adds_a_field() {
    let whole = r#"{"result": "The \"hull\" is {cast} steel, see [1].", "verified": true, "sources": ["a.md", "b.md"]}"#;
    let mut seeded = Seeded(0x00ba_da55);
    for _ in 0..5000 {
        let mut broken: Vec<char> = whole.chars().collect();
        let at = seeded.next(broken.len());
        match seeded.next(3) {
            0 => drop(broken.remove(at)),
            1 => broken.truncate(at),
            _ => broken.insert(at, ['"', ',', '\n', '}', ' '][seeded.next(5)]),
        }
        let text: String = broken.into_iter().collect();
        if let Ok(found) = extract(&text, ANSWER) {
            let value: Value = serde_json::from_str(&found.json).unwrap();
            assert!(value.as_object().unwrap().len() <= 4, "{text} became {value}");
        }
    }
}

#[test]
fn large_noise_is_linear() {
    for piece in [
        "{",
        "[",
        "`",
        "\"",
        "{\"",
        "{\"a\":",
        "{a:\"",
        "[\"a\" b,",
        "{/*",
        "the {x} [y]: ",
        "</think>",
        "{\\\"",
    ] {
        let text = piece.repeat(400_000 / piece.len());
        let start = std::time::Instant::now();
        let _ = extract(&text, ANSWER);
        // A quadratic search would take minutes; the limit is generous because
        // tests run unoptimised on busy machines.
        assert!(start.elapsed().as_secs() < 20, "{piece}");
    }
    let hidden =
        format!("{}{{\"result\": \"r\", \"verified\": true}}", "noise [1] {x} ".repeat(30_000));
    assert_eq!(value(&hidden, ANSWER)["result"], "r");
}
