//! A JSON value as it was read from broken text: fields in their order, numbers
//! as they were written.

use std::fmt::Write as _;

/// A value. `Number` holds the text of a valid JSON number.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Node {
    /// Sets a field; a name that is there already takes the later value.
    pub fn set(fields: &mut Vec<(String, Node)>, name: String, value: Node) {
        // Names repeat rarely and objects are small; a large one is searched
        // only in its last fields, so that the whole stays linear.
        let recent = fields.len().saturating_sub(64);
        match fields[recent..].iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => fields.push((name, value)),
        }
    }

    /// Writes the value as JSON.
    pub fn write(&self, out: &mut String) {
        match self {
            Node::Null => out.push_str("null"),
            Node::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Node::Number(text) => out.push_str(text),
            Node::Text(text) => write_text(text, out),
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
                    write_text(name, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if (control as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", control as u32);
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let mut fields = Vec::new();
        Node::set(&mut fields, "a\n\u{1}\"\\".into(), Node::Number("1e10".into()));
        Node::set(&mut fields, "b".into(), Node::Array(vec![Node::Null, Node::Bool(true)]));
        Node::set(&mut fields, "b".into(), Node::Text("é🙂".into()));
        let mut text = String::new();
        Node::Object(fields).write(&mut text);
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read, serde_json::json!({"a\n\u{1}\"\\": 1e10, "b": "é🙂"}));
    }
}
