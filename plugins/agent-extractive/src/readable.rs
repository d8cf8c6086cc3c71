//! Makes a quotation readable: takes out the marks of Markdown, reStructuredText
//! and HTML that mean nothing outside their document. Words are never changed.

/// One line of clean text.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut starts_word = true;
    while let Some(character) = rest.chars().next() {
        let length = match character {
            '`' => inline_code(rest, &mut out),
            '!' if rest.starts_with("![") => link(&rest[1..], &mut out).map(|length| length + 1),
            '[' => link(rest, &mut out),
            '<' => tag(rest),
            '*' => emphasis(rest, '*', &mut out),
            '_' if starts_word => emphasis(rest, '_', &mut out),
            '&' => entity(rest, &mut out),
            ':' if starts_word => role(rest),
            '\\' => escaped(rest, &mut out),
            '{' if rest.starts_with("{#") => {
                rest.find('}').filter(|end| *end < 80).map(|end| end + 1)
            }
            _ => None,
        };
        let length = length.unwrap_or_else(|| {
            if character.is_whitespace() {
                if !out.is_empty() && !out.ends_with(' ') {
                    out.push(' ');
                }
            } else if !character.is_control() && !is_invisible(character) {
                out.push(character);
            }
            character.len_utf8()
        });
        starts_word = !character.is_alphanumeric();
        rest = &rest[length..];
    }
    out.truncate(out.trim_end().len());
    out
}

/// A table's row with its cells set apart.
pub fn clean_row(text: &str) -> String {
    let inner = text.trim().trim_start_matches('|').trim_end_matches('|');
    let cells = inner.replace("\\|", "\u{1}");
    let cells: Vec<_> = cells
        .split('|')
        .map(|cell| clean(&cell.replace('\u{1}', "|")))
        .filter(|cell| !cell.is_empty())
        .collect();
    cells.join(" — ")
}

/// Zero-width and direction marks: they can hide words from a reader.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Code between backticks stays as it is; double ticks become single ones.
fn inline_code(rest: &str, out: &mut String) -> Option<usize> {
    let ticks = rest.bytes().take_while(|byte| *byte == b'`').count();
    let mark = &rest[..ticks];
    let window = &rest[ticks..floor_boundary(rest, ticks + 400)];
    let close = window.find(mark)?;
    let mut code = &window[..close];
    let mut length = ticks * 2 + close;
    // `text <url>`_ is a link of reStructuredText.
    if rest[length..].starts_with('_') {
        length += rest[length..].bytes().take_while(|byte| *byte == b'_').count();
        if let Some((text, _)) = code.split_once(" <") {
            out.push_str(text);
            return Some(length);
        }
    }
    if !code.contains('`') {
        code = code.trim();
    }
    let mark = if code.contains('`') { mark } else { "`" };
    out.push_str(mark);
    out.extend(code.split_whitespace().flat_map(|word| [word, " "]));
    out.truncate(out.trim_end().len());
    out.push_str(mark);
    Some(length)
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// `[words](target)` and `[words][name]` become the words; a footnote's mark
/// goes; any other bracket stays.
fn link(rest: &str, out: &mut String) -> Option<usize> {
    let window = &rest[..floor_boundary(rest, 600)];
    let mut depth = 0_usize;
    let mut close = None;
    for (at, byte) in window.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' => {
                depth -= 1;
                if depth == 0 {
                    close = Some(at);
                    break;
                }
            }
            _ => {}
        }
        // Deeper nesting is no link, and would cost a search at every level.
        if depth > 3 {
            return None;
        }
    }
    let close = close?;
    let words = &window[1..close];
    if words.starts_with('^') {
        return Some(close + 1);
    }
    let after = &window[close + 1..];
    let length = match after.chars().next() {
        Some('(') => close + 2 + after.find(')')?,
        Some('[') => close + 2 + after.find(']')?,
        _ if words.starts_with('`') && words.ends_with('`') && words.len() > 2 => close + 1,
        _ => return None,
    };
    if words.starts_with('!') {
        return Some(length);
    }
    out.push_str(&clean(words));
    Some(length)
}

