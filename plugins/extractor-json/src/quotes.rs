//! Where does a string end whose quotes cannot be trusted? Looks a little ahead
//! of each quotation mark and says whether it closes the string. Nothing here
//! changes text.

use crate::budget::Budget;

/// What the string is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A field's name.
    Name,
    /// A field's value.
    Field,
    /// An item of an array.
    Item,
}

/// What a quotation mark inside a string turns out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Closes,
    /// It closes one piece of a string, and `+` leads on to the next.
    Joins,
    /// It belongs to the text.
    Inner,
    /// The string has lost its own closing mark: it ended at `end`, and what
    /// follows it begins at `next`.
    Ended {
        end: usize,
        next: usize,
    },
    /// The object that holds the string was given up, and another one begun.
    Abandoned,
}

/// How far to look ahead, in bytes.
const FAR: usize = 400;
const LONGEST_NAME: usize = 120;

pub fn is_quote(character: char) -> bool {
    matches!(character, '"' | '\'' | '“' | '”' | '‘' | '’' | '`' | '´')
}

#[inline]
pub fn closes(open: char, character: char) -> bool {
    match open {
        '“' | '”' => matches!(character, '“' | '”' | '"'),
        '‘' | '’' => matches!(character, '‘' | '’' | '\''),
        '`' | '´' => matches!(character, '`' | '´' | '\''),
        other => character == other,
    }
}

/// White space, and the marks that only look like nothing.
pub fn is_space(character: char) -> bool {
    character.is_whitespace()
        || matches!(character, '\u{feff}' | '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2060}')
}

