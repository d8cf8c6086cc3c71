//! Cuts a block's words into sentences. Abbreviations, decimals, versions, file
//! names, URLs and inline code hold full stops that end nothing.

use std::ops::Range;

use crate::blocks::Block;

/// A block's lines joined into one text, with the way back to the passage.
#[derive(Debug, Clone)]
pub struct Joined {
    pub text: String,
    /// Where each line starts: in `text`, and in the passage.
    starts: Vec<(usize, usize)>,
}

impl Joined {
    pub fn new(passage: &str, block: &Block, separator: char) -> Self {
        let mut text = String::with_capacity(block.whole.len());
        let mut starts = Vec::with_capacity(block.lines.len());
        for line in &block.lines {
            if !text.is_empty() {
                text.push(separator);
            }
            starts.push((text.len(), line.start));
            text.push_str(&passage[line.clone()]);
        }
        Self { text, starts }
    }

    /// Where a range of the joined text stands in the passage.
    pub fn in_passage(&self, range: &Range<usize>) -> Range<usize> {
        let start = self.place(range.start);
        // The end belongs to the line of the last byte, not to the next one.
        let end = self.place(range.end.saturating_sub(1).max(range.start)) + 1;
        start..end.max(start)
    }

    fn place(&self, at: usize) -> usize {
        let line = self.starts.partition_point(|(start, _)| *start <= at).saturating_sub(1);
        self.starts.get(line).map_or(0, |(start, origin)| origin + (at - start))
    }
}

/// Cuts a text into sentences of at most `longest` bytes, without the white
/// space between them.
pub fn split(text: &str, longest: usize) -> Vec<Range<usize>> {
    let mut sentences = Vec::new();
    let bytes = text.as_bytes();
    let mut start = 0;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'`' => at = skip_inline_code(bytes, at),
            b'.' | b'!' | b'?' => {
                let mut end = at + 1;
                while end < bytes.len() && matches!(bytes[end], b'.' | b'!' | b'?') {
                    end += 1;
                }
                end += closing_length(&text[end..]);
                if ends_sentence(text, start, at, end) {
                    push(text, start..end, longest, &mut sentences);
                    start = end;
                }
                at = end;
            }
            // The full-width stops need no space after them.
            0xe3 | 0xef | 0xd8 | 0xe0 => {
                let character = text[at..].chars().next().unwrap_or(' ');
                at += character.len_utf8();
                if matches!(character, '。' | '！' | '？' | '؟' | '।') {
                    at += closing_length(&text[at..]);
                    push(text, start..at, longest, &mut sentences);
                    start = at;
                }
            }
            byte => at += utf8_length(byte),
        }
    }
    push(text, start..bytes.len(), longest, &mut sentences);
    sentences
}

fn utf8_length(first: u8) -> usize {
    match first {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    }
}

/// Code between backticks is passed over; a lone backtick is only that. The
/// search is bounded, so that many of them stay linear.
fn skip_inline_code(bytes: &[u8], at: usize) -> usize {
    let ticks = bytes[at..].iter().take(8).take_while(|byte| **byte == b'`').count();
    let from = at + ticks;
    let until = bytes.len().min(from + 300);
    let mut run = 0;
    for (position, byte) in bytes.iter().enumerate().take(until).skip(from) {
        if *byte == b'`' {
            run += 1;
        } else if run == ticks {
            return position;
        } else {
            run = 0;
        }
    }
    if run == ticks { until } else { from }
}

/// Quotation marks, brackets and emphasis that close after a stop.
fn closing_length(rest: &str) -> usize {
    rest.char_indices()
        .take(4)
        .find(|(_, character)| {
            !matches!(character, '"' | '\'' | ')' | ']' | '”' | '’' | '»' | '*' | '_' | '」')
        })
        .map_or_else(|| rest.chars().take(4).map(char::len_utf8).sum(), |(at, _)| at)
}

