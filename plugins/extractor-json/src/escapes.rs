//! What backslashes stand for in a string, where JSON knows them; what it does
//! not know is kept as it is.

use std::borrow::Cow;

/// A string with its escapes resolved; `escaped` when it holds any.
pub fn resolve(raw: &str, escaped: bool) -> Cow<'_, str> {
    if !escaped {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len());
    resolve_into(raw, &mut out);
    Cow::Owned(out)
}

/// Resolves the escapes of a string. What JSON does not know is kept.
pub fn resolve_into(raw: &str, out: &mut String) {
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(escaped) = rest.chars().next() else {
            return;
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
                    return;
                }
                None => out.push_str("\\u"),
            },
            'x' if two_digits(&rest[1..]).is_some() => {
                out.extend(two_digits(&rest[1..]));
                length += 2;
            }
            letter if letter.is_ascii_alphanumeric() => {
                out.push('\\');
                out.push(letter);
            }
            other => out.push(other),
        }
        rest = &rest[length..];
    }
    out.push_str(rest);
}

/// The character of `XX`, as JavaScript and Python write it.
fn two_digits(text: &str) -> Option<char> {
    let digits =
        text.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u8::from_str_radix(digits, 16).ok().map(char::from)
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