pub fn trim_start(text: &str) -> &str {
    let bytes = text.as_bytes();
    let mut at = 0;
    while matches!(bytes.get(at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
        at += 1;
    }
    match bytes.get(at) {
        // Neither white space nor the beginning of a longer character.
        None | Some(b'!'..0x80) => &text[at..],
        Some(_) => text[at..].trim_start_matches(is_space),
    }
}

/// A stretch of text that is cheap to search.
pub fn near(text: &str, far: usize) -> &str {
    let mut end = far.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// `"name":` or `name:`, as a field begins.
pub fn looks_like_name(text: &str) -> bool {
    let text = near(text, LONGEST_NAME);
    let mut characters = text.char_indices();
    let Some((_, first)) = characters.next() else {
        return false;
    };
    if is_quote(first) {
        // A plain name needs no decoding of characters.
        if first.is_ascii() {
            let bytes = text.as_bytes();
            let letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
            let end = 1 + bytes[1..].iter().take_while(|byte| letter(byte)).count();
            if end > 1
                && bytes.get(end) == Some(&(first as u8))
                && bytes.get(end + 1) == Some(&b':')
            {
                return true;
            }
        }
        if doubled_name(text).is_some() {
            return true;
        }
        for (at, character) in characters {
            if closes(first, character) {
                let rest = trim_start(&text[at + character.len_utf8()..]);
                let inner = &text[first.len_utf8()..at];
                return at > first.len_utf8()
                    && (rest.starts_with(':') || is_unclosed(inner) && !is_end(rest));
            }
            if matches!(character, '\n' | '{' | '}' | '[' | ']') {
                return false;
            }
        }
        return false;
    }
    let end = end_of_word(text);
    if end == 0 || text.starts_with(['-', '.']) {
        return false;
    }
    let rest = &text[end..];
    let rest = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
    let rest = trim_start(rest);
    rest.starts_with(':') && !rest.starts_with("://")
}

/// The end of the word that a text begins with, as names are written without
/// quotation marks.
fn end_of_word(text: &str) -> usize {
    text.find(|character: char| {
        !character.is_alphanumeric() && !matches!(character, '_' | '$' | '-' | '.')
    })
    .unwrap_or(text.len())
}

/// Whether a string or a container ends here, or a value goes on.
fn is_end(text: &str) -> bool {
    text.is_empty() || text.starts_with([',', '}', ']', ':'])
}

/// `name: `: a name that was opened with a quotation mark and not closed.
fn is_unclosed(inner: &str) -> bool {
    let inner = inner.trim_end_matches(is_space);
    inner.strip_suffix(':').is_some_and(|name| !name.is_empty() && end_of_word(name) == name.len())
}

/// Where the colon stands after a name that has lost its closing mark.
pub fn unclosed_name(text: &str) -> Option<usize> {
    let text = near(text, LONGEST_NAME);
    let end = end_of_word(text);
    (end > 0 && text[end..].starts_with(':')).then_some(end)
}

/// `""name"":`, and its length up to the colon.
pub fn doubled_name(text: &str) -> Option<(&str, usize)> {
    let inner = near(text.strip_prefix("\"\"")?, LONGEST_NAME);
    let end = end_of_word(inner);
    let after = inner[end..].strip_prefix("\"\"")?;
    (end > 0 && trim_start(after).starts_with(':')).then_some((&inner[..end], end + 4))
}

/// Whether the name that a field begins with is among those that are known. Where
/// none are known, any may be.
pub fn knows(names: &[String], text: &str) -> bool {
    if names.is_empty() {
        return true;
    }
    let text = near(text, LONGEST_NAME).trim_start_matches(is_quote);
    let name = &text[..end_of_word(text)];
    names.iter().any(|known| known == name)
}

/// A string that stands where a value may: it is closed, and a field or the
/// object ends after it.
pub fn is_quoted_value(text: &str) -> bool {
    let text = near(text, FAR);
    let mut characters = text.char_indices();
    let Some((_, open)) = characters.next().filter(|(_, first)| is_quote(*first)) else {
        return false;
    };
    characters.find(|(_, character)| closes(open, *character)).is_some_and(|(at, mark)| {
        let rest = trim_start(&text[at + mark.len_utf8()..]);
        rest.starts_with([',', '}'])
    })
}

/// `"name"` or `"nam` at the very end of the text: a field whose value was cut
/// off.
pub fn is_cut_name(text: &str) -> bool {
    let Some(inner) = text.strip_prefix('"').filter(|inner| inner.len() < LONGEST_NAME) else {
        return false;
    };
    let inner = inner.trim_end_matches(is_space);
    let name = inner.strip_suffix('"').unwrap_or(inner);
    name.chars()
        .all(|character| character.is_alphanumeric() || matches!(character, '_' | '-' | ' '))
}

/// Whether something after this may start: a value of an array.
fn looks_like_item(text: &str) -> bool {
    text.starts_with(|character: char| {
        is_quote(character)
            || character.is_ascii_digit()
            || matches!(character, '{' | '[' | ']' | '}' | '-' | '.' | '/')
    }) || text.is_empty()
        || ["true", "false", "null", "None", "True", "False"]
            .iter()
            .any(|word| text.starts_with(word))
}

/// Whether the container seems to end here: its closing mark, and then something
/// that may follow one.
fn ends_container(text: &str) -> bool {
    let rest = trim_start(&text[1..]);
    rest.is_empty() || rest.starts_with([',', '}', ']']) || rest.starts_with("```")
}

/// Whether another mark that could close the string comes before the container
/// seems to end.
fn closes_later(text: &str, open: char, budget: &mut Budget) -> bool {
    let text = near(text, FAR);
    for (at, character) in text.char_indices() {
        if closes(open, character) {
            budget.spend(at / 8);
            return true;
        }
        if matches!(character, '}' | ']') && ends_container(&text[at..]) {
            budget.spend(at / 8);
            return false;
        }
    }
    budget.spend(text.len() / 8);
    false
}

/// What comes first after a mark in a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Later {
    /// Another mark that could close the string.
    Mark,
    /// The end of the container, or of the text.
    End,
}

/// A quotation mark in a string that may be the one that ends it.
#[derive(Debug, Clone, Copy)]
pub struct Mark<'a> {
    pub text: &'a str,
    /// Where the string starts, behind its opening mark.
    pub start: usize,
    pub at: usize,
    pub open: char,
    pub role: Role,
    /// The mark before it in the same string, which did not end it.
    pub last_inner: Option<usize>,
    /// The marks before it in the same string are all opened and closed, as far
    /// as marks of its kind come in pairs.
    pub paired: bool,
    /// The names that the schema knows; empty when it names none. A text that is
    /// asked for by name may hold anything, even what looks like a field, so
    /// that only a known name ends it where its own marks leave a doubt.
    pub names: &'a [String],
}

