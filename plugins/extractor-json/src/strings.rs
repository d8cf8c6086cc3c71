//! Reads the strings of broken JSON: to the mark that ends them, wherever that
//! turns out to be.

use std::borrow::Cow;

use crate::bytes::{Beyond, next_special};
use crate::escapes;
use crate::node::Node;
use crate::quotes::{self, Mark, Role, Verdict, is_quote, is_space, looks_like_name, trim_start};
use crate::tolerant::Parser;

impl<'a> Parser<'a, '_> {
    /// A string as a value; with `+` between them, several are one.
    pub(crate) fn text_value(&mut self, role: Role) -> Node<'a> {
        self.joins = false;
        let (raw, escaped) = self.string(role);
        if !self.joins {
            return Node::Text { raw: Cow::Borrowed(raw), escaped };
        }
        self.note("pieces of a string were joined");
        let mut joined = escapes::resolve(raw, escaped).into_owned();
        while std::mem::take(&mut self.joins) {
            self.skip();
            self.at += usize::from(self.rest().starts_with('+'));
            self.skip();
            if self.peek().is_some_and(is_quote) {
                let (raw, escaped) = self.string(role);
                joined.push_str(&escapes::resolve(raw, escaped));
            } else {
                self.half |= self.at == self.text.len();
            }
        }
        Node::Text { raw: Cow::Owned(joined), escaped: false }
    }

    /// A string as it stands in the text, and whether it holds escapes.
    pub(crate) fn string(&mut self, role: Role) -> (&'a str, bool) {
        if self.rest().starts_with('\\') {
            return self.slashed();
        }
        let open = self.peek().unwrap_or('"');
        if let Some(content) = self.triple(open) {
            return content;
        }
        self.at += open.len_utf8();
        let start = self.at;
        let text = self.text;
        let bytes = text.as_bytes();
        let beyond = if open.is_ascii() && open != '`' { Beyond::Pass } else { Beyond::Stop };
        let mut escaped = false;
        let mut last_inner = None;
        let mut paired = true;
        let mut nested = Nested::from(start);
        let mut kept = false;
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
            let mark =
                Mark { text, start, at: end, open, role, last_inner, paired, names: self.names };
            let mut verdict = mark.judge(self.budget);
            // With no mark before it, an open bracket is only a bracket.
            let doubtful = match verdict {
                Verdict::Closes | Verdict::Joins => last_inner.is_some(),
                Verdict::Ended { .. } => true,
                Verdict::Inner | Verdict::Abandoned => false,
            };
            if doubtful && self.nesting && nested.holds(text, end) && !mark.ends_all() {
                (self.nested, kept) = (true, true);
                verdict = Verdict::Inner;
            }
            match verdict {
                verdict @ (Verdict::Closes | Verdict::Joins) => {
                    self.joins = verdict == Verdict::Joins;
                    self.unbalanced |= kept && nested.holds(text, end);
                    self.budget.spend((end - start) / 8);
                    self.at += character.len_utf8();
                    return (&text[start..end], escaped);
                }
                Verdict::Inner => {
                    self.note("quotation marks inside a string were escaped");
                    self.doubtful = true;
                    last_inner = Some(end);
                    // An apostrophe has no partner to be told by.
                    paired = !paired || open == '\'';
                    self.at += character.len_utf8();
                }
                Verdict::Ended { end, next } => {
                    self.note("a closing quotation mark was missing");
                    self.doubtful = true;
                    self.at = next;
                    let content = text[start..end].trim_end_matches(is_space);
                    return (content.strip_suffix(',').unwrap_or(content), escaped);
                }
                Verdict::Abandoned => self.failed = true,
            }
            if self.stop() {
                return ("", false);
            }
        }
        self.at = text.len();
        (self.unterminated(start, role), escaped)
    }

    /// `\"text\"`: a string whose own marks carry a backslash each.
    fn slashed(&mut self) -> (&'a str, bool) {
        self.note("one layer of escapes was taken off");
        self.at += 1;
        let open = self.peek().unwrap_or('"');
        self.at += open.len_utf8();
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut escaped = false;
        loop {
            self.at = next_special(bytes, self.at, Beyond::Pass);
            let Some(byte) = bytes.get(self.at) else {
                self.cut_off();
                self.half = true;
                return (&self.text[start..], escaped);
            };
            if *byte == b'\\' {
                if bytes.get(self.at + 1) == Some(&(open as u8)) {
                    let end = self.at;
                    self.at += 2;
                    return (&self.text[start..end], escaped);
                }
                escaped = true;
                self.at += 1;
                self.at += self.peek().map_or(0, char::len_utf8);
                continue;
            }
            if char::from(*byte) == open {
                let end = self.at;
                self.at += 1;
                return (&self.text[start..end], escaped);
            }
            self.at += 1;
            if self.stop() {
                return ("", false);
            }
        }
    }

    /// `"""text"""`, as Python writes long strings.
    fn triple(&mut self, open: char) -> Option<(&'a str, bool)> {
        let mark = match open {
            '"' => "\"\"\"",
            '\'' => "'''",
            _ => return None,
        };
        let inner = self.rest().strip_prefix(mark)?;
        self.budget.spend(inner.len() / 8);
        let end = inner.find(mark).filter(|end| *end > 0)?;
        self.note("quotation marks were replaced");
        self.at += mark.len() * 2 + end;
        Some((&inner[..end], inner[..end].contains('\\')))
    }

    /// A value that stands in a fence of its own; the word after the opening, on a
    /// line of its own, only says what language it is in.
    pub(crate) fn fenced_value(&mut self) -> Option<Node<'a>> {
        let inner = self.rest().strip_prefix("```")?;
        self.budget.spend(inner.len() / 8);
        let end = inner.find("```")?;
        if !trim_start(&inner[end + 3..]).starts_with([',', '}', ']']) {
            return None;
        }
        self.note("quotation marks were replaced");
        self.at += end + 6;
        let content = &inner[..end];
        let content = match content.split_once('\n') {
            Some((word, code)) if word.chars().all(char::is_alphanumeric) => code.trim_end(),
            _ => content,
        };
        Some(Node::Text { raw: Cow::Borrowed(content), escaped: false })
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
        if role == Role::Name {
            if let Some(colon) = quotes::unclosed_name(raw) {
                self.note("a closing quotation mark was missing");
                self.at = start + colon;
                return raw[..colon].trim_end_matches(is_space);
            }
        } else if !self.names.is_empty() {
            // A report may be cut off behind any bracket, but a list of short
            // texts only ends with the brackets of everything that is open.
            if role == Role::Item
                && let Some(end) = self.before_all_brackets(trimmed)
            {
                self.note("a closing quotation mark was missing");
                self.at = start + end;
                return trimmed[..end].trim_end_matches(is_space);
            }
        } else if trimmed.ends_with(['}', ']']) {
            self.note("a closing quotation mark was missing");
            let mut from = 0;
            while let Some(comma) = raw[from..].find(',') {
                let after = from + comma + 1;
                let next = trim_start(&raw[after..]);
                if looks_like_name(next) {
                    self.at = start + after - 1;
                    return raw[..after - 1].trim_end_matches(is_space);
                }
                from = after;
            }
            // Nothing is known of what was meant: the first bracket that closes
            // more than the string opened ends it.
            let end = Nested::first_surplus(trimmed).unwrap_or(trimmed.len());
            self.at = start + end;
            return trimmed[..end].trim_end_matches(is_space);
        }
        self.cut_off();
        self.half = true;
        // The fence around the whole closes, not one that the string opened.
        let closed = raw.trim_end_matches(is_space).strip_suffix("\n```");
        match closed {
            Some(inner) if inner.matches("```").count() % 2 == 0 => inner,
            _ => raw,
        }
    }

    /// Where a text ends without the brackets that close all that is open.
    fn before_all_brackets(&self, text: &str) -> Option<usize> {
        let mut end = text.len();
        for _ in 0..self.objects + self.arrays {
            end = text[..end].trim_end_matches(is_space).strip_suffix(['}', ']'])?.len();
        }
        Some(end)
    }
}

