//! Finds the end of an exact JSON value. Makes nothing and changes nothing: what
//! passes here can be handed on to the letter.

use crate::budget::Budget;
use crate::bytes::{Beyond, next_special};

/// Deeper nesting is no answer to anything, and serde_json reads no deeper.
pub const DEEPEST: usize = 127;

/// Why there is no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// It is not JSON.
    Broken,
    /// It nests too deep; here.
    TooDeep(usize),
}

/// The end of the object or array that starts at `start`.
pub fn end_of_value(text: &str, start: usize, budget: &mut Budget) -> Result<usize, Failure> {
    let bytes = text.as_bytes();
    let mut open = Open::default();
    let mut at = start;
    let mut state = State::Value;
    loop {
        at = skip_space(bytes, at);
        budget.spend(1);
        if budget.is_spent() {
            return Err(Failure::Broken);
        }
        let byte = *bytes.get(at).ok_or(Failure::Broken)?;
        match (state, byte) {
            (State::Value | State::ValueOrEnd, b'{' | b'[') => {
                if open.depth == DEEPEST {
                    return Err(Failure::TooDeep(at));
                }
                open.push(byte == b'{');
                state = if byte == b'{' { State::NameOrEnd } else { State::ValueOrEnd };
                at += 1;
                continue;
            }
            (State::ValueOrEnd, b']') | (State::NameOrEnd, b'}') => {
                open.pop();
                at += 1;
            }
            (State::After, b']' | b'}') => {
                if open.innermost_is_object() != (byte == b'}') {
                    return Err(Failure::Broken);
                }
                open.pop();
                at += 1;
            }
            (State::After, b',') => {
                state = if open.innermost_is_object() { State::Name } else { State::Value };
                at += 1;
                continue;
            }
            (State::Name | State::NameOrEnd, b'"') => {
                at = skip_space(bytes, end_of_string(bytes, at, budget)?);
                if bytes.get(at) != Some(&b':') {
                    return Err(Failure::Broken);
                }
                at += 1;
                state = State::Value;
                continue;
            }
            (State::Value | State::ValueOrEnd, b'"') => at = end_of_string(bytes, at, budget)?,
            (State::Value | State::ValueOrEnd, b'-' | b'0'..=b'9') => {
                at = end_of_number(bytes, at).ok_or(Failure::Broken)?;
            }
            (State::Value | State::ValueOrEnd, b't' | b'f' | b'n') => {
                let word = [b"true".as_slice(), b"false", b"null"]
                    .into_iter()
                    .find(|word| bytes[at..].starts_with(word))
                    .ok_or(Failure::Broken)?;
                at += word.len();
            }
            _ => return Err(Failure::Broken),
        }
        if open.depth == 0 {
            return Ok(at);
        }
        state = State::After;
    }
}

/// The containers that are open, as bits: most attempts end after a step or two,
/// and need no memory of their own.
#[derive(Default)]
struct Open {
    depth: usize,
    objects: u128,
}

impl Open {
    fn push(&mut self, object: bool) {
        self.objects = (self.objects << 1) | u128::from(object);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.objects >>= 1;
        self.depth -= 1;
    }

    fn innermost_is_object(&self) -> bool {
        self.objects & 1 == 1
    }
}

#[derive(Clone, Copy)]
enum State {
    Value,
    ValueOrEnd,
    Name,
    NameOrEnd,
    After,
}

fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
        at += 1;
    }
    at
}

fn end_of_string(bytes: &[u8], start: usize, budget: &mut Budget) -> Result<usize, Failure> {
    let mut at = start + 1;
    loop {
        at = next_special(bytes, at, Beyond::Pass);
        let Some(byte) = bytes.get(at) else {
            budget.spend(at - start);
            return Err(Failure::Broken);
        };
        match byte {
            b'"' => {
                budget.spend(at - start);
                return Ok(at + 1);
            }
            b'\\' => match bytes.get(at + 1) {
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => at += 2,
                Some(b'u') if is_code(bytes, at + 2) => {
                    // A lone half of a pair is no character.
                    let high = matches!(bytes[at + 2], b'd' | b'D')
                        && matches!(bytes[at + 3], b'8'..=b'9' | b'a'..=b'b' | b'A'..=b'B');
                    let low = matches!(bytes[at + 2], b'd' | b'D')
                        && matches!(bytes[at + 3], b'c'..=b'f' | b'C'..=b'F');
                    if low {
                        return Err(Failure::Broken);
                    }
                    at += 6;
                    if high {
                        let pair = bytes.get(at) == Some(&b'\\')
                            && bytes.get(at + 1) == Some(&b'u')
                            && is_code(bytes, at + 2)
                            && matches!(bytes[at + 2], b'd' | b'D')
                            && matches!(bytes[at + 3], b'c'..=b'f' | b'C'..=b'F');
                        if !pair {
                            return Err(Failure::Broken);
                        }
                        at += 6;
                    }
                }
                _ => {
                    budget.spend(at - start);
                    return Err(Failure::Broken);
                }
            },
            0..0x20 => {
                budget.spend(at - start);
                return Err(Failure::Broken);
            }
            _ => at += 1,
        }
    }
}

fn is_code(bytes: &[u8], at: usize) -> bool {
    bytes.get(at..at + 4).is_some_and(|code| code.iter().all(u8::is_ascii_hexdigit))
}

/// The end of a number as JSON writes it.
pub fn end_of_number(bytes: &[u8], start: usize) -> Option<usize> {
    let digits = |from: usize| {
        let count =
            bytes[from.min(bytes.len())..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        (count > 0).then_some(from + count)
    };
    let mut at = start;
    if bytes.get(at) == Some(&b'-') {
        at += 1;
    }
    at = if bytes.get(at) == Some(&b'0') { at + 1 } else { digits(at)? };
    if bytes.get(at) == Some(&b'.') {
        at = digits(at + 1)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        at = digits(at + 1 + sign)?;
    }
    Some(at)
}

/// Whether a number as JSON writes it is one that its readers can hold.
pub fn is_in_range(number: &str) -> bool {
    let plain = number.len() < 300 && !number.bytes().any(|byte| matches!(byte, b'e' | b'E'));
    plain || number.parse::<f64>().is_ok_and(f64::is_finite)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(text: &str) -> Result<usize, Failure> {
        end_of_value(text, 0, &mut Budget::for_attempt(text.len()))
    }

    #[test]
    fn agrees_with_a_full_parser() {
        for text in [
            "{}",
            "[]",
            "{\"a\":1}",
            "[1, 2.5e-3, -0, true, null, \"x\\u00e9\\\"\"]",
            "{\"a\":{\"b\":[{}]}}",
            "{\"a\":1,}",
            "[1 2]",
            "{a:1}",
            "[01]",
            "[1.]",
            "[\"\n\"]",
            "{\"a\"}",
            "[\"\\ud800\"]",
            "[\"\\ud83d\\ude42\"]",
            "[tru]",
            "{",
            "[\"",
            "[-]",
            "{\"a\":}",
            "[,]",
            "]",
            "[}",
        ] {
            let parsed = serde_json::from_str::<serde_json::Value>(text).is_ok();
            assert_eq!(end(text) == Ok(text.len()), parsed, "{text}");
        }
    }

    #[test]
    fn the_end_is_where_the_value_ends() {
        assert_eq!(end("{\"a\": \"}\"} and more"), Ok(10));
        let deep = "[".repeat(DEEPEST + 1);
        assert_eq!(end(&deep), Err(Failure::TooDeep(DEEPEST)));
    }
}
