//! Splits a document into passages that can be found and read by themselves.
//!
//! Each format finds its blocks (paragraphs, code, items) and the headings above
//! them; the packer joins small blocks of a section and parts large ones, so that
//! every passage has about 150 to 250 words and knows its exact lines.

mod code;
mod html;
mod markdown;
mod pack;
mod restructured;
mod text;

use crate::kind::Kind;
use crate::source::Passage;

/// A document, split.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Split {
    pub title: String,
    pub passages: Vec<Passage>,
}

pub fn split(kind: Kind, text: &str, path: &str) -> Split {
    let mut split = match kind {
        Kind::Markdown => markdown::split(text),
        Kind::ReStructured => restructured::split(text),
        Kind::Html => html::split(text),
        Kind::Text => text::split(text),
        Kind::Code => code::split(text),
    };
    if split.title.is_empty() {
        split.title = match kind {
            // The path says where code belongs better than any line of it.
            Kind::Code => path.to_owned(),
            _ => name_as_title(path),
        };
    }
    split
}

/// `notes/first-steps.md` is about first steps.
fn name_as_title(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem =
        name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem });
    stem.replace(['-', '_'], " ").trim().to_owned()
}

/// The headings above a place in a document.
#[derive(Debug, Default)]
struct Headings {
    /// Level and text, outermost first.
    open: Vec<(u8, String)>,
}

impl Headings {
    fn enter(&mut self, level: u8, text: String) {
        self.open.retain(|(outer, _)| *outer < level);
        self.open.push((level, text));
    }

    fn path(&self) -> String {
        let mut path = String::new();
        for (_, text) in self.open.iter().filter(|(_, text)| !text.is_empty()) {
            if !path.is_empty() {
                path.push_str(" › ");
            }
            path.push_str(text);
        }
        path
    }
}

/// A line of a text: where it starts and ends in bytes, without its end.
#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    text: &'a str,
    /// Counted from 1.
    number: u32,
}

impl Line<'_> {
    fn is_blank(&self) -> bool {
        self.text.bytes().all(|byte| byte.is_ascii_whitespace()) || self.text.trim().is_empty()
    }
}

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> + Clone {
    text.lines().zip(1..).map(|(text, number)| Line { text, number })
}

/// Words as a reader counts them.
fn count_words(text: &str) -> usize {
    let mut words = 0;
    let mut inside = false;
    for byte in text.bytes() {
        let space = byte == b' ' || byte == b'\n' || byte == b'\t' || byte == b'\r';
        words += usize::from(!space && !inside);
        inside = !space;
    }
    words
}

/// Cuts to at most `most` characters, at a word where possible.
fn shorten(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let cut: String = text.chars().take(most).collect();
    let end = cut.rfind(' ').filter(|end| *end > most / 2).unwrap_or(cut.len());
    format!("{}…", cut[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_without_a_heading_is_called_by_its_file() {
        assert_eq!(
            split(Kind::Markdown, "some text\n", "notes/first-steps.md").title,
            "first steps"
        );
        assert_eq!(split(Kind::Code, "fn main() {}\n", "src/main.rs").title, "src/main.rs");
    }

    #[test]
    fn every_format_survives_any_text() {
        let awkward = [
            "",
            "\n",
            "#",
            "```",
            "---",
            "<",
            "<h1",
            "&",
            "&#x;",
            "===\n===",
            "\u{feff}",
            "é\r\n\r\n#é#\n---\n",
            "<!--",
            "<script>",
            "<pre>\n\n",
        ];
        for kind in [Kind::Markdown, Kind::ReStructured, Kind::Html, Kind::Text, Kind::Code] {
            for one in awkward {
                for other in awkward {
                    let text = format!("{one}{other}");
                    let last = text.lines().count().max(1) as u32;
                    for passage in split(kind, &text, "a").passages {
                        assert!(
                            passage.start_line >= 1
                                && passage.start_line <= passage.end_line
                                && passage.end_line <= last,
                            "{kind:?} {text:?} {passage:?}"
                        );
                    }
                }
            }
        }
    }
}