impl Mark<'_> {
    /// Says what the mark is.
    pub fn judge(&self, budget: &mut Budget) -> Verdict {
        let after = self.after();
        let space = near(after, FAR);
        let next = trim_start(space);
        let gap = &space[..space.len() - next.len()];
        budget.spend(1 + gap.len() / 8);
        let Some(first) = next.chars().next() else {
            return closes_if(self.may_be_last() && !self.has_just_opened());
        };
        if !self.may_be_last() && is_all_there_is(next) && self.after().len() < FAR {
            return Verdict::Inner;
        }
        if next.starts_with("/*") || self.is_comment(next, gap) || self.is_fence(next) {
            return Verdict::Closes;
        }
        match self.role {
            Role::Name => self.judge_name(next, gap, first),
            Role::Field => self.judge_field(next, gap, first, budget),
            Role::Item => self.judge_item(next, gap, first, budget),
        }
    }

    fn after(&self) -> &str {
        let mark = self.text[self.at..].chars().next().map_or(1, char::len_utf8);
        &self.text[self.at + mark..]
    }

    /// Where fields are asked for by name, a mark that has a partner inside the
    /// string does not close it when nothing else says so.
    fn may_be_last(&self) -> bool {
        self.names.is_empty() || self.paired || self.role != Role::Field
    }

    /// Whether the text ends with a mark that opens a quotation.
    fn has_just_opened(&self) -> bool {
        let before = &self.text[self.start..self.at];
        !self.names.is_empty()
            && self.role == Role::Field
            && before.ends_with([' ', '(', '[', '{', ':'])
    }

    /// Whether the mark ends the string and nothing but closing brackets and a
    /// fence is left of the text.
    pub fn ends_all(&self) -> bool {
        self.ends_text() && self.may_be_last()
    }

    fn ends_text(&self) -> bool {
        let after = self.after();
        let rest = near(after, FAR).trim_start_matches(|character| {
            is_space(character) || matches!(character, '}' | ']' | '`')
        });
        rest.is_empty() && after.len() < FAR
    }

    /// `// …` or `# …` after the string. In a text that is asked for by name it may
    /// be part of the text, unless the object goes on after it.
    fn is_comment(&self, next: &str, gap: &str) -> bool {
        let hash = next.starts_with('#') && !gap.is_empty();
        if !hash && !next.starts_with("//") {
            return false;
        }
        (self.names.is_empty() && !gap.is_empty()) || ends_after_comment(next, self.names)
    }

    /// The closing of a fence around an object that was not closed; an opening
    /// one belongs to a text.
    fn is_fence(&self, next: &str) -> bool {
        let Some(after) = next.strip_prefix("```").filter(|_| self.open != '`') else {
            return false;
        };
        let line = after.trim_start_matches([' ', '\t', '\r']);
        self.names.is_empty() || line.is_empty() || line.starts_with('\n')
    }

    /// Whether a field begins, or nothing more comes, after the comma behind a
    /// string.
    fn is_next_field(&self, then: &str) -> bool {
        // The rule, and worth its own short way.
        if looks_like_name(then) {
            return then.starts_with(is_quote) || knows(self.names, then);
        }
        if then.is_empty() || then.starts_with(['}', ']', ',']) {
            return true;
        }
        if is_cut_name(then) && self.may_be_last() {
            return true;
        }
        if self.last_inner.is_none() && (is_lone_name(then) || has_lost_colon(then)) {
            return true;
        }
        if let Some(rest) = then.strip_prefix("...") {
            let rest = trim_start(rest);
            return self.names.is_empty() || is_end(rest) || looks_like_name(rest);
        }
        if self.names.is_empty() {
            return then.starts_with(['{', '/', '#']);
        }
        (then.starts_with("//") || then.starts_with('#')) && ends_after_comment(then, self.names)
    }

    fn judge_name(&self, next: &str, gap: &str, first: char) -> Verdict {
        let literal = ["true", "false", "null"].iter().any(|word| {
            next.strip_prefix(word).is_some_and(|rest| !gap.is_empty() || is_end(trim_start(rest)))
        });
        let value = is_quote(first)
            && (!gap.is_empty() || self.at > self.start && is_quoted_value(next))
            || first.is_ascii_digit()
            || matches!(first, '[' | '{' | '-')
            || !gap.is_empty() && is_word_value(next);
        if first == ':' || !matches!(first, '}' | ',' | '=') && !literal && !value {
            let before = &self.text[self.start..self.at];
            if first != ':' && is_unclosed(before) {
                let colon = self.start + before.trim_end_matches(is_space).len() - 1;
                return Verdict::Ended { end: colon, next: colon };
            }
        }
        closes_if(matches!(first, ':' | '}' | ',' | '=') || literal || value)
    }

    fn judge_field(&self, next: &str, gap: &str, first: char, budget: &mut Budget) -> Verdict {
        match first {
            '}' | ']' => return Verdict::Closes,
            ',' => {
                let then = skip_comment(trim_start(&next[1..]));
                if self.is_next_field(then) {
                    return Verdict::Closes;
                }
                return match self.later(&next[1..], budget) {
                    Later::Mark => Verdict::Inner,
                    Later::End => closes_if(self.may_be_last()),
                };
            }
            '+' if self.joins(next) => return Verdict::Joins,
            _ => {}
        }
        if is_quote(first) && looks_like_name(next) {
            return Verdict::Closes;
        }
        if !gap.is_empty() && looks_like_name(next) && knows(self.names, next) {
            let rest = &next[end_of_word(next)..];
            let rest = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
            let value = trim_start(trim_start(rest).trim_start_matches(':'));
            if gap.contains('\n') || starts_value(value) {
                return Verdict::Closes;
            }
        }
        if let Some(ended) = self.opens_next().or_else(|| self.opens_value()) {
            return ended;
        }
        if self.names.is_empty() && self.last_inner.is_none() && is_abandoned(self.after()) {
            return Verdict::Abandoned;
        }
        if self.later(self.after(), budget) == Later::Mark {
            return Verdict::Inner;
        }
        // Nothing ends the string after this mark, and a colon follows it: so it
        // closes a name, and the mark before it was the string's end.
        match self.last_inner {
            Some(mark) if first == ':' => {
                let name = self.text[mark..self.at].trim_start_matches(is_quote);
                if !name.is_empty() && end_of_word(name) == name.len() && knows(self.names, name) {
                    return Verdict::Ended { end: mark, next: self.at - name.len() };
                }
                closes_if(self.may_be_last())
            }
            // No letter stands right behind a mark that closes.
            _ if !self.names.is_empty() && gap.is_empty() && first.is_alphanumeric() => {
                Verdict::Inner
            }
            _ => closes_if(self.may_be_last()),
        }
    }

    /// What comes first after the mark: another one, or an end. A text that is
    /// asked for by name may go on for long, with brackets of its own; else it is
    /// enough to look at what is `near`.
    fn later(&self, near: &str, budget: &mut Budget) -> Later {
        if self.names.is_empty() {
            let mark = closes_later(near, self.open, budget);
            return if mark { Later::Mark } else { Later::End };
        }
        let after = self.after();
        let (mut braces, mut brackets) = (0_usize, 0_usize);
        let mut found = None;
        for (at, character) in after.char_indices() {
            let open = match character {
                '{' => {
                    braces += 1;
                    continue;
                }
                '[' => {
                    brackets += 1;
                    continue;
                }
                '}' => &mut braces,
                ']' => &mut brackets,
                _ if closes(self.open, character) => {
                    found = Some((at, Later::Mark));
                    break;
                }
                _ => continue,
            };
            if *open > 0 {
                *open -= 1;
            } else if ends_container(&after[at..]) {
                found = Some((at, Later::End));
                break;
            }
        }
        let (length, later) = found.unwrap_or((after.len(), Later::End));
        budget.spend(length / 4);
        later
    }

    fn judge_item(&self, next: &str, gap: &str, first: char, budget: &mut Budget) -> Verdict {
        match first {
            ']' => Verdict::Closes,
            '}' => closes_if(ends_container(next)),
            ',' => {
                let then = trim_start(&next[1..]);
                let item = looks_like_item(then)
                    || (self.last_inner.is_none() && has_lost_opening(then, self.open));
                closes_if(item || !closes_later(&next[1..], self.open, budget))
            }
            '+' if self.joins(next) => Verdict::Joins,
            _ if closes(self.open, first) => {
                let then = trim_start(&next[first.len_utf8()..]);
                closes_if(!then.is_empty() && !then.starts_with([',', ']', '}']))
            }
            '{' | '[' if !gap.is_empty() => Verdict::Closes,
            _ if gap.contains('\n') && looks_like_item(next) => Verdict::Closes,
            _ => {
                let before = self.text[self.start..self.at].trim_end_matches(is_space);
                if self.last_inner.is_none()
                    && before.len() > 1
                    && before.ends_with(',')
                    && has_lost_opening(self.after(), self.open)
                {
                    return Verdict::Ended { end: self.start + before.len(), next: self.at };
                }
                closes_if(!closes_later(self.after(), self.open, budget))
            }
        }
    }

    /// `"one" + "two"`, and then an end: not a sentence about two strings.
    fn joins(&self, next: &str) -> bool {
        let then = skip_comment(trim_start(&next[1..]));
        let Some(open) = then.chars().next().filter(|first| is_quote(*first)) else {
            return then.is_empty();
        };
        let inner = near(&then[open.len_utf8()..], FAR);
        self.last_inner.is_none()
            && inner.find(|character| closes(open, character)).is_some_and(|end| {
                let rest = inner[end..].chars().next().map_or(0, char::len_utf8);
                let rest = trim_start(&inner[end + rest..]);
                is_end(rest) || rest.starts_with('+')
            })
    }

    /// The mark begins `"name":` right after a comma or at the start of a line.
    fn opens_next(&self) -> Option<Verdict> {
        let name = &self.text[self.at..];
        if !looks_like_name(name) || !knows(self.names, name) {
            return None;
        }
        let before = &self.text[self.start..self.at];
        let trimmed = before.trim_end_matches(is_space);
        let begins = trimmed.ends_with(',') || before[trimmed.len()..].contains('\n');
        begins.then_some(Verdict::Ended { end: self.at, next: self.at })
    }

    /// The mark begins the value of `, name: "`: both the string before it and
    /// the name have lost their marks.
    fn opens_value(&self) -> Option<Verdict> {
        let before = self.text[self.start..self.at].trim_end_matches(is_space);
        let before = before.strip_suffix(':')?;
        let name = before.trim_end_matches(|character: char| {
            character.is_alphanumeric() || matches!(character, '_' | '-')
        });
        let comma = name.trim_end_matches(is_space);
        let word = &before[name.len()..];
        let known = self.names.is_empty() || self.names.iter().any(|known| known == word);
        if word.is_empty() || !known || !comma.ends_with(',') {
            return None;
        }
        let end = self.start + comma.len() - 1;
        Some(Verdict::Ended { end, next: end })
    }
}