fn ends_sentence(text: &str, start: usize, stop: usize, end: usize) -> bool {
    let rest = &text[end..];
    let Some(next) = rest.chars().next() else {
        return true;
    };
    if !next.is_whitespace() {
        return false;
    }
    if text.as_bytes()[stop] != b'.' {
        return true;
    }
    // A sentence does not begin in lower case; what looks like one goes on.
    let following = rest.trim_start().chars().next();
    if following.is_none_or(char::is_lowercase) {
        return following.is_none();
    }
    let before = &text[start..stop];
    let word = before
        .rsplit(|character: char| {
            character.is_whitespace() || matches!(character, '(' | '[' | '“' | '"')
        })
        .next()
        .unwrap_or(before);
    if end - stop > 1 && text[stop..end].starts_with("..") {
        return true;
    }
    let lower = word.to_ascii_lowercase();
    if ABBREVIATIONS.contains(&lower.as_str()) {
        return false;
    }
    // "No. 5", "Fig. 2": only before a number.
    if matches!(lower.as_str(), "no" | "nos" | "sec" | "ch" | "p" | "pp" | "art" | "eq")
        && following.is_some_and(|character| character.is_ascii_digit())
    {
        return false;
    }
    // An initial, as in "J. Smith", or a list number that stands by itself.
    let mut characters = word.chars();
    let single = characters.next().filter(|_| characters.next().is_none());
    if single.is_some_and(|character| character.is_uppercase() && character != 'I') {
        return false;
    }
    !(before.trim_start().len() == word.len()
        && word.len() <= 3
        && word.bytes().all(|b| b.is_ascii_digit()))
}

const ABBREVIATIONS: &[&str] = &[
    "e.g", "i.e", "eg", "ie", "cf", "vs", "etc", "mr", "mrs", "ms", "dr", "prof", "st", "fig",
    "figs", "approx", "resp", "inc", "ltd", "corp", "co", "al", "vol", "ed", "eds", "dept", "est",
    "jr", "sr", "gen", "gov", "capt", "u.s", "u.k", "a.k.a", "incl", "excl", "ref", "refs", "viz",
    "ca", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sept", "oct", "nov", "dec",
];

/// Adds a sentence, cut at a word where it is too long to quote.
fn push(text: &str, range: Range<usize>, longest: usize, out: &mut Vec<Range<usize>>) {
    let content = &text[range.clone()];
    let start = range.start + (content.len() - content.trim_start().len());
    let end = start + content.trim().len();
    let mut from = start;
    while end - from > longest {
        let mut cut = from + longest;
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        let window = &text[from..cut];
        let space = window.rfind("; ").map(|at| at + 1).filter(|at| *at > longest / 3);
        let space = space.or_else(|| window.rfind(char::is_whitespace)).filter(|at| *at > 0);
        let cut = from + space.unwrap_or(window.len()).max(1);
        out.push(from..cut);
        from = cut + (text[cut..end].len() - text[cut..end].trim_start().len());
    }
    if end > from {
        out.push(from..end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(text: &str) -> Vec<&str> {
        split(text, 480).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn stops_that_end_nothing_are_passed_over() {
        for whole in [
            "Use e.g. Rust 1.95 or v2.0.1 from example.org/a.b today.",
            "See Fig. 2 and No. 5 by J. Smith et al. There",
            "Open plugins.toml and set 0.35 there.",
            "Call `a. B. c` twice.",
            "Visit https://a.example/x.html?y=1.2 now.",
            "It is 3. 5 of them are left out, i.e. none.",
        ] {
            let found = sentences(whole);
            let expected = if whole.starts_with("It is") { 2 } else { 1 };
            assert_eq!(found.len(), expected, "{found:?}");
        }
    }

    #[test]
    fn stops_that_end_a_sentence_are_seen() {
        assert_eq!(sentences("One. Two! Three? Four"), ["One.", "Two!", "Three?", "Four"]);
        assert_eq!(
            sentences("He said \"no.\" Then he left."),
            ["He said \"no.\"", "Then he left."]
        );
        assert_eq!(sentences("**Bold.** Next."), ["**Bold.**", "Next."]);
        assert_eq!(sentences("潜水艇です。深いです。"), ["潜水艇です。", "深いです。"]);
        assert_eq!(sentences("Ends in `code`. Next one."), ["Ends in `code`.", "Next one."]);
        assert_eq!(sentences("Wait… and so on... Then."), ["Wait… and so on...", "Then."]);
    }

    #[test]
    fn long_sentences_are_cut_at_words() {
        let text = "word ".repeat(300);
        let found = split(&text, 100);
        assert!(found.len() >= 15);
        assert!(
            found.iter().all(|range| range.len() <= 100 && !text[range.clone()].ends_with("wor"))
        );
        let solid = "é".repeat(1000);
        assert!(split(&solid, 101).iter().all(|range| range.len() <= 101));
    }

    #[test]
    fn joined_ranges_lead_back_to_the_passage() {
        let passage = "/// One two\n/// three. Four.";
        let block = &crate::blocks::split(passage, "a.rs")[0];
        let joined = Joined::new(passage, block, ' ');
        assert_eq!(joined.text, "One two three. Four.");
        let first = split(&joined.text, 480)[0].clone();
        assert_eq!(&passage[joined.in_passage(&first)], "One two\n/// three.");
    }
}
