//! reStructuredText: headings are underlined, and maybe overlined, with
//! punctuation; which mark means which level shows in the order of appearance.

use super::pack::Packer;
use super::{Headings, Line, Split, lines};

pub fn split(text: &str) -> Split {
    let all: Vec<Line<'_>> = lines(text).collect();
    let mut packer = Packer::new(text);
    let mut headings = Headings::default();
    let mut levels: Vec<(u8, bool)> = Vec::new();
    let mut title = String::new();
    let mut at = 0;
    while at < all.len() {
        if all[at].is_blank() {
            at += 1;
            continue;
        }
        if let Some((heading, mark, overlined, length)) = heading(&all[at..]) {
            let style = (mark, overlined);
            let level = levels.iter().position(|known| *known == style).unwrap_or_else(|| {
                levels.push(style);
                levels.len() - 1
            });
            if title.is_empty() {
                heading.clone_into(&mut title);
            }
            headings.enter(level as u8, heading.to_owned());
            packer.section(headings.path());
            at += length;
            continue;
        }
        let first = at;
        while at < all.len()
            && !all[at].is_blank()
            && (at == first || heading(&all[at..]).is_none())
        {
            at += 1;
        }
        let start = offset(text, all[first]);
        let end = offset(text, all[at - 1]) + all[at - 1].text.len();
        packer.block(start, end, all[first].number, all[at - 1].number);
    }
    Split { title, passages: packer.finish() }
}

fn offset(text: &str, line: Line<'_>) -> usize {
    line.text.as_ptr() as usize - text.as_ptr() as usize
}

/// A heading at the start of these lines: its text, mark, whether it is
/// overlined, and how many lines it takes.
fn heading<'a>(lines: &[Line<'a>]) -> Option<(&'a str, u8, bool, usize)> {
    let first = lines.first()?;
    let second = lines.get(1)?;
    if let Some((mark, length)) = rule(first.text) {
        let (under, under_length) = rule(lines.get(2)?.text)?;
        let text = second.text.trim();
        let fits = under == mark
            && under_length == length
            && !text.is_empty()
            && text.chars().count() <= length;
        return fits.then_some((text, mark, true, 3));
    }
    let (mark, length) = rule(second.text)?;
    let text = first.text.trim_end();
    let fits = !text.starts_with([' ', '\t'])
        && text.chars().count() <= length
        && text.chars().any(char::is_alphanumeric);
    fits.then_some((text, mark, false, 2))
}

fn rule(line: &str) -> Option<(u8, usize)> {
    let line = line.trim_end();
    let mark = *line.as_bytes().first()?;
    let marks = b"=-`:.'\"~^_*+#<>!$%&(),/;?@[\\]{|}";
    (line.len() >= 2 && marks.contains(&mark) && line.bytes().all(|byte| byte == mark))
        .then_some((mark, line.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_levels_in_order_of_appearance() {
        let text = "=====\nTitle\n=====\n\nIntro.\n\nPart\n----\nText.\n\nSub\n~~~\nMore.\n\nNext\n----\n\nEnd.\n";
        let split = split(text);
        assert_eq!(split.title, "Title");
        let found: Vec<_> = split
            .passages
            .iter()
            .map(|one| (one.heading.as_str(), one.start_line, one.text.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("Title", 5, "Intro."),
                ("Title › Part", 9, "Text."),
                ("Title › Part › Sub", 13, "More."),
                ("Title › Next", 18, "End."),
            ]
        );
    }

    #[test]
    fn tables_and_short_underlines_are_no_headings() {
        let text = "A long line of text\n---\n\n  indented\n  ========\n";
        assert_eq!(split(text).passages[0].heading, "");
    }
}