/// Whether nothing follows but a comma or the closing of a fence.
fn is_all_there_is(text: &str) -> bool {
    let rest = text.strip_prefix(',').or_else(|| text.strip_prefix("```")).unwrap_or(text);
    trim_start(rest).is_empty()
}

fn closes_if(yes: bool) -> Verdict {
    if yes { Verdict::Closes } else { Verdict::Inner }
}

/// `word}`: a value of one word, at the end of an object or before a comma.
pub fn is_word_value(text: &str) -> bool {
    let text = near(text, LONGEST_NAME);
    let end = end_of_word(text);
    end > 0 && trim_start(&text[end..]).starts_with([',', '}'])
}

/// `"name"}`: a name that was given no value, at the end of an object.
fn is_lone_name(text: &str) -> bool {
    let text = near(text, LONGEST_NAME);
    let inner = text.strip_prefix('"').unwrap_or(text);
    let end = end_of_word(inner);
    end > 0 && inner[end..].strip_prefix('"').is_some_and(|rest| trim_start(rest).starts_with('}'))
}

/// `"name" "value"`, and then an end: a field that has lost its colon.
fn has_lost_colon(text: &str) -> bool {
    let Some(inner) = near(text, LONGEST_NAME).strip_prefix('"') else {
        return false;
    };
    let end = end_of_word(inner);
    end > 0
        && inner[end..]
            .strip_prefix('"')
            .is_some_and(|rest| rest.starts_with(is_space) && is_quoted_value(trim_start(rest)))
}

