//! Markdown in a terminal: wrapped to its width, headings bold, places and
//! numbers quiet, code untouched. It reads the Markdown that `report` writes, not
//! all there is.

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::terminal::{BOLD, CYAN, FAINT, ITALIC, Look};

/// The text as this stream shows it; unchanged where it is not read by a person.
pub fn markdown(text: &str, look: Look) -> String {
    let Some(width) = look.width else {
        return text.to_owned();
    };
    let mut shown = String::with_capacity(text.len() * 2);
    let mut fence: Option<String> = None;
    for line in text.lines() {
        let content = line.trim_start();
        let indent = line.len() - content.len();
        let mut ticks: String = content.chars().take_while(|mark| *mark == '`').collect();
        if fence.is_none() && content[ticks.len()..].contains('`') {
            // A code span, not the beginning of a block.
            ticks.clear();
        }
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
        return wrap(&spans(words, BOLD, look), "", "", width, look);
    }
    let pad = " ".repeat(indent);
    if let Some(quoted) = content.strip_prefix("> ") {
        let bar = format!("{pad}{} ", look.paint(FAINT, "│"));
        return wrap(&spans(quoted, Style::new(), look), &bar, &bar, width, look);
    }
    let marker = marker_length(content);
    let first = format!("{pad}{}", &content[..marker]);
    let next = " ".repeat(indent + marker);
    wrap(&spans(&content[marker..], Style::new(), look), &first, &next, width, look)
}

/// Bytes of `- ` or `12. `; 0 where the line is no list item.
fn marker_length(content: &str) -> usize {
    if content.starts_with("- ") {
        return 2;
    }
    let digits = content.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 && content[digits..].starts_with(". ") { digits + 2 } else { 0 }
}

/// Text and its style; glued pieces make up a word.
type Span = (String, Style);

/// Reads inline marks: code, strong, emphasis, citations, links and escapes.
fn spans(text: &str, base: Style, look: Look) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    let mut cited = false;
    let push = |spans: &mut Vec<Span>, plain: &mut String, text: &str, style: Style| {
        if !plain.is_empty() {
            spans.push((std::mem::take(plain), base));
        }
        spans.push((text.to_owned(), style));
    };
    while let Some(character) = rest.chars().next() {
        if let Some((inner, whole, style)) = marked(rest) {
            let shown = if look.styled || style == FAINT { inner } else { &rest[..whole] };
            // The place after a number belongs to it.
            let follows = cited && plain == " ";
            cited = style == FAINT;
            push(&mut spans, &mut plain, shown, if follows { FAINT } else { style });
            rest = &rest[whole..];
        } else if let Some((label, target, whole)) = link(rest) {
            plain.push_str(label);
            push(&mut spans, &mut plain, &format!(" {target}"), FAINT);
            rest = &rest[whole..];
        } else {
            let escaped = rest
                .strip_prefix('\\')
                .and_then(|after| after.chars().next())
                .filter(char::is_ascii_punctuation);
            let (shown, taken) = escaped
                .map_or((character, character.len_utf8()), |next| (next, 1 + next.len_utf8()));
            plain.push(shown);
            rest = &rest[taken..];
        }
    }
    if !plain.is_empty() {
        spans.push((plain, base));
    }
    spans.iter().flat_map(|(text, style)| pieces(text, *style)).collect()
}

/// Cut after every place where a line may end.
fn pieces(text: &str, style: Style) -> Vec<Span> {
    text.split_inclusive(may_break_after).map(|piece| (piece.to_owned(), style)).collect()
}

/// A space, or a character of a script that is written without spaces.
fn may_break_after(character: char) -> bool {
    character == ' ' || character.width() == Some(2)
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
    let is_citation =
        digits > 0 && text[1 + digits..].starts_with(']') && !text[2 + digits..].starts_with('(');
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
    (!inside[..label].contains('[')).then_some((
        &inside[..label],
        target_text,
        1 + label + 2 + close + 1,
    ))
}

/// Lays words out in lines. A word that is longer than a line, such as a path,
/// stays whole, so that it can be copied.
fn wrap(spans: &[Span], first: &str, next: &str, width: usize, look: Look) -> String {
    let mut lines = String::from(first);
    let mut line: Vec<&Span> = Vec::new();
    let mut column = shown_width(first);
    let mut index = 0;
    while index < spans.len() {
        let ends = |(text, _): &Span| text.ends_with(may_break_after);
        let end = spans[index..].iter().position(ends).map_or(spans.len(), |at| index + at + 1);
        let word = &spans[index..end];
        let bare: usize =
            word.iter().map(|(text, _)| shown_width(text.trim_end_matches(' '))).sum();
        if !line.is_empty() && column + bare > width {
            lines.push_str(&painted(&line, look));
            lines.push('\n');
            lines.push_str(next);
            line.clear();
            column = shown_width(next);
        }
        column += word.iter().map(|(text, _)| shown_width(text)).sum::<usize>();
        line.extend(word);
        index = end;
    }
    lines.push_str(&painted(&line, look));
    lines.truncate(lines.trim_end_matches(' ').len());
    lines
}

/// Columns that a text takes, whatever it is painted in.
fn shown_width(text: &str) -> usize {
    anstream::adapter::strip_str(text).to_string().width()
}

/// One line, each run of a style painted as one.
fn painted(line: &[&Span], look: Look) -> String {
    let mut text = String::new();
    for run in line.chunk_by(|one, other| one.1 == other.1) {
        let words: String = run.iter().map(|(piece, _)| piece.as_str()).collect();
        let bare = words.trim_end_matches(' ');
        let style = run[0].1;
        text.push_str(&if style == Style::new() {
            bare.to_owned()
        } else {
            look.paint(style, bare)
        });
        text.push_str(&words[bare.len()..]);
    }
    text.truncate(text.trim_end_matches(' ').len());
    text
}

/// Text without marks after `first`, its further lines after `next`; in a pipe
/// it stays on one line.
pub fn hanging(text: &str, first: &str, next: &str, look: Look) -> String {
    let Some(width) = look.width else {
        return format!("{first}{text}");
    };
    wrap(&pieces(text, Style::new()), first, next, width, look)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{render_markdown, tests as outcomes};

    fn narrow(styled: bool) -> Look {
        Look { is_terminal: true, styled, width: Some(60), columns: Some(60) }
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
    fn scripts_without_spaces_are_wrapped_too() {
        let shown = markdown(&format!("- {}", "潮汐".repeat(30)), narrow(false));
        assert!(shown.lines().all(|line| line.width() <= 60), "{shown}");
        assert_eq!(shown.lines().count(), 3);
    }

    #[test]
    fn scrambled_text_neither_breaks_nor_steers_the_terminal() {
        for outcome in outcomes::scrambled(100) {
            let report = render_markdown(&outcome);
            let styled = markdown(&report, narrow(true));
            let plain = anstream::adapter::strip_str(&styled).to_string();
            assert!(!plain.contains('\u{1b}'));
            assert!(!markdown(&report, narrow(false)).contains('\u{1b}'));
            assert!(plain.contains("How it was researched"));
        }
    }

    #[test]
    fn a_long_path_is_not_broken() {
        let path = "a/very/long/path/".repeat(8);
        let shown = markdown(&format!("- text `{path}` more"), narrow(false));
        assert!(shown.contains(&path));
    }
}
