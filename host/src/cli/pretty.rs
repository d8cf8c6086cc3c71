//! Markdown in a terminal: wrapped to its width, headings bold, places and
//! numbers quiet, code untouched. It reads the Markdown that `report` writes, not
//! all there is.

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use super::terminal::{BOLD, CYAN, FAINT, ITALIC, Look};

/// The text as this stream shows it; unchanged where it is not read by a person.
pub fn markdown(text: &str, look: Look) -> String {
    let Some(width) = look.width else { return text.to_owned() };
    let mut shown = String::with_capacity(text.len() * 2);
    let mut fence: Option<String> = None;
    for line in text.lines() {
        let content = line.trim_start();
        let indent = line.len() - content.len();
        let ticks: String = content.chars().take_while(|mark| *mark == '`').collect();
        if let Some(open) = &fence {
            if content == *open {
                fence = None;
            } else {
                shown.push_str(&look.paint(CYAN, line));
                shown.push('\n');
                continue;
            }
        } else if ticks.len() >= 3 {
            fence = Some(ticks.clone());
        }
        if ticks.len() >= 3 {
            // In colour the block is plain to see; without, its fence shows it.
            if !look.styled {
                shown.push_str(line);
                shown.push('\n');
            }
            continue;
        }
        shown.push_str(&block(content, indent, width, look));
        shown.push('\n');
    }
    shown
}

fn block(content: &str, indent: usize, width: usize, look: Look) -> String {
    let hashes = content.bytes().take_while(|byte| *byte == b'#').count();
    if (1..=6).contains(&hashes) && content[hashes..].starts_with(' ') {
        let words = if look.styled { content[hashes..].trim_start() } else { content };
        return wrap(&spans(words, BOLD, look), "", "", width);
    }
    let pad = " ".repeat(indent);
    if let Some(quoted) = content.strip_prefix("> ") {
        let bar = format!("{pad}{} ", look.paint(FAINT, "│"));
        return wrap(&spans(quoted, Style::new(), look), &bar, &bar, width);
    }
    let marker = marker_length(content);
    let first = format!("{pad}{}", &content[..marker]);
    let next = " ".repeat(indent + marker);
    wrap(&spans(&content[marker..], Style::new(), look), &first, &next, width)
}

/// Bytes of `- ` or `12. `; 0 where the line is no list item.
fn marker_length(content: &str) -> usize {
    if content.starts_with("- ") {
        return 2;
    }
    let digits = content.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 && content[digits..].starts_with(". ") { digits + 2 } else { 0 }
}

/// Text and how it is painted; glued pieces make up a word.
type Span = (String, String);

/// Reads inline marks: code, strong, emphasis, citations, links and escapes.
fn spans(text: &str, base: Style, look: Look) -> Vec<Span> {
    let mut spans: Vec<(String, Style)> = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    let push = |spans: &mut Vec<(String, Style)>, plain: &mut String, text: &str, style: Style| {
        if !plain.is_empty() {
            spans.push((std::mem::take(plain), base));
        }
        spans.push((text.to_owned(), style));
    };
    while let Some(character) = rest.chars().next() {
        if let Some((inner, whole, style)) = marked(rest) {
            let shown = if look.styled || style == FAINT { inner } else { &rest[..whole] };
            push(&mut spans, &mut plain, shown, style);
            rest = &rest[whole..];
        } else if let Some((label, target, whole)) = link(rest) {
            plain.push_str(label);
            push(&mut spans, &mut plain, &format!(" {target}"), FAINT);
            rest = &rest[whole..];
        } else {
            let escaped =
                rest.strip_prefix('\\').and_then(|after| after.chars().next()).filter(char::is_ascii_punctuation);
            let (shown, taken) =
                escaped.map_or((character, character.len_utf8()), |next| (next, 1 + next.len_utf8()));
            plain.push(shown);
            rest = &rest[taken..];
        }
    }
    if !plain.is_empty() {
        spans.push((plain, base));
    }
    let words = spans.into_iter().flat_map(|(text, style)| {
        let pieces: Vec<(String, Style)> =
            text.split_inclusive(' ').map(|piece| (piece.to_owned(), style)).collect();
        pieces
    });
    words
        .map(|(piece, style)| {
            let bare = piece.trim_end_matches(' ');
            let painted = if style == Style::new() { bare.to_owned() } else { look.paint(style, bare) };
            (piece.clone(), format!("{painted}{}", &piece[bare.len()..]))
        })
        .collect()
}

