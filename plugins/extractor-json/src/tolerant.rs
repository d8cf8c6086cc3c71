//! Reads an object or array from broken JSON, as a reader would who knows what
//! was meant: comments, lost commas and quotes, single quotes, bare words,
//! brackets that do not match, an end that is cut off. It takes what is there; a
//! name without a value is left out, never filled.

use std::borrow::Cow;

use crate::budget::Budget;
use crate::bytes::{Beyond, next_special};
use crate::escapes;
use crate::node::{Fields, Node};
use crate::quotes::{self, Role, Verdict, is_quote, is_space, looks_like_name, near, trim_start};
use crate::strict::{DEEPEST, end_of_number, is_in_range};

/// Fields that an object is given room for before they are read.
const MOST_RESERVED: usize = 16;

/// What was read.
#[derive(Debug)]
pub struct Parsed<'a> {
    pub node: Node<'a>,
    pub end: usize,
    /// The text ended before the value did.
    pub truncated: bool,
    /// A number was larger than readers of JSON can hold, in the node or in what
    /// a later value took the place of.
    pub out_of_range: bool,
    /// What was repaired.
    pub notes: Vec<&'static str>,
}

/// Reads the object or array that starts at `start`. An error when what stands
/// there is not meant as JSON, with the place from where to look on.
pub fn parse<'a>(text: &'a str, start: usize, budget: &mut Budget) -> Result<Parsed<'a>, usize> {
    let mut parser = Parser {
        text,
        at: start,
        budget,
        objects: 0,
        arrays: 0,
        fields: 1,
        failed: false,
        too_deep: None,
        truncated: false,
        out_of_range: false,
        notes: Vec::new(),
    };
    let node = if text[start..].starts_with('{') { parser.object() } else { parser.array() };
    if parser.failed {
        return Err(parser.too_deep.unwrap_or(start + 1).max(start + 1));
    }
    Ok(Parsed {
        node,
        end: parser.at,
        truncated: parser.truncated,
        out_of_range: parser.out_of_range,
        notes: parser.notes,
    })
}

struct Parser<'a, 'b> {
    text: &'a str,
    at: usize,
    budget: &'b mut Budget,
    /// Containers that are open.
    objects: usize,
    arrays: usize,
    /// How many the last object had: the objects of a list are alike.
    fields: usize,
    failed: bool,
    too_deep: Option<usize>,
    truncated: bool,
    out_of_range: bool,
    notes: Vec<&'static str>,
}

