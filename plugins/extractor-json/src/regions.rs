//! Where in a text to look for the answer: after the thinking, if its end is marked.
//! Looks at no value.

use std::ops::Range;

use crate::budget::Budget;
use crate::{inside, strict};

/// What ends a model's thinking.
const ENDS_OF_THINKING: [&str; 3] = ["</think>", "</thinking>", "</reasoning>"];

/// Where to look, first the likeliest: after the thinking, then everywhere.
pub fn regions<'a>(text: &'a str, names: &[String]) -> Vec<(&'a str, Option<&'static str>)> {
    let mut last = [None; ENDS_OF_THINKING.len()];
    let mut end = text.len();
    // One way back through the text for all marks, from bracket to bracket.
    while let Some(at) = text[..end].rfind('<')
        && last.contains(&None)
    {
        end = at;
        if !text[at..].starts_with("</") {
            continue;
        }
        for (mark, found) in ENDS_OF_THINKING.iter().zip(&mut last) {
            if found.is_none() && text[at..].starts_with(mark) {
                *found = Some(at + mark.len());
            }
        }
    }
    // A mark that stands inside of exact JSON, or of the answer, is only spoken of.
    let mut spoken: Vec<Range<usize>> = Vec::new();
    if let Some(start) = text.find(['{', '[']) {
        let mut budget = Budget::for_attempt(text.len() - start);
        let end = strict::end_of_value(text, start, &mut budget);
        spoken.extend(end.ok().map(|end| start..end));
    }
    if !names.is_empty() && last.iter().any(Option::is_some) {
        spoken.extend(inside::objects(text, names));
    }
    let after = last.into_iter().flatten();
    after
        .filter(|start| !spoken.iter().any(|json| json.contains(start)))
        .map(|start| (&text[start..], Some("the thinking before it was passed over")))
        .chain([(text, None)])
        .collect()
}