/// Tags that only shape the text; any other `<…>` may be part of it.
#[rustfmt::skip]
const TAGS: &[&str] = &[
    "a", "b", "br", "code", "div", "em", "i", "img", "kbd", "li", "ol", "p", "pre", "small", "span", "strong", "sub", "sup",
    "td", "th", "tr", "ul", "summary", "details", "center", "h1", "h2", "h3", "h4", "u", "s", "picture", "source", "hr",
];

fn tag(rest: &str) -> Option<usize> {
    let window = &rest[..floor_boundary(rest, 300)];
    if window.starts_with("<!--") {
        return window.find("-->").map(|end| end + 3);
    }
    let end = window.find('>')?;
    let name = window[1..end].trim_start_matches('/');
    let name = name.split(|character: char| !character.is_ascii_alphanumeric()).next()?;
    TAGS.contains(&name.to_ascii_lowercase().as_str()).then_some(end + 1)
}

/// `*words*`, `**words**` and `_words_` become the words. Marks without a
/// partner are signs of their own, as in `*.md`.
fn emphasis(rest: &str, mark: char, out: &mut String) -> Option<usize> {
    let length = rest.chars().take_while(|character| *character == mark).count();
    if length > 3 {
        return None;
    }
    let window = &rest[length..floor_boundary(rest, length + 300)];
    if window.starts_with(char::is_whitespace) {
        return None;
    }
    let close = window.find(&rest[..length]).filter(|close| *close > 0)?;
    let words = &window[..close];
    let after = window[close + length..].chars().next();
    let inside_word = mark == '_' && after.is_some_and(char::is_alphanumeric);
    if words.ends_with(char::is_whitespace) || inside_word {
        return None;
    }
    out.push_str(&clean(words));
    Some(length * 2 + close)
}

fn entity(rest: &str, out: &mut String) -> Option<usize> {
    let (name, character) = [
        ("&amp;", '&'),
        ("&lt;", '<'),
        ("&gt;", '>'),
        ("&quot;", '"'),
        ("&#39;", '\''),
        ("&nbsp;", ' '),
        ("&mdash;", '—'),
    ]
    .into_iter()
    .find(|(name, _)| rest.starts_with(name))?;
    out.push(character);
    Some(name.len())
}

/// `:ref:` before a backtick.
fn role(rest: &str) -> Option<usize> {
    let end =
        rest[1..].find(|character: char| !character.is_ascii_lowercase() && character != '-')?;
    let found = end > 0 && rest[1 + end..].starts_with(":`");
    found.then_some(end + 2)
}

fn escaped(rest: &str, out: &mut String) -> Option<usize> {
    let next = rest[1..].chars().next().filter(char::is_ascii_punctuation)?;
    // A path of Windows keeps its backslashes.
    if next == '\\' {
        return None;
    }
    out.push(next);
    Some(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_go_and_words_stay() {
        for (from, to) in [
            ("See [the **guide**](https://a.example/b) now", "See the guide now"),
            ("A *word* and __another__ and _third_.", "A word and another and third."),
            ("Use `max_cost_usd` and ``x``", "Use `max_cost_usd` and `x`"),
            ("snake_case_name stays, 2 * 3 too", "snake_case_name stays, 2 * 3 too"),
            ("[`Vec`] and [a][b] and array[0]", "`Vec` and a and array[0]"),
            (":ref:`x` and `text <http://u>`_", "`x` and text"),
            ("a &lt; b<br/> <b>c</b> Vec<u8>", "a < b c Vec<u8>"),
            ("two\n  lines\u{200b}\0", "two lines"),
            ("footnote[^1].", "footnote."),
            ("files *.md here", "files *.md here"),
        ] {
            assert_eq!(clean(from), to, "{from}");
        }
    }

    #[test]
    fn rows_are_set_apart() {
        assert_eq!(clean_row("| `a` | b \\| c | |"), "`a` — b | c");
    }

    #[test]
    fn deep_brackets_stay_linear() {
        let deep = "[".repeat(200_000);
        assert_eq!(clean(&deep).len(), deep.len());
    }
}