/// `text", …` or `text"]`: an item that has lost its opening mark.
fn has_lost_opening(text: &str, open: char) -> bool {
    let text = near(text, FAR);
    let Some(end) = text.find(|character| closes(open, character)) else {
        return false;
    };
    let mark = text[end..].chars().next().map_or(0, char::len_utf8);
    let rest = trim_start(&text[end + mark..]);
    end > 0
        && rest.starts_with([',', ']'])
        && !text[..end].contains([',', '[', ']', '{', '}', '\n'])
}

/// Whether a value begins.
pub fn starts_value(text: &str) -> bool {
    text.starts_with(|character: char| {
        is_quote(character) || character.is_ascii_digit() || matches!(character, '{' | '[' | '-')
    }) || ["true", "false", "null", "True", "False", "None"]
        .iter()
        .any(|word| text.starts_with(word))
}

/// A few words, another object, and the text ends without a bracket for the one
/// that was begun first.
fn is_abandoned(after: &str) -> bool {
    if after.len() > FAR {
        return false;
    }
    let Some(brace) = after.find('{') else {
        return false;
    };
    let words = &after[..brace];
    let plain = |character: char| character.is_alphanumeric() || is_space(character);
    let count = |bracket: char| after.matches(bracket).count();
    words.trim().contains(' ')
        && words.chars().all(plain)
        && looks_like_name(trim_start(&after[brace + 1..]))
        && count('{') >= count('}')
}

/// `// …` to the end of the line, and then what may follow a value.
fn ends_after_comment(text: &str, names: &[String]) -> bool {
    text.find('\n').is_some_and(|end| {
        let rest = trim_start(&text[end..]);
        is_end(rest) || (looks_like_name(rest) && knows(names, rest))
    })
}

/// `/* … */` before a name.
fn skip_comment(text: &str) -> &str {
    match text
        .strip_prefix("/*")
        .and_then(|inner| near(inner, FAR).find("*/").map(|end| &inner[end + 2..]))
    {
        Some(rest) => trim_start(rest),
        None => text,
    }
}
