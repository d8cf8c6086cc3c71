//! Reading values that may be of any type: what does not fit is as if it were not
//! there.

use serde_json::Value;

const NONE: &[Value] = &[];

pub fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

pub fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(NONE, Vec::as_slice)
}

/// A whole number, also as text or with a fraction. What is below zero is zero.
pub fn number(value: &Value, key: &str) -> Option<u64> {
    match value.get(key)? {
        Value::Number(number) => {
            // A cast from a float stays within the type's range.
            number.as_u64().or_else(|| number.as_f64().map(|number| number as u64))
        }
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A code: a word, or a number as one.
pub fn code(value: &Value, key: &str) -> Option<String> {
    match value.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// On one line, without what could steer a terminal, and not longer than that.
pub fn line(text: &str, most: usize) -> String {
    let mut line = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let word: String = word.chars().filter(|c| !c.is_control() && !is_direction(*c)).collect();
        if word.is_empty() {
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
            length += 1;
        }
        length += word.chars().count();
        line.push_str(&word);
        if length > most {
            let kept: String = line.chars().take(most).collect();
            return format!("{}…", kept.trim_end());
        }
    }
    line
}

/// Marks that reorder the text around them.
fn is_direction(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_come_in_any_form() {
        let value = json!({
            "whole": 5, "text": " 7 ", "half": 2.5, "below": -3, "huge": 1e300, "word": "x", "none": null,
        });
        let found = |key| number(&value, key);
        assert_eq!((found("whole"), found("text"), found("half")), (Some(5), Some(7), Some(2)));
        assert_eq!((found("below"), found("huge")), (Some(0), Some(u64::MAX)));
        assert_eq!((found("word"), found("none"), found("missing")), (None, None, None));
        assert_eq!(number(&json!([1]), "whole"), None);
        assert_eq!(code(&json!({ "code": 429 }), "code").as_deref(), Some("429"));
        assert_eq!(code(&json!({ "code": "x" }), "code").as_deref(), Some("x"));
        assert_eq!(code(&json!({ "code": [] }), "code"), None);
    }

    #[test]
    fn a_line_is_one_line() {
        assert_eq!(line(" a\n\tb \u{1b}[31m\u{202e} ", 50), "a b [31m");
        assert_eq!(line("wörter und mehr", 6), "wörter…");
        assert_eq!(line("wörter und mehr", 7), "wörter…");
        assert_eq!(line("wörter", 6), "wörter");
        assert_eq!(line("", 6), "");
    }
}
