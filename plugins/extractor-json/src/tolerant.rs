//! Reads an object or array from broken JSON, as a reader would who knows what
//! was meant: comments, lost commas and quotes, single quotes, bare words,
//! brackets that do not match, an end that is cut off. It takes what is there; a
//! name without a value is left out, never filled.

use crate::budget::Budget;
use crate::node::Node;
use crate::quotes::{self, Role, Verdict, is_quote, is_space, looks_like_name, near, trim_start};
use crate::strict::{DEEPEST, end_of_number};

/// What was read.
#[derive(Debug)]
pub struct Parsed {
    pub node: Node,
    pub end: usize,
    /// The text ended before the value did.
    pub truncated: bool,
    /// What was repaired.
    pub notes: Vec<&'static str>,
}

/// Reads the object or array that starts at `start`. An error when what stands
/// there is not meant as JSON, with the place from where to look on.
pub fn parse(text: &str, start: usize, budget: &mut Budget) -> Result<Parsed, usize> {
    let mut parser = Parser {
        text,
        at: start,
        budget,
        objects: 0,
        arrays: 0,
        failed: false,
        too_deep: None,
        truncated: false,
        notes: Vec::new(),
    };
    let node = if text[start..].starts_with('{') { parser.object() } else { parser.array() };
    if parser.failed {
        return Err(parser.too_deep.unwrap_or(start + 1).max(start + 1));
    }
    Ok(Parsed { node, end: parser.at, truncated: parser.truncated, notes: parser.notes })
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    budget: &'a mut Budget,
    /// Containers that are open.
    objects: usize,
    arrays: usize,
    failed: bool,
    too_deep: Option<usize>,
    truncated: bool,
    notes: Vec<&'static str>,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn note(&mut self, note: &'static str) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn cut_off(&mut self) {
        self.truncated = true;
        self.note("the text is cut off");
    }

    /// Passes over white space and comments.
    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = trim_start(rest);
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("/*") {
                self.note("comments were left out");
                let length = trimmed.find("*/").map_or(trimmed.len(), |end| end + 2);
                self.budget.spend(length);
                self.at += length;
            } else if trimmed.starts_with("//") || trimmed.starts_with('#') {
                self.note("comments were left out");
                // On the last line, a comment ends where the container does.
                let end = trimmed
                    .find('\n')
                    .or_else(|| trimmed.find(['}', ']']))
                    .unwrap_or(trimmed.len());
                self.budget.spend(end);
                self.at += end;
            } else {
                return;
            }
        }
    }

    /// True when there is no leave to go on.
    fn stop(&mut self) -> bool {
        self.budget.spend(1);
        if self.budget.is_spent() {
            self.failed = true;
        }
        self.failed
    }

    fn object(&mut self) -> Node {
        let mut fields = Vec::new();
        let mut garbage = false;
        self.at += 1;
        self.objects += 1;
        while !self.stop() {
            self.skip();
            let Some(next) = self.peek() else {
                self.cut_off();
                break;
            };
            match next {
                '}' => {
                    self.at += 1;
                    break;
                }
                ']' => {
                    self.note("brackets did not match");
                    // The array around the object ends, and the object with it.
                    if self.arrays == 0 {
                        self.at += 1;
                    }
                    break;
                }
                ',' | ';' => {
                    self.at += 1;
                    continue;
                }
                '.' if self.rest().starts_with("...") => {
                    self.at += 3;
                    self.note("an ellipsis was left out");
                    continue;
                }
                '…' => {
                    self.at += next.len_utf8();
                    self.note("an ellipsis was left out");
                    continue;
                }
                '`' if self.rest().starts_with("```") => {
                    garbage = true;
                    self.cut_off();
                    break;
                }
                '{' | '[' => {
                    garbage = true;
                    self.note("brackets did not match");
                    break;
                }
                _ => {}
            }
            let quoted = is_quote(next);
            let name = if quoted { self.string(Role::Name) } else { self.bare_name() };
            self.skip();
            let rest = self.rest();
            if rest.is_empty() {
                self.cut_off();
                break;
            }
            if let Some(sign) = ["=>", ":", "="].iter().find(|sign| rest.starts_with(**sign)) {
                self.at += sign.len();
            } else if quoted && starts_value(rest) {
                self.note("a colon was missing");
            } else {
                garbage |= !quoted;
                self.note("a name without a value was left out");
                if name.is_empty()
                    && self.at < self.text.len()
                    && !rest.starts_with(['}', ']', ','])
                {
                    self.at += rest.chars().next().map_or(0, char::len_utf8);
                }
                continue;
            }
            self.skip();
            match self.peek() {
                None => {
                    self.note("a name without a value was left out");
                    self.cut_off();
                    break;
                }
                Some(',' | '}' | ']') => self.note("a name without a value was left out"),
                Some(_) => {
                    if let Some(value) = self.value(Role::Field) {
                        Node::set(&mut fields, name, value);
                    } else {
                        self.note("a name without a value was left out");
                    }
                }
            }
        }
        self.objects -= 1;
        // Braces around prose are not an object.
        if fields.is_empty() && garbage {
            self.failed = true;
        }
        Node::Object(fields)
    }

    fn array(&mut self) -> Node {
        let mut items = Vec::new();
        self.at += 1;
        self.arrays += 1;
        while !self.stop() {
            self.skip();
            let Some(next) = self.peek() else {
                self.cut_off();
                break;
            };
            match next {
                ']' => {
                    self.at += 1;
                    break;
                }
                '}' => {
                    self.note("brackets did not match");
                    if self.objects > 0 {
                        break;
                    }
                    self.at += 1;
                }
                ',' | ';' => self.at += 1,
                '.' if self.rest().starts_with("...") => {
                    self.at += 3;
                    self.note("an ellipsis was left out");
                }
                '`' if self.rest().starts_with("```") => {
                    self.cut_off();
                    break;
                }
                // A field whose array was never closed.
                _ if self.objects > 0
                    && is_quote(next)
                    && !items.is_empty()
                    && looks_like_name(self.rest()) =>
                {
                    self.note("brackets did not match");
                    break;
                }
                _ => match self.value(Role::Item) {
                    Some(value) => items.push(value),
                    None => self.at += self.peek().map_or(0, char::len_utf8),
                },
            }
        }
        self.arrays -= 1;
        Node::Array(items)
    }

    fn value(&mut self, role: Role) -> Option<Node> {
        match self.peek()? {
            '{' | '[' if self.objects + self.arrays >= DEEPEST => {
                self.failed = true;
                self.too_deep = Some(self.at);
                None
            }
            '{' => Some(self.object()),
            '[' => Some(self.array()),
            character if is_quote(character) && !self.rest().starts_with("```") => {
                if character != '"' {
                    self.note("quotation marks were replaced");
                }
                Some(Node::Text(self.string(role)))
            }
            _ => self.bare_value(role),
        }
    }

    fn string(&mut self, role: Role) -> String {
        let open = self.peek().unwrap_or('"');
        self.at += open.len_utf8();
        let start = self.at;
        let bytes = self.text.as_bytes();
        while self.at < bytes.len() {
            let byte = bytes[self.at];
            if byte == b'\\' {
                self.at += 1;
                self.at += self.peek().map_or(0, char::len_utf8);
                continue;
            }
            if byte.is_ascii() && byte != open as u8 && !(byte == b'"' || byte == b'\'') {
                if byte < 0x20 {
                    self.note("line breaks in a string were escaped");
                }
                self.at += 1;
                continue;
            }
            let Some(character) = self.peek() else { break };
            if !quotes::closes(open, character) {
                self.at += character.len_utf8();
                continue;
            }
            let end = self.at;
            match quotes::judge(self.text, start, end, open, role, self.budget) {
                Verdict::Closes => {
                    self.at += character.len_utf8();
                    return decode(&self.text[start..end]);
                }
                Verdict::Inner => {
                    self.note("quotation marks inside a string were escaped");
                    self.at += character.len_utf8();
                }
                Verdict::OpensNext => {
                    self.note("a closing quotation mark was missing");
                    let content = self.text[start..end].trim_end_matches(is_space);
                    return decode(content.strip_suffix(',').unwrap_or(content));
                }
            }
            if self.stop() {
                return String::new();
            }
        }
        self.at = self.text.len();
        self.unterminated(start, role)
    }

    /// The text ended inside a string. Where the object looks closed all the
    /// same, only the quotation mark was lost.
    fn unterminated(&mut self, start: usize, role: Role) -> String {
        let raw = &self.text[start..];
        self.budget.spend(raw.len() / 4);
        let trimmed = raw.trim_end_matches(is_space);
        let trimmed =
            trimmed.strip_suffix("```").map_or(trimmed, |inner| inner.trim_end_matches(is_space));
        if role != Role::Name && trimmed.ends_with(['}', ']']) {
            self.note("a closing quotation mark was missing");
            let mut from = 0;
            while let Some(comma) = raw[from..].find(',') {
                let after = from + comma + 1;
                if looks_like_name(trim_start(&raw[after..])) {
                    self.at = start + after - 1;
                    return decode(raw[..after - 1].trim_end_matches(is_space));
                }
                from = after;
            }
            let mut end = trimmed.len();
            for _ in 0..self.objects + self.arrays {
                let inner = trimmed[..end].trim_end_matches(is_space);
                match inner.strip_suffix(['}', ']']) {
                    Some(shorter) => end = shorter.len(),
                    None => break,
                }
            }
            self.at = start + end;
            return decode(&trimmed[..end]);
        }
        self.cut_off();
        decode(raw)
    }

    fn bare_name(&mut self) -> String {
        self.note("names were put in quotation marks");
        let rest = near(self.rest(), 400);
        let end = rest
            .find(|character: char| {
                matches!(character, ':' | ',' | '{' | '}' | '[' | ']' | '\n' | '"' | '=')
            })
            .unwrap_or(rest.len());
        self.at += end;
        // A name that has lost its first quotation mark.
        if self.rest().starts_with('"') {
            self.at += 1;
        }
        rest[..end].trim_matches(is_space).to_owned()
    }

    /// A value without quotation marks: a number, a word, a phrase.
    fn bare_value(&mut self, role: Role) -> Option<Node> {
        let start = self.at;
        let mut end = None;
        while let Some(character) = self.peek() {
            if self.stop() {
                return None;
            }
            let after = near(&self.rest()[character.len_utf8()..], 400);
            let next = trim_start(after);
            let ends = match character {
                ',' if role == Role::Item => true,
                ',' => {
                    let so_far = self.text[start..self.at].trim_matches(is_space);
                    is_literal(so_far)
                        || quotes::is_cut_name(next)
                        || next.is_empty()
                        || next.starts_with(['}', ']', '.', '/', '{', '[', ','])
                        || looks_like_name(next)
                }
                '}' => self.objects > 0 || role == Role::Field,
                ']' => self.arrays > 0 || role == Role::Field,
                '\n' => {
                    let so_far = self.text[start..self.at].trim_matches(is_space);
                    next.is_empty()
                        || next.starts_with(['}', ']', '{', '[', '"'])
                        || looks_like_name(next)
                        || is_literal(so_far)
                }
                ' ' | '\t' => {
                    let comment =
                        next.starts_with("/*") || next.starts_with("//") || next.starts_with('#');
                    comment
                        || next.starts_with('"') && (role == Role::Item || looks_like_name(next))
                }
                '/' => after.starts_with('*'),
                '`' => after.starts_with("``"),
                '"' => {
                    let closes = next.is_empty() || next.starts_with([',', '}', ']']);
                    if closes {
                        end = Some(self.at);
                        self.at += 1;
                    }
                    closes
                }
                _ => false,
            };
            if ends {
                break;
            }
            self.at += character.len_utf8();
        }
        let word = self.text[start..end.unwrap_or(self.at)].trim_matches(is_space);
        let cut = self.at == self.text.len();
        if cut {
            self.cut_off();
        }
        self.word(word, cut)
    }

    fn word(&mut self, word: &str, cut: bool) -> Option<Node> {
        let node = match word {
            "" => return None,
            "true" | "True" | "TRUE" => Node::Bool(true),
            "false" | "False" | "FALSE" => Node::Bool(false),
            "null" | "None" | "NULL" | "Null" | "undefined" | "nil" => Node::Null,
            _ => {
                if end_of_number(word.as_bytes(), 0) == Some(word.len()) {
                    return Some(Node::Number(word.to_owned()));
                }
                if let Some(number) = mended_number(word, cut) {
                    self.note("a number was completed");
                    return Some(Node::Number(number));
                }
                // Half a sign or half a word is not what was meant.
                if cut
                    && (word == "-"
                        || ["true", "false", "null"].iter().any(|whole| whole.starts_with(word)))
                {
                    return None;
                }
                self.note("bare words were put in quotation marks");
                return Some(Node::Text(word.to_owned()));
            }
        };
        if !matches!(word, "true" | "false" | "null") {
            self.note("words of another language were translated");
        }
        Some(node)
    }
}

