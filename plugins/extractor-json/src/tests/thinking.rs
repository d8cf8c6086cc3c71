//! Thinking with brackets of all kinds before the answer.

use serde_json::{Value, json};

use super::{Seeded, value};

const THOUGHTS: &[&str] = &[
    "I should look at [1] and [2, 3] first.",
    "Options: [a, b, c].",
    "steps: [search, read, \"verify\"]",
    "Not this: [{\"not\": \"it\"}].",
    "dicts = [{'not': 'it'}, {'nor': 'this'}]",
    "candidates = [{\"id\": 1, \"s\": \"x\"}, {\"id\": 2}]",
    "mixed [1, {\"x\": 2}, 3]",
    "See [the docs](https://a.example/b_(c)) and ![image](a.png).",
    "Python: ['a', 'b', None] and xs[0][1]",
    "nested [[1, 2], [3, [4]]]",
    "an unclosed [ bracket",
    "an unclosed [1, 2 and on",
    "- [ ] item one\n- [x] item two",
    "regex [a-z]+ [^\"'] and range [0, 10)",
    "[1]: https://a.example \"Title\"",
    "he said \"[ok\" and don't [worry]",
    "set {1, 2, 3}, {name}, {x:.2f} and {{ var }}",
    "\\frac{a}{b} and \\{x\\}",
    "if (x) { return [1]; }",
    "```python\nxs = [1, 2]\nprint(xs[0])\n```",
    "| a | [b] |\n|---|---|\n| 1 | [2] |",
    "empty [] and {} and [...]",
    "so [\"a\": 1] is wrong",
    "[[wiki link]] [INFO] [sic]",
];

#[test]
fn lists_in_brackets_are_not_the_answer() {
    let answers = [
        json!({"queries": ["a b", "c"], "done": false}),
        json!({"answer": "see [1] and {x}", "confidence": 0.9}),
        json!({"steps": [{"n": 1, "t": "x [y]"}, {"n": 2, "t": "z"}], "final": null}),
        json!({"list": []}),
    ];
    let mut seeded = Seeded(0x0222_0222);
    for round in 0..1500 {
        let answer = &answers[seeded.next(answers.len())];
        let thoughts: Vec<&str> =
            (0..=seeded.next(8)).map(|_| THOUGHTS[seeded.next(THOUGHTS.len())]).collect();
        let thoughts = thoughts.join([" ", "\n", "\n\n"][seeded.next(3)]);
        let thoughts = match seeded.next(4) {
            0 => format!("<think>{thoughts}</think>\n"),
            1 => format!("{thoughts}\n</think>\n\n"),
            _ => format!("{thoughts}\n"),
        };
        let mut json = match seeded.next(2) {
            0 => answer.to_string(),
            _ => serde_json::to_string_pretty(answer).unwrap(),
        };
        if seeded.next(4) == 0 {
            json.insert(json.len() - 1, ',');
        }
        let text = match seeded.next(5) {
            0 => format!("{thoughts}{json}"),
            1 => format!("{thoughts}```json\n{json}\n```"),
            2 => format!("{thoughts}```\n{json}\n```\nDone."),
            3 => format!("{thoughts}<answer>{json}</answer>"),
            _ => format!("{thoughts}Final answer: {json} (see [end])"),
        };
        let names: Vec<&String> = answer.as_object().unwrap().keys().collect();
        let named = json!({"type": "object", "required": names}).to_string();
        for schema in ["{}", "true", "", r#"{"type": "object"}"#, &named] {
            assert_eq!(&value(&text, schema), answer, "round {round}, {schema}:\n{text}");
        }
    }
}

/// Without names to go by the first object is what a text is about; but when much
/// was said, and the text ends with an object, that one is the outcome.
#[test]
fn after_much_thinking_the_last_object_is_the_outcome() {
    let thinking = "Let me see whether this is what was asked for, and think about it. ".repeat(6);
    let text = format!("Maybe {{\"a\": 1}}? {thinking}\n\n{{\"b\": 2}}\n");
    assert_eq!(value(&text, "{}"), json!({"b": 2}));
    let explained = format!("{{\"a\": 1}}\n\n{thinking} Here {{\"b\": 2}} is only an example.");
    assert_eq!(value(&explained, "{}"), json!({"a": 1}));
    let brief = "First: {\"a\": 1}\nSecond: {\"b\": 2}";
    assert_eq!(value(brief, "{}"), json!({"a": 1}));
    let marked = "```python\nx = {\"a\": 1}\n```\n```json\n{\"b\": 2}\n```";
    assert_eq!(value(marked, "{}"), json!({"b": 2}));
}

#[test]
fn an_object_is_preferred_to_a_list_but_a_list_alone_is_handed_on() {
    let list: Value = json!([{"a": 1}, {"b": 2}]);
    assert_eq!(value(&format!("Here: {list}"), "{}"), list);
    assert_eq!(value(&format!("Here: {list} {{\"c\": 3}}"), "{}"), json!({"c": 3}));
    assert_eq!(value(&format!("{{\"c\": 3}} {list}"), "{}"), json!({"c": 3}));
    assert_eq!(value(&list.to_string(), r#"{"type": "object"}"#), json!({"a": 1}));
}
