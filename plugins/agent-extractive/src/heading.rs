//! The heading of a quotation: that of its passage, unless the passage holds
//! several items and is named after another one.

use std::ops::Range;

use bathysphere_sdk::types::Passage;

use crate::blocks::Kind;
use crate::code;
use crate::units::Cut;

const SEPARATOR: &str = " › ";
/// A longer declaration is cut, in bytes.
const LONGEST: usize = 100;

/// The heading for what is quoted from `place`, which begins in `block`.
pub fn narrowed(
    passage: &Passage,
    cut: &Cut,
    block: usize,
    place: &Range<usize>,
) -> Option<String> {
    let heading = passage.source.location.as_ref()?.heading.as_deref().unwrap_or("");
    if code::style(&passage.source.url).is_none() {
        return (!heading.is_empty()).then(|| heading.to_owned());
    }
    // What a part names further down does not hold the quotation.
    let mut parts: Vec<String> = heading
        .split(SEPARATOR)
        .filter(|part| !part.is_empty())
        .filter(|part| passage.text.find(part).is_none_or(|at| at < place.end))
        .map(str::to_owned)
        .collect();
    let declared =
        cut.blocks.iter().skip(block).take_while(|one| one.whole.start < place.end).find(|one| {
            one.kind == Kind::Signature
                && one.whole.start >= place.start
                && one.whole.end <= place.end
        });
    if let Some(declared) = declared {
        let first = &passage.text[declared.lines.first()?.clone()];
        let name = shorten(first.trim_end_matches(['{', ':', ' ', ';', '(']));
        let line = passage.text[..declared.whole.start].rfind('\n').map_or(0, |at| at + 1);
        let indented = declared.whole.start > line;
        // Parts that stand in the quotation are what it declares, or within it.
        parts.retain(|part| {
            indented && passage.text.find(part.as_str()).is_none_or(|at| at < place.start)
        });
        parts.push(name);
    }
    (!parts.is_empty()).then(|| parts.join(SEPARATOR))
}

fn shorten(text: &str) -> String {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}
