//! What stands inside an answer is not an answer: the texts of the fields that
//! were asked for may quote anything, whole answers of other people too. Says
//! where such texts are, so that nothing is looked for in them.

use std::ops::Range;

use crate::budget::Budget;
use crate::find::LONGEST_SPACE;
use crate::node::Node;
use crate::quotes::{self, is_quote, near, trim_start};
use crate::tolerant::{Manner, Parsed};
use crate::{strict, tolerant};

/// How a model's thinking is marked.
const THINKING: [(&str, &str); 3] =
    [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>")];

/// Passes over the texts of known fields while exact JSON that does not fit is
/// searched for an answer that it wraps. A text of another field may be the wrapped
/// answer itself.
pub struct Texts<'a> {
    text: &'a str,
    /// The names that the schema knows, sorted; empty when it names none.
    names: &'a [String],
    /// Where the exact JSON ends.
    end: usize,
    /// The end of a string that is searched.
    string: usize,
    /// The last name is known.
    known: bool,
}

impl<'a> Texts<'a> {
    pub fn new(text: &'a str, names: &'a [String]) -> Self {
        Self { text, names, end: 0, string: 0, known: false }
    }

    /// From here to `end` there is exact JSON.
    pub fn enter(&mut self, end: usize) {
        if end > self.end && !self.names.is_empty() {
            (self.end, self.known) = (end, false);
        }
    }

    /// The end of what stands at `at`, if it is a name or the text of a known field.
    pub fn pass(&mut self, at: usize) -> Option<usize> {
        if at >= self.end || at < self.string || self.text.as_bytes()[at] != b'"' {
            return None;
        }
        let mut budget = Budget::for_attempt(self.end - at);
        let end = strict::end_of_value(self.text, at, &mut budget).ok()?;
        if trim_start(&self.text[end..]).starts_with(':') {
            let name = &self.text[at + 1..end - 1];
            self.known = self.names.binary_search_by(|known| known.as_str().cmp(name)).is_ok();
            return Some(end);
        }
        if self.known {
            return Some(end);
        }
        self.string = end;
        None
    }
}

/// Where the objects stand that no mark of thinking may cut in two: exact ones, and
/// broken ones that begin as what was asked for, or hold it. What is marked as thinking from
/// its beginning is passed over.
pub fn objects(text: &str, names: &[String]) -> Vec<Range<usize>> {
    let mut failures = Budget::for_failures(text.len());
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].find(['{', '<']) {
        at += next;
        if failures.is_spent() {
            // Too much is broken to tell; then no mark is trusted.
            found.push(at..text.len());
            break;
        }
        if let Some(end) = end_of_thinking(text, at, &mut failures) {
            at = end;
            continue;
        }
        let mut budget = Budget::for_attempt(text.len() - at);
        if let Some(end) = end_of_object(text, at, names, &mut budget) {
            failures.spend(budget.spent_beyond(end - at));
            found.push(at..end);
            at = end;
        } else {
            failures.spend(budget.spent());
            at += 1;
        }
    }
    found
}

fn end_of_thinking(text: &str, at: usize, budget: &mut Budget) -> Option<usize> {
    let (open, close) = THINKING.iter().find(|(open, _)| text[at..].starts_with(open))?;
    let inside = &text[at + open.len()..];
    let end = inside.find(close);
    budget.spend(end.unwrap_or(inside.len()) / 8);
    end.map(|end| at + open.len() + end + close.len())
}

fn end_of_object(text: &str, at: usize, names: &[String], budget: &mut Budget) -> Option<usize> {
    let inside = text[at..].strip_prefix('{')?;
    let first = trim_start(near(inside, LONGEST_SPACE)).trim_start_matches('\\');
    if !first.starts_with(is_quote) {
        return None;
    }
    if let Ok(end) = strict::end_of_value(text, at, budget) {
        return Some(end);
    }
    let manner = Manner { names, nesting: true };
    let parsed = tolerant::parse(text, at, manner, budget).ok()?;
    let own = quotes::knows(names, first) || is_whole(&parsed, names);
    own.then_some(parsed.end.max(at + 1))
}

/// Whether it is an object to its end, with fields that were asked for.
fn is_whole(parsed: &Parsed, names: &[String]) -> bool {
    let Node::Object(fields) = &parsed.node else {
        return false;
    };
    let known = |name: &str| names.binary_search_by(|known| known.as_str().cmp(name)).is_ok();
    parsed.closed && !parsed.truncated && !parsed.bare && fields.iter().any(|(name, _)| known(name))
}
