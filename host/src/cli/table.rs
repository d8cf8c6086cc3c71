//! Columns for people: as wide as their contents, the last one cut to what is
//! left of the terminal's width.

use unicode_width::UnicodeWidthStr;

use super::terminal::{BOLD, Look};
use anstyle::Style;

/// One cell and the style it is shown in.
#[derive(Debug, Clone)]
pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), style: Style::new() }
    }

    pub fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

/// Below this the last column is left whole: a cut would say nothing.
const LEAST: usize = 12;

/// The columns for a terminal of this width, each with the least width it is
/// shown at; all of them in a pipe.
pub fn fitting<'a>(headers: &[(&'a str, usize)], look: Look) -> Vec<&'a str> {
    let columns = look.columns.unwrap_or(usize::MAX);
    headers.iter().filter(|(_, least)| columns >= *least).map(|(header, _)| *header).collect()
}

pub fn table(headers: &[&str], rows: &[Vec<Cell>], look: Look) -> String {
    let last = headers.len() - 1;
    let mut widths: Vec<usize> = headers.iter().map(|header| header.width()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.text.width());
        }
    }
    let before: usize = widths[..last].iter().map(|width| width + 2).sum();
    let room = look.columns.map(|columns| columns.saturating_sub(before).max(LEAST));
    let header: Vec<Cell> = headers.iter().map(|header| Cell::styled(*header, BOLD)).collect();
    let mut text = String::new();
    for row in std::iter::once(&header).chain(rows) {
        for (index, cell) in row.iter().enumerate() {
            let shown = match room {
                Some(room) if index == last => cut(&cell.text, room),
                _ => cell.text.clone(),
            };
            let pad = if index == last { 0 } else { widths[index] + 2 - shown.width() };
            text.push_str(&look.paint(cell.style, &shown));
            text.push_str(&" ".repeat(pad));
        }
        text.truncate(text.trim_end_matches(' ').len());
        text.push('\n');
    }
    text
}

/// At most `room` columns, ending in `…` where some were left off.
pub fn cut(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    for character in text.chars() {
        let mut longer = kept.clone();
        longer.push(character);
        if longer.width() + 1 > room {
            break;
        }
        kept = longer;
    }
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_the_last_is_cut_to_the_terminal() {
        let rows = [
            vec![Cell::new("a"), Cell::new("short")],
            vec![Cell::new("日本語"), Cell::new("a question that is too long for it")],
        ];
        let look = Look { columns: Some(28), ..Look::default() };
        insta::assert_snapshot!(table(&["ID", "QUESTION"], &rows, look), @r"
        ID      QUESTION
        a       short
        日本語  a question that is…
        ");
        let whole = table(&["ID", "QUESTION"], &rows, Look::default());
        assert!(whole.contains("a question that is too long for it"));
    }
}
