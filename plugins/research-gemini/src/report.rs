//! The report: the text of all that the agent has put out, and which of its bytes
//! rest on which source. Offsets are the vendor's, in bytes of one piece of text;
//! those that lie are bent to fit, or left out.

use bathysphere_sdk::research::Citation;
use bathysphere_sdk::types::Source;
use serde_json::Value;

use crate::sources::Sources;
use crate::value::{list, number, text};

/// More than any report has; an answer that lies could hold a million.
const MOST_CITATIONS: usize = 20_000;

#[derive(Default)]
pub struct Report {
    text: String,
    marks: Vec<Mark>,
    cited: Sources,
    apart: bool,
}

struct Mark {
    url: String,
    start: usize,
    end: usize,
}

/// What came of it.
pub struct Written {
    /// None where there is nothing to read.
    pub text: Option<String>,
    pub citations: Vec<Citation>,
    /// Those that are cited, then the others.
    pub sources: Vec<Source>,
}

impl Report {
    /// Something stands between the text so far and what comes: it is not the same
    /// sentence. Pieces without anything between them are one text that was cut.
    pub fn set_apart(&mut self) {
        self.apart = true;
    }

    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// A text content.
    pub fn add(&mut self, content: &Value) {
        let piece = text(content, "text").unwrap_or_default();
        if !piece.is_empty() {
            if self.apart && !self.text.is_empty() {
                let ends = self.text.len() - self.text.trim_end_matches('\n').len();
                self.text.push_str(&"\n\n"[ends.min(2)..]);
            }
            self.apart = false;
        }
        let offset = self.text.len();
        self.text.push_str(piece);
        for annotation in list(content, "annotations") {
            self.annotate(annotation, piece, offset);
        }
    }

    fn annotate(&mut self, annotation: &Value, piece: &str, offset: usize) {
        if text(annotation, "type").is_some_and(|kind| kind != "url_citation") {
            return;
        }
        // It was called `source` before.
        let url = text(annotation, "url").or_else(|| text(annotation, "source"));
        let Some(url) = url else { return };
        if !self.cited.add(url, text(annotation, "title")) || self.marks.len() >= MOST_CITATIONS {
            return;
        }
        // JSON made from Google's messages leaves out what is zero.
        let start = number(annotation, "start_index").unwrap_or(0);
        let Some(end) = number(annotation, "end_index") else { return };
        let (start, end) = within(piece, start, end);
        if start < end {
            let url = url.to_owned();
            self.marks.push(Mark { url, start: offset + start, end: offset + end });
        }
    }

    /// `read` are sources beside those that are cited.
    pub fn finish(self, read: Sources) -> Written {
        let sources = self.cited.followed_by(read);
        let citations = self
            .marks
            .iter()
            .filter_map(|mark| {
                Some(Citation {
                    source: sources.get(&mark.url)?.clone(),
                    start: u32::try_from(mark.start).ok()?,
                    end: u32::try_from(mark.end).ok()?,
                })
            })
            .collect();
        let text = (!self.text.trim().is_empty()).then_some(self.text);
        let citations = if text.is_some() { citations } else { Vec::new() };
        Written { text, citations, sources: sources.into_vec() }
    }
}

/// The range within the text, widened to whole characters.
fn within(text: &str, start: u64, end: u64) -> (usize, usize) {
    let at = |index: u64| usize::try_from(index).unwrap_or(usize::MAX).min(text.len());
    (text.floor_char_boundary(at(start)), text.ceil_char_boundary(at(end)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn content(text: &str, annotations: &Value) -> Value {
        json!({ "type": "text", "text": text, "annotations": annotations })
    }

    fn cite(url: &str, start: i64, end: i64) -> Value {
        json!({ "type": "url_citation", "url": url, "title": "t", "start_index": start, "end_index": end })
    }

    /// The words that are cited, each with its address.
    fn cited(report: Report) -> Vec<(String, String)> {
        let written = report.finish(Sources::default());
        let text = written.text.unwrap_or_default();
        written
            .citations
            .into_iter()
            .map(|citation| {
                (
                    text[citation.start as usize..citation.end as usize].to_owned(),
                    citation.source.url,
                )
            })
            .collect()
    }

    #[test]
    fn offsets_are_moved_with_their_piece() {
        let mut report = Report::default();
        report.add(&content("Ein Tür", &json!([cite("https://a.example", 4, 8)])));
        report.add(&content(" und ein Tor.", &json!([cite("https://b.example", 9, 12)])));
        report.set_apart();
        report.add(&content("Neu.", &json!([cite("https://a.example", 0, 3)])));
        let expected = [("Tür", "a"), ("Tor", "b"), ("Neu", "a")]
            .map(|(words, host)| (words.to_owned(), format!("https://{host}.example")));
        assert_eq!(cited(report), expected);
    }

    #[test]
    fn pieces_with_something_between_are_paragraphs() {
        for (before, after) in
            [("a", "a\n\nb"), ("a\n", "a\n\nb"), ("a\n\n", "a\n\nb"), ("a\n\n\n", "a\n\n\nb")]
        {
            let mut report = Report::default();
            report.set_apart();
            report.add(&content(before, &json!([])));
            report.set_apart();
            report.add(&content("", &json!([])));
            report.add(&content("b", &json!([])));
            assert_eq!(report.finish(Sources::default()).text.as_deref(), Some(after));
        }
    }

    #[test]
    fn offsets_that_lie_are_bent_or_left_out() {
        let url = "https://a.example";
        let annotations = json!([
            cite(url, 1, 2),
            cite(url, 0, 9999),
            cite(url, -5, 1),
            cite(url, 3, 1),
            cite(url, 500, 900),
            cite(url, 1, 1),
            { "type": "url_citation", "url": url },
            { "type": "url_citation", "url": url, "end_index": 1 },
            { "type": "url_citation", "url": url, "start_index": "2", "end_index": [] },
            { "type": "url_citation", "url": 7, "end_index": 1 },
            { "type": "url_citation", "url": "javascript:x", "end_index": 1 },
            { "type": "place_citation", "url": url, "end_index": 1 },
            "nonsense",
        ]);
        let mut report = Report::default();
        report.add(&content("äöü", &annotations));
        let words: Vec<String> = cited(report).into_iter().map(|(words, _)| words).collect();
        // The sixth is within one character: that is what rests on it.
        assert_eq!(words, ["ä", "äöü", "ä", "ä", "ä"]);
    }

    #[test]
    fn space_alone_is_no_report_and_nothing_rests_on_it() {
        let mut report = Report::default();
        report.add(&content(" \n ", &json!([cite("https://a.example", 0, 2)])));
        assert!(report.is_empty());
        let written = report.finish(Sources::default());
        assert_eq!((written.text, written.citations.len(), written.sources.len()), (None, 0, 1));
    }
}