/// What a mark at the start encloses, the length with its marks, and its style.
fn marked(text: &str) -> Option<(&str, usize, Style)> {
    if text.starts_with('`') {
        let run = text.bytes().take_while(|byte| *byte == b'`').count();
        let end = text[run..].find(&text[..run])? + run;
        let inner = &text[run..end];
        let unpadded = inner.strip_prefix(' ').and_then(|inner| inner.strip_suffix(' '));
        return Some((unpadded.unwrap_or(inner), end + run, CYAN));
    }
    for (mark, style) in [("**", BOLD), ("*", ITALIC)] {
        if let Some(inside) = text.strip_prefix(mark)
            && !inside.starts_with([' ', '*'])
            && let Some(end) = inside.find(mark)
            && end > 0
            && !inside[..end].ends_with(' ')
        {
            return Some((&inside[..end], end + 2 * mark.len(), style));
        }
    }
    let digits = text.strip_prefix('[')?.bytes().take_while(u8::is_ascii_digit).count();
    let is_citation = digits > 0 && text[1 + digits..].starts_with(']') && !text[2 + digits..].starts_with('(');
    is_citation.then(|| (&text[..digits + 2], digits + 2, FAINT))
}

/// `[label](<target>)`: its parts and its length.
fn link(text: &str) -> Option<(&str, &str, usize)> {
    let inside = text.strip_prefix('[')?;
    let label = inside.find("](")?;
    let target = &inside[label + 2..];
    let (target_text, close) = match target.strip_prefix('<') {
        Some(angled) => (angled.split('>').next()?, angled.find(">)")? + 2),
        None => (target.split(')').next()?, target.find(')')?),
    };
    (!inside[..label].contains('[')).then_some((&inside[..label], target_text, 1 + label + 2 + close + 1))
}

/// Lays words out in lines. A word that is longer than a line, such as a path,
/// stays whole, so that it can be copied.
fn wrap(spans: &[Span], first: &str, next: &str, width: usize) -> String {
    let plain_width = |text: &str| anstream::adapter::strip_str(text).to_string().width();
    let mut lines = String::from(first);
    let mut column = plain_width(first);
    let start = plain_width(next);
    let mut empty = true;
    let mut index = 0;
    while index < spans.len() {
        // A word ends with the piece that ends in a space.
        let end = spans[index..].iter().position(|(text, _)| text.ends_with(' ')).map_or(spans.len(), |at| index + at + 1);
        let word = &spans[index..end];
        let bare: usize = word.iter().map(|(text, _)| text.trim_end_matches(' ').width()).sum();
        if !empty && column + bare > width {
            lines.truncate(lines.trim_end_matches(' ').len());
            lines.push('\n');
            lines.push_str(next);
            column = start;
        }
        for (text, painted) in word {
            lines.push_str(painted);
            column += text.width();
        }
        empty = false;
        index = end;
    }
    lines.truncate(lines.trim_end_matches(' ').len());
    lines
}

/// One paragraph without marks, wrapped and indented.
pub fn paragraph(text: &str, indent: &str, look: Look) -> String {
    let Some(width) = look.width else { return format!("{indent}{text}") };
    let pieces: Vec<Span> =
        text.split_inclusive(' ').map(|piece| (anstream::adapter::strip_str(piece).to_string(), piece.to_owned())).collect();
    wrap(&pieces, indent, indent, width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{render_markdown, tests as outcomes};

    fn narrow(styled: bool) -> Look {
        Look { is_terminal: true, styled, width: Some(60) }
    }

    #[test]
    fn a_report_in_a_narrow_terminal_with_colour() {
        let shown = markdown(&render_markdown(&outcomes::found()), narrow(true));
        insta::assert_snapshot!(shown.replace('\u{1b}', "␛"));
    }

    #[test]
    fn a_report_in_a_narrow_terminal_without_colour() {
        let shown = markdown(&render_markdown(&outcomes::found()), narrow(false));
        assert!(!shown.contains('\u{1b}'));
        assert!(shown.lines().all(|line| line.width() <= 60), "{shown}");
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn a_pipe_gets_the_markdown_itself() {
        let report = render_markdown(&outcomes::found());
        assert_eq!(markdown(&report, Look::default()), report);
    }

    #[test]
    fn marks_escapes_and_links() {
        let look = Look { width: Some(200), ..Look::default() };
        let cases = [
            ("a \\<b> \\` c", "a <b> ` c"),
            ("see [Ports](<https://a.example/x>) now", "see Ports https://a.example/x now"),
            ("see [x](y.md)", "see x y.md"),
            ("2 * 3 * 4 and snake_case_name", "2 * 3 * 4 and snake_case_name"),
            ("ends with \\", "ends with \\"),
            ("ä\\ß", "ä\\ß"),
        ];
        for (text, expected) in cases {
            assert_eq!(markdown(text, look), format!("{expected}\n"), "{text:?}");
        }
    }

    #[test]
    fn a_long_path_is_not_broken() {
        let path = "a/very/long/path/".repeat(8);
        let shown = markdown(&format!("- text `{path}` more"), narrow(false));
        assert!(shown.contains(&path));
    }
}