fn is_literal(word: &str) -> bool {
    matches!(word, "true" | "false" | "null" | "True" | "False" | "None")
        || end_of_number(word.as_bytes(), 0) == Some(word.len())
}

fn starts_value(rest: &str) -> bool {
    rest.starts_with(|character: char| {
        is_quote(character) || character.is_ascii_digit() || matches!(character, '{' | '[' | '-')
    }) || ["true", "false", "null", "True", "False", "None"]
        .iter()
        .any(|word| rest.starts_with(word))
}

/// `.5`, `5.`, `+5`; and where the text is cut off, `2e`.
fn mended_number(word: &str, cut: bool) -> Option<String> {
    let unsigned = word.strip_prefix('+').unwrap_or(word);
    let (sign, digits) = unsigned.strip_prefix('-').map_or(("", unsigned), |digits| ("-", digits));
    let digits = if cut { digits.trim_end_matches(['e', 'E', '+', '-']) } else { digits };
    let digits = digits.strip_suffix('.').unwrap_or(digits);
    let lead = if digits.starts_with('.') { "0" } else { "" };
    let number = format!("{sign}{lead}{digits}");
    (end_of_number(number.as_bytes(), 0) == Some(number.len())).then_some(number)
}

/// Resolves the escapes of a string. What JSON does not know is kept.
fn decode(raw: &str) -> String {
    if !raw.contains('\\') {
        return raw.to_owned();
    }
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(escaped) = rest.chars().next() else {
            return out;
        };
        let mut length = escaped.len_utf8();
        match escaped {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'u' => match code(&rest[1..]) {
                Some((character, digits)) => {
                    out.push(character);
                    length += digits;
                }
                // Cut off within the code: nothing is known of the character.
                None if rest.len() < 5
                    && rest[1..].bytes().all(|byte| byte.is_ascii_hexdigit()) =>
                {
                    return out;
                }
                None => out.push_str("\\u"),
            },
            letter if letter.is_ascii_alphanumeric() => {
                out.push('\\');
                out.push(letter);
            }
            other => out.push(other),
        }
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

/// The character of `XXXX`, or of `XXXX\uXXXX` for a pair, and its length.
fn code(text: &str) -> Option<(char, usize)> {
    let read =
        |at: usize| text.get(at..at + 4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let first = read(0)?;
    if let Some(character) = char::from_u32(first) {
        return Some((character, 4));
    }
    let second = (text.get(4..6) == Some("\\u")).then(|| read(6)).flatten();
    match second {
        Some(low @ 0xdc00..=0xdfff) if first < 0xdc00 => {
            let joined = 0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00);
            char::from_u32(joined).map(|character| (character, 10))
        }
        _ => Some(('\u{fffd}', 4)),
    }
}
