//! Reads exact JSON, after `strict` has found where it ends. What it reads
//! borrows from the text.

use crate::bytes::{Beyond, next_special};
use crate::escapes;
use crate::node::{Fields, Node};
use crate::strict::{DEEPEST, end_of_number, is_in_range};

/// Reads `text`, which must be a JSON value as a whole. None when it nests too
/// deep or holds a number that is out of range.
pub fn read(text: &str) -> Option<Node<'_>> {
    Reader { text, at: 0, depth: 0 }.value()
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at)? {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                byte => return Some(*byte),
            }
        }
    }

    fn value(&mut self) -> Option<Node<'a>> {
        match self.peek()? {
            open @ (b'{' | b'[') => {
                if self.depth == DEEPEST {
                    return None;
                }
                self.depth += 1;
                self.at += 1;
                let node = if open == b'{' { self.object() } else { self.array() };
                self.depth -= 1;
                node
            }
            b'"' => {
                let (raw, escaped) = self.string()?;
                Some(Node::Text { raw: raw.into(), escaped })
            }
            b't' => Some(self.literal("true", Node::Bool(true))),
            b'f' => Some(self.literal("false", Node::Bool(false))),
            b'n' => Some(self.literal("null", Node::Null)),
            _ => {
                let end = end_of_number(self.text.as_bytes(), self.at)?;
                let number = &self.text[self.at..end];
                self.at = end;
                is_in_range(number).then_some(Node::Number(number.into()))
            }
        }
    }

    fn literal(&mut self, word: &str, node: Node<'a>) -> Node<'a> {
        self.at += word.len();
        node
    }

    fn object(&mut self) -> Option<Node<'a>> {
        let mut fields = Fields::new();
        loop {
            match self.peek()? {
                b'"' => {
                    let (raw, escaped) = self.string()?;
                    self.peek()?;
                    self.at += 1;
                    let value = self.value()?;
                    Node::set(&mut fields, escapes::resolve(raw, escaped), value);
                }
                b',' => self.at += 1,
                _ => {
                    self.at += 1;
                    return Some(Node::Object(fields));
                }
            }
        }
    }

    fn array(&mut self) -> Option<Node<'a>> {
        let mut items = Vec::new();
        loop {
            match self.peek()? {
                b']' => {
                    self.at += 1;
                    return Some(Node::Array(items));
                }
                b',' => self.at += 1,
                _ => items.push(self.value()?),
            }
        }
    }

    fn string(&mut self) -> Option<(&'a str, bool)> {
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        let mut at = start;
        let mut escaped = false;
        loop {
            at = next_special(bytes, at, Beyond::Pass);
            match bytes.get(at)? {
                b'"' => {
                    self.at = at + 1;
                    return Some((&self.text[start..at], escaped));
                }
                b'\\' => {
                    escaped = true;
                    at += 2;
                }
                _ => at += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn reads_what_a_full_parser_reads() {
        for text in [
            "{}",
            "[ ]",
            " {\"a\" : [1, -2.5e3, true, false, null, \"\"] , \"b\\n\": {\"c\": \"\\\"\\\\\"}} ",
            "{\"a\": 1, \"a\": \"last 'word'\"}",
            "\"\\ud83d\\ude42 é\"",
            "12345678901234567890.10",
        ] {
            let value: Value = serde_json::from_str(text).unwrap();
            assert!(read(text).unwrap().equals(&value), "{text}");
        }
        for text in ["[1e999]", &"[".repeat(DEEPEST + 1)] {
            assert!(serde_json::from_str::<Value>(text).is_err());
            assert_eq!(read(text), None);
        }
        let deep = format!("{}{}", "[".repeat(DEEPEST), "]".repeat(DEEPEST));
        assert!(serde_json::from_str::<Value>(&deep).is_ok() && read(&deep).is_some());
    }
}
