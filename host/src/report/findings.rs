//! Findings as a list: the words, the number of the source, and the place.

use std::fmt::Write as _;

use super::citations::{Citations, place};
use super::markdown::{Block, blocks, fence_lines, inline};
use crate::plugins::contract::Finding;

/// Whether the answer says no more than the findings do.
pub fn restates(answer: &str, findings: &[Finding]) -> bool {
    let letters = |text: &str| -> String {
        text.chars().filter(|character| character.is_alphabetic()).collect()
    };
    let whole = letters(answer);
    let mut rest = whole.clone();
    for finding in findings {
        for part in [letters(&finding.text), letters(&finding.source.url)] {
            if !part.is_empty() {
                rest = rest.replace(&part, "");
            }
        }
    }
    rest.len() * 10 <= whole.len()
}

/// A finding as a list item: its words, its number, and the place.
pub fn bullet(finding: &Finding, citations: &Citations) -> String {
    let cited = format!("{} {}", citations.mark(&finding.source), place(&finding.source));
    let mut parts = blocks(&finding.text).into_iter().peekable();
    let mut item = match parts.peek() {
        Some(Block::Paragraph(text) | Block::Item(text)) => {
            let first = format!("- {text} {cited}");
            parts.next();
            first
        }
        _ => format!("- {cited}"),
    };
    let mut listing = false;
    for part in parts {
        let (text, is_item) = match part {
            Block::Paragraph(text) => (format!("  {text}"), false),
            Block::Item(text) => (format!("  - {text}"), true),
            Block::Table(rows) => (format!("  {}", rows.join("\n  ")), false),
            Block::Code { language, text } => (fence_lines(&language, &text, "  "), false),
        };
        item.push_str(if listing && is_item { "\n" } else { "\n\n" });
        listing = is_item;
        item.push_str(&text);
    }
    if !says_the_same(&finding.quote, &finding.text) {
        let _ = write!(item, "\n\n  > “{}”", inline(&finding.quote));
    }
    item
}

/// Whether the finding is the source's own words, but for marks and line ends;
/// then they need not be quoted beside it.
fn says_the_same(quote: &str, text: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        text.split(|character: char| !character.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect()
    };
    let quoted = words(quote);
    let told = words(text);
    let shared = told.iter().filter(|word| quoted.contains(word)).count();
    quoted.is_empty() || shared * 5 >= told.len() * 4
}
