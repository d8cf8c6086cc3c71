//! The candidates for an answer: sentences, list items, table rows, pieces of
//! code, each with what stands around it.

use std::ops::Range;

use bathysphere_sdk::types::Passage;

use crate::blocks::{self, Block, Kind};
use crate::code::has_blank_line;
use crate::context::{self, Above, terms};
use crate::sentences::{self, Joined};
use crate::settings::Settings;
use crate::words::{Term, Vocabulary, Word};

/// Something that could be quoted.
#[derive(Debug)]
pub struct Unit {
    pub passage: usize,
    pub block: usize,
    /// In the block's joined text.
    pub range: Range<usize>,
    pub words: Vec<Word>,
    /// The unit before it in the same block.
    pub previous: Option<usize>,
    /// The last of its block.
    pub last: bool,
}

/// A passage cut up.
#[derive(Debug)]
pub struct Cut {
    pub blocks: Vec<Block>,
    pub joined: Vec<Joined>,
    /// Terms of title, path and heading.
    pub around: Vec<Term>,
    /// For each block, what it belongs to.
    pub above: Vec<Above>,
    /// For each comment, the terms of the short declaration right below it.
    pub below: Vec<Option<Vec<Term>>>,
    /// For each declaration, whether a documentation string follows it.
    pub documented: Vec<bool>,
}

/// A list item this short is quoted whole.
const SHORT_ITEM: usize = 300;
/// Larger pieces of code are never an answer by themselves.
const LARGEST_CODE: usize = 700;
/// A longer declaration hides the sentence it is meant to explain.
const LONGEST_SIGNATURE: usize = 160;

/// Cuts all passages up.
pub fn collect(
    passages: &[Passage],
    vocabulary: &mut Vocabulary,
    settings: &Settings,
) -> (Vec<Cut>, Vec<Unit>) {
    let longest = settings.max_finding_length;
    let mut cuts = Vec::with_capacity(passages.len());
    let mut units = Vec::new();
    for (number, passage) in passages.iter().enumerate() {
        let blocks = blocks::split(&passage.text, &passage.source.url);
        let joined: Vec<_> = blocks
            .iter()
            .map(|block| {
                let separator = if is_code(block.kind) { '\n' } else { ' ' };
                Joined::new(&passage.text, block, separator)
            })
            .collect();
        let above = context::context(passage, &blocks, &joined, vocabulary);
        for (index, block) in blocks.iter().enumerate() {
            let text = &joined[index].text;
            let ranges = match block.kind {
                Kind::Heading => continue,
                Kind::Code if settings.attach_code_lines == 0 => continue,
                Kind::Code | Kind::Signature
                    if text.len() > LARGEST_CODE
                        || block.lines.len() > settings.attach_code_lines.max(1) =>
                {
                    continue;
                }
                Kind::Code | Kind::Signature | Kind::Entry | Kind::Row => {
                    whole(floor(text, longest * 2))
                }
                Kind::Item if text.len() <= SHORT_ITEM => whole(text.len()),
                Kind::Item | Kind::Paragraph => sentences::split(text, longest),
            };
            let count = ranges.len();
            for (position, range) in ranges.into_iter().enumerate() {
                let words = vocabulary.words(&text[range.clone()]);
                let previous = (position > 0).then(|| units.len() - 1);
                let last = position + 1 == count;
                units.push(Unit { passage: number, block: index, range, words, previous, last });
            }
        }
        let mut around = terms(&passage.source.title, vocabulary);
        around.extend(terms(&passage.source.url, vocabulary));
        if let Some(heading) =
            passage.source.location.as_ref().and_then(|place| place.heading.as_ref())
        {
            around.extend(terms(heading, vocabulary));
        }
        let below = (0..blocks.len())
            .map(|index| {
                let next = blocks.get(index + 1)?;
                let declares = matches!(next.kind, Kind::Signature | Kind::Entry);
                let between = &passage.text[blocks[index].whole.end..next.whole.start];
                let documents = blocks[index].comment && declares && !has_blank_line(between);
                (documents && next.whole.len() <= LONGEST_SIGNATURE)
                    .then(|| terms(&joined[index + 1].text, vocabulary))
            })
            .collect();
        let documented = (0..blocks.len())
            .map(|index| {
                let Some(next) = blocks.get(index + 1) else { return false };
                let between = &passage.text[blocks[index].whole.end..next.whole.start];
                blocks[index].kind == Kind::Signature
                    && next.comment
                    && next.kind == Kind::Paragraph
                    && (between.contains("\"\"\"") || between.contains("'''"))
            })
            .collect();
        cuts.push(Cut { blocks, joined, around, above, below, documented });
    }
    (cuts, units)
}

pub fn is_code(kind: Kind) -> bool {
    matches!(kind, Kind::Code | Kind::Signature)
}

/// The one range that reaches to `end`.
fn whole(end: usize) -> Vec<Range<usize>> {
    std::iter::once(0..end).collect()
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
