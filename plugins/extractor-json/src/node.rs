//! A JSON value as it was read: fields in their order, numbers and strings as
//! they were written. It borrows from the text, so that a value that is looked at
//! and passed over costs next to nothing.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

use crate::bytes::{Beyond, next_special};
use crate::escapes;
use crate::strict::is_in_range;

/// A value. `Number` holds the text of a valid JSON number.
#[derive(Debug, Clone, PartialEq)]
pub enum Node<'a> {
    Null,
    Bool(bool),
    Number(Cow<'a, str>),
    /// A string as it stands in the text; `escaped` when it holds backslashes.
    Text {
        raw: Cow<'a, str>,
        escaped: bool,
    },
    Array(Vec<Node<'a>>),
    Object(Fields<'a>),
}

/// Names, with their escapes resolved, and values.
pub type Fields<'a> = Vec<(Cow<'a, str>, Node<'a>)>;

impl<'a> Node<'a> {
    /// Sets a field; a name that is there already takes the later value. Says
    /// whether it was.
    pub fn set(fields: &mut Fields<'a>, name: Cow<'a, str>, value: Node<'a>) -> bool {
        // Names repeat rarely and objects are small; a large one is searched
        // only in its last fields, so that the whole stays linear.
        let recent = fields.len().saturating_sub(64);
        if let Some((_, old)) = fields[recent..].iter_mut().find(|(known, _)| *known == name) {
            *old = value;
            return true;
        }
        fields.push((name, value));
        false
    }

    /// Whether readers of JSON can hold all its numbers.
    pub fn is_in_range(&self) -> bool {
        match self {
            Node::Number(text) => is_in_range(text),
            Node::Array(items) => items.iter().all(Node::is_in_range),
            Node::Object(fields) => fields.iter().all(|(_, value)| value.is_in_range()),
            Node::Null | Node::Bool(_) | Node::Text { .. } => true,
        }
    }

    /// Whether it is the same value.
    pub fn equals(&self, value: &Value) -> bool {
        match (self, value) {
            (Node::Text { raw, escaped }, Value::String(text)) => {
                escapes::resolve(raw, *escaped) == text.as_str()
            }
            (Node::Text { .. }, _) | (_, Value::String(_)) => false,
            _ => {
                let mut json = String::new();
                self.write(&mut json);
                serde_json::from_str::<Value>(&json).is_ok_and(|own| own == *value)
            }
        }
    }

    /// Writes the value as JSON.
    pub fn write(&self, out: &mut String) {
        match self {
            Node::Null => out.push_str("null"),
            Node::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Node::Number(text) => out.push_str(text),
            Node::Text { raw, escaped } => write_text(raw, *escaped, out),
            Node::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Node::Object(fields) => {
                out.push('{');
                for (index, (name, value)) in fields.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_text(name, false, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

/// Writes a string; when it is `escaped`, its backslashes are escapes.
fn write_text(text: &str, escaped: bool, out: &mut String) {
    out.push('"');
    write_inner(text, escaped, out);
    out.push('"');
}

fn write_inner(text: &str, escaped: bool, out: &mut String) {
    let bytes = text.as_bytes();
    let (mut written, mut at) = (0, 0);
    loop {
        at = next_special(bytes, at, Beyond::Pass);
        let Some(byte) = bytes.get(at) else { break };
        if matches!(byte, b'\'' | b'`') {
            at += 1;
            continue;
        }
        if escaped && *byte == b'\\' {
            // What is escaped as it would be written stays as it is.
            if matches!(bytes.get(at + 1), Some(b'"' | b'\\' | b'n' | b'r' | b't')) {
                at += 2;
                continue;
            }
            out.push_str(&text[written..at]);
            return write_inner(&escapes::resolve(&text[at..], true), false, out);
        }
        out.push_str(&text[written..at]);
        at += 1;
        written = at;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            control => {
                let _ = write!(out, "\\u{control:04x}");
            }
        }
    }
    out.push_str(&text[written..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_can_be_read() {
        let text = |raw: &'static str| Node::Text { raw: raw.into(), escaped: true };
        let mut fields = Vec::new();
        Node::set(&mut fields, "a\n\u{1}\"\\".into(), Node::Number("1e10".into()));
        Node::set(&mut fields, "b".into(), Node::Array(vec![Node::Null, Node::Bool(true)]));
        Node::set(&mut fields, "b".into(), text("é🙂\\u00e9\\n`'"));
        let mut written = String::new();
        Node::Object(fields).write(&mut written);
        let read: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(read, json!({"a\n\u{1}\"\\": 1e10, "b": "é🙂é\n`'"}));
    }

    #[test]
    fn the_same_value_is_the_same_however_it_is_written() {
        let text = Node::Text { raw: "\\u0061b".into(), escaped: true };
        assert!(text.equals(&json!("ab")));
        assert!(!text.equals(&json!(["ab"])));
        assert!(Node::Number("1".into()).equals(&json!(1)));
        let object = Node::Object(vec![("k".into(), Node::Array(vec![text]))]);
        assert!(object.equals(&json!({"k": ["ab"]})));
        assert!(!object.equals(&json!({"k": "ab"})));
    }
}