/// What a string has opened and not closed: code and JSON that stand in a text
/// keep their quotation marks to themselves.
struct Nested {
    seen: usize,
    braces: usize,
    brackets: usize,
    fenced: bool,
}

impl Nested {
    fn from(start: usize) -> Self {
        Self { seen: start, braces: 0, brackets: 0, fenced: false }
    }

    /// Whether something is open at `at`. Each byte is looked at once.
    fn holds(&mut self, text: &str, at: usize) -> bool {
        let bytes = text.as_bytes();
        while self.seen < at {
            match bytes[self.seen] {
                b'{' => self.braces += 1,
                b'}' => self.braces = self.braces.saturating_sub(1),
                b'[' => self.brackets += 1,
                b']' => self.brackets = self.brackets.saturating_sub(1),
                b'`' if bytes[self.seen..at].starts_with(b"```") => {
                    self.fenced = !self.fenced;
                    self.seen += 2;
                }
                _ => {}
            }
            self.seen += 1;
        }
        self.fenced || self.braces > 0 || self.brackets > 0
    }

    /// The first bracket that closes what the text did not open.
    fn first_surplus(text: &str) -> Option<usize> {
        let (mut braces, mut brackets) = (0_usize, 0_usize);
        text.bytes().position(|byte| {
            match byte {
                b'{' => braces += 1,
                b'[' => brackets += 1,
                b'}' if braces == 0 => return true,
                b']' if brackets == 0 => return true,
                b'}' => braces -= 1,
                b']' => brackets -= 1,
                _ => {}
            }
            false
        })
    }
}
