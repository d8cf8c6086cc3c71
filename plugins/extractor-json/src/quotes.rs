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
    /// It belongs to the text.
    Inner,
    /// It opens the next name: the string has lost its own closing mark.
    OpensNext,
}

/// How far to look ahead, in bytes.
const FAR: usize = 400;
const LONGEST_NAME: usize = 120;

pub fn is_quote(character: char) -> bool {
    matches!(character, '"' | '\'' | '“' | '”' | '‘' | '’' | '`')
}

#[inline]
pub fn closes(open: char, character: char) -> bool {
    match open {
        '“' | '”' => matches!(character, '“' | '”' | '"'),
        '‘' | '’' => matches!(character, '‘' | '’' | '\''),
        '`' => matches!(character, '`' | '\''),
        other => character == other,
    }
}

/// White space, and the marks that only look like nothing.
pub fn is_space(character: char) -> bool {
    character.is_whitespace()
        || matches!(character, '\u{feff}' | '\u{200b}'..='\u{200d}' | '\u{2060}')
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
        for (at, character) in characters {
            if closes(first, character) {
                let rest = trim_start(&text[at + character.len_utf8()..]);
                return at > first.len_utf8() && rest.starts_with(':');
            }
            if matches!(character, '\n' | '{' | '}' | '[' | ']') {
                return false;
            }
        }
        return false;
    }
    if !first.is_alphanumeric() && first != '_' && first != '$' {
        return false;
    }
    let end = text
        .find(|character: char| {
            !character.is_alphanumeric() && !matches!(character, '_' | '$' | '-' | '.')
        })
        .unwrap_or(text.len());
    let rest = &text[end..];
    let rest = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
    let rest = trim_start(rest);
    rest.starts_with(':') && !rest.starts_with("://")
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

/// Judges the mark at `at` in a string that started at `start` with `open`.
pub fn judge(
    text: &str,
    start: usize,
    at: usize,
    open: char,
    role: Role,
    budget: &mut Budget,
) -> Verdict {
    let mark = text[at..].chars().next().map_or(1, char::len_utf8);
    let after = &text[at + mark..];
    let space = near(after, FAR);
    let next = trim_start(space);
    let gap = &space[..space.len() - next.len()];
    budget.spend(1 + gap.len() / 8);
    let Some(first) = next.chars().next() else {
        return Verdict::Closes;
    };
    if next.starts_with("/*") || (!gap.is_empty() && (next.starts_with("//") || first == '#')) {
        return Verdict::Closes;
    }
    if next.starts_with("```") && open != '`' {
        return Verdict::Closes;
    }
    let closes_if = |yes: bool| if yes { Verdict::Closes } else { Verdict::Inner };
    match role {
        Role::Name => {
            let literal = ["true", "false", "null"].iter().any(|word| next.starts_with(word))
                && !gap.is_empty();
            let value = is_quote(first) && !gap.is_empty()
                || first.is_ascii_digit()
                || matches!(first, '[' | '{' | '-');
            closes_if(matches!(first, ':' | '}' | ',' | '=') || literal || value)
        }
        Role::Field => match first {
            '}' | ']' => Verdict::Closes,
            ',' => {
                let then = skip_comment(trim_start(&next[1..]));
                let field = then.is_empty()
                    || then.starts_with(['}', ']', '{', '/', '#', ','])
                    || then.starts_with("...")
                    || looks_like_name(then)
                    || is_cut_name(then);
                closes_if(field || !closes_later(&next[1..], open, budget))
            }
            _ if is_quote(first) && looks_like_name(next) => Verdict::Closes,
            _ if gap.contains('\n') && looks_like_name(next) => Verdict::Closes,
            _ if opens_next(text, start, at) => Verdict::OpensNext,
            _ => closes_if(!closes_later(after, open, budget)),
        },
        Role::Item => match first {
            ']' => Verdict::Closes,
            '}' => closes_if(ends_container(next)),
            ',' => {
                let then = trim_start(&next[1..]);
                closes_if(looks_like_item(then) || !closes_later(&next[1..], open, budget))
            }
            _ if closes(open, first) => {
                let then = trim_start(&next[first.len_utf8()..]);
                closes_if(!then.is_empty() && !then.starts_with([',', ']', '}']))
            }
            '{' | '[' if !gap.is_empty() => Verdict::Closes,
            _ if gap.contains('\n') && looks_like_item(next) => Verdict::Closes,
            _ => closes_if(!closes_later(after, open, budget)),
        },
    }
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

/// The mark begins `"name":` right after a comma or at the start of a line.
fn opens_next(text: &str, start: usize, at: usize) -> bool {
    if !looks_like_name(&text[at..]) {
        return false;
    }
    let before = &text[start..at];
    let trimmed = before.trim_end_matches(is_space);
    trimmed.ends_with(',') || before[trimmed.len()..].contains('\n')
}
