//! The marks that research backends leave in a text: `[cite: 1, 2]` behind what it
//! rests on, and `[cite_start]` before it.

use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Bytes of the text, brackets included.
    pub range: Range<usize>,
    pub meaning: Meaning,
}

impl Mark {
    /// Whether it says what a sentence rests on.
    pub fn cites(&self) -> bool {
        self.meaning != Meaning::Nothing
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning {
    Numbers(Vec<u32>),
    /// Something else than numbers.
    Words(String),
    /// Where a cited sentence begins or ends.
    Nothing,
}

/// A longer one is no mark, but text that happens to begin like one.
const LONGEST: usize = 400;

/// `1-3` names three sources; `1-3000` is a slip.
const WIDEST: u32 = 100;

/// All marks, in order.
pub fn find(text: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find("[cite") {
        let open = at + found;
        let inside = open + 1;
        at = inside;
        let limit = text.floor_char_boundary((inside + LONGEST).min(text.len()));
        let Some(length) = text[inside..limit].find([']', '[', '\n']) else { continue };
        let close = inside + length;
        if !text[close..].starts_with(']') {
            continue;
        }
        // Some models escape the brackets.
        let escaped = text[..open].ends_with('\\');
        let content = text[inside..close].trim_end_matches('\\');
        let Some(meaning) = meaning(content) else { continue };
        let start = if escaped { open - 1 } else { open };
        marks.push(Mark { range: start..close + 1, meaning });
        at = close + 1;
    }
    marks
}

fn meaning(content: &str) -> Option<Meaning> {
    if ["cite_start", "cite_end", "cite"].contains(&content.trim()) {
        return Some(Meaning::Nothing);
    }
    let said = content.strip_prefix("cite")?.trim_start().strip_prefix(':')?.trim();
    Some(match numbers(said) {
        _ if said.is_empty() => Meaning::Nothing,
        Some(numbers) => Meaning::Numbers(numbers),
        None => Meaning::Words(said.to_owned()),
    })
}

/// `1, 2`, `1; 2` or `1-3`.
fn numbers(text: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for part in text.split([',', ';', ' ']).map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once(['-', '–']).unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if last < first || last - first >= WIDEST {
            return None;
        }
        numbers
            .extend((first..=last).filter(|number| !numbers.contains(number)).collect::<Vec<_>>());
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meanings(text: &str) -> Vec<Meaning> {
        find(text).into_iter().map(|mark| mark.meaning).collect()
    }

    #[test]
    fn marks_say_numbers_words_or_nothing() {
        use Meaning::{Nothing, Numbers, Words};
        let cases: [(&str, Vec<Meaning>); 9] = [
            ("[cite_start]a b.[cite: 1]", vec![Nothing, Numbers(vec![1])]),
            ("a [cite: 1, 2] b [cite:3;4] c", vec![Numbers(vec![1, 2]), Numbers(vec![3, 4])]),
            ("[cite: 2-4, 3]", vec![Numbers(vec![2, 3, 4])]),
            ("[cite: Doodson 1921]", vec![Words("Doodson 1921".to_owned())]),
            (
                "[cite: 4-2] [cite: 1-9999]",
                vec![Words("4-2".to_owned()), Words("1-9999".to_owned())],
            ),
            ("[cite: ] [cite_end]", vec![Nothing, Nothing]),
            ("\\[cite: 7\\]", vec![Numbers(vec![7])]),
            ("[cited: 1] [cite 1] [cite: 1\n] [cite: [cite: 9]", vec![Numbers(vec![9])]),
            ("[cite: 99999999999]", vec![Words("99999999999".to_owned())]),
        ];
        for (text, expected) in cases {
            assert_eq!(meanings(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_mark_is_taken_with_its_brackets() {
        let text = "ä \\[cite: 7\\] [cite: 1].";
        let taken: Vec<&str> = find(text).into_iter().map(|mark| &text[mark.range]).collect();
        assert_eq!(taken, ["\\[cite: 7\\]", "[cite: 1]"]);
        assert_eq!(find(&format!("[cite: {}]", "9, ".repeat(300))), []);
    }
}