impl<'a> Parser<'a, '_> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn note(&mut self, note: &'static str) {
        // The same note comes again and again, mostly from the same place.
        if !self.notes.iter().any(|known| std::ptr::eq(*known, note) || *known == note) {
            self.notes.push(note);
        }
    }

    fn cut_off(&mut self) {
        self.truncated = true;
        self.note("the text is cut off");
    }

    /// Passes over white space and comments.
    #[inline]
    fn skip(&mut self) {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.at), Some(b' ' | b'\n')) {
            self.at += 1;
        }
        // What begins here is neither: the rule, and worth its own short way.
        if !matches!(bytes.get(self.at), Some(b'!' | b'"' | b'$'..=b'.' | b'0'..0x80)) {
            self.skip_all();
        }
    }

    fn skip_all(&mut self) {
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

    fn object(&mut self) -> Node<'a> {
        let mut fields = Fields::new();
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
            let name = if quoted {
                let (raw, escaped) = self.string(Role::Name);
                escapes::resolve(raw, escaped)
            } else {
                Cow::Borrowed(self.bare_name())
            };
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
                        if fields.is_empty() {
                            fields.reserve_exact(self.fields);
                        }
                        Node::set(&mut fields, name, value);
                    } else {
                        self.note("a name without a value was left out");
                    }
                }
            }
        }
        self.objects -= 1;
        if !fields.is_empty() {
            self.fields = fields.len().min(MOST_RESERVED);
        }
        // Braces around prose are not an object.
        if fields.is_empty() && garbage {
            self.failed = true;
        }
        Node::Object(fields)
    }

    fn array(&mut self) -> Node<'a> {
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

    fn value(&mut self, role: Role) -> Option<Node<'a>> {
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
                let (raw, escaped) = self.string(role);
                Some(Node::Text { raw, escaped })
            }
            _ => self.bare_value(role),
        }
    }

    /// A string as it stands in the text, and whether it holds escapes.
    fn string(&mut self, role: Role) -> (&'a str, bool) {
        let open = self.peek().unwrap_or('"');
        self.at += open.len_utf8();
        let start = self.at;
        let text = self.text;
        let bytes = text.as_bytes();
        let beyond = if open.is_ascii() { Beyond::Pass } else { Beyond::Stop };
        let mut escaped = false;
        loop {
            self.at = next_special(bytes, self.at, beyond);
            let Some(character) = self.peek() else { break };
            if character == '\\' {
                escaped = true;
                self.at += 1;
                self.at += self.peek().map_or(0, char::len_utf8);
                continue;
            }
            if !quotes::closes(open, character) {
                if character < ' ' {
                    self.note("line breaks in a string were escaped");
                }
                self.at += character.len_utf8();
                continue;
            }
            let end = self.at;
            match quotes::judge(text, start, end, open, role, self.budget) {
                Verdict::Closes => {
                    self.at += character.len_utf8();
                    return (&text[start..end], escaped);
                }
                Verdict::Inner => {
                    self.note("quotation marks inside a string were escaped");
                    self.at += character.len_utf8();
                }
                Verdict::OpensNext => {
                    self.note("a closing quotation mark was missing");
                    let content = text[start..end].trim_end_matches(is_space);
                    return (content.strip_suffix(',').unwrap_or(content), escaped);
                }
            }
            if self.stop() {
                return ("", false);
            }
        }
        self.at = text.len();
        (self.unterminated(start, role), escaped)
    }

    /// The text ended inside a string. Where the object looks closed all the
    /// same, only the quotation mark was lost.
    fn unterminated(&mut self, start: usize, role: Role) -> &'a str {
        let text = self.text;
        let raw = &text[start..];
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
                    return raw[..after - 1].trim_end_matches(is_space);
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
            return &trimmed[..end];
        }
        self.cut_off();
        raw
    }

    fn bare_name(&mut self) -> &'a str {
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
        rest[..end].trim_matches(is_space)
    }

    /// A value without quotation marks: a number, a word, a phrase.
    fn bare_value(&mut self, role: Role) -> Option<Node<'a>> {
        let start = self.at;
        if let Some(end) = self.end_of_plain(role) {
            self.budget.spend(end - start);
            self.at = end;
            let word = &self.text[start..end];
            return Some(match word {
                "true" => Node::Bool(true),
                "false" => Node::Bool(false),
                "null" => Node::Null,
                number => self.number(Cow::Borrowed(number)),
            });
        }
        let mut end = None;
        while let Some(character) = self.peek() {
            if self.stop() {
                return None;
            }
            // Most characters mean nothing; only these are worth a look ahead.
            if !matches!(character, ',' | '}' | ']' | '\n' | ' ' | '\t' | '/' | '`' | '"') {
                self.at += character.len_utf8();
                continue;
            }
            let after = near(&self.rest()[1..], 400);
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
            self.at += 1;
        }
        let word = self.text[start..end.unwrap_or(self.at)].trim_matches(is_space);
        let cut = self.at == self.text.len();
        if cut {
            self.cut_off();
        }
        self.word(word, cut)
    }

    /// The end of a number or a literal that needs no second look: what follows
    /// it ends any value.
    fn end_of_plain(&self, role: Role) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let end = match bytes.get(self.at)? {
            b'-' | b'0'..=b'9' => end_of_number(bytes, self.at)?,
            b't' | b'f' | b'n' => {
                let word = ["true", "false", "null"]
                    .into_iter()
                    .find(|word| bytes[self.at..].starts_with(word.as_bytes()))?;
                self.at + word.len()
            }
            _ => return None,
        };
        let ends = match bytes.get(end)? {
            b',' | b'\n' => true,
            b']' => self.arrays > 0 || role == Role::Field,
            b'}' => self.objects > 0 || role == Role::Field,
            _ => false,
        };
        ends.then_some(end)
    }

    fn number(&mut self, text: Cow<'a, str>) -> Node<'a> {
        self.out_of_range |= !is_in_range(&text);
        Node::Number(text)
    }

    fn word(&mut self, word: &'a str, cut: bool) -> Option<Node<'a>> {
        let node = match word {
            "" => return None,
            "true" | "True" | "TRUE" => Node::Bool(true),
            "false" | "False" | "FALSE" => Node::Bool(false),
            "null" | "None" | "NULL" | "Null" | "undefined" | "nil" => Node::Null,
            _ => {
                if end_of_number(word.as_bytes(), 0) == Some(word.len()) {
                    return Some(self.number(Cow::Borrowed(word)));
                }
                if let Some(number) = mended_number(word, cut) {
                    self.note("a number was completed");
                    return Some(self.number(Cow::Owned(number)));
                }
                // Half a sign or half a word is not what was meant.
                if cut
                    && (word == "-"
                        || ["true", "false", "null"].iter().any(|whole| whole.starts_with(word)))
                {
                    return None;
                }
                self.note("bare words were put in quotation marks");
                return Some(Node::Text { raw: word, escaped: false });
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
