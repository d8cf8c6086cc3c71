//! Finds the one value that was asked for in a model's output: exact JSON where
//! there is any that fits, repaired JSON where there is not.

use serde_json::Value;

use crate::budget::Budget;
use crate::node::Node;
use crate::quotes::near;
use crate::schema::{Schema, Wanted};
use crate::{exact, strict, tolerant};

/// White space after a bracket that is looked through.
const LONGEST_SPACE: usize = 2000;

/// A value that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extraction {
    /// Valid JSON.
    pub json: String,
    /// It did not stand in the text to the letter.
    pub repaired: bool,
    /// What was repaired or passed over.
    pub notes: Vec<String>,
}

/// Why there is no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The schema is not JSON.
    Schema(String),
    /// The text holds nothing that looks like JSON.
    Nothing,
    /// The nearest there is does not fit; what is wrong with it.
    Unfit(String),
}

/// Finds the value that fits `schema` in `text`.
pub fn extract(text: &str, schema: &str) -> Result<Extraction, Failure> {
    let schema = Schema::read(schema).map_err(|error| Failure::Schema(error.to_string()))?;
    let text = text.trim_start_matches('\u{feff}');
    let mut problem = None;
    for (region, note) in regions(text) {
        let mut search = Search { schema: &schema, best: None, problem: None };
        search.region(region);
        if let Some(mut found) = search.best {
            found.extraction.notes.extend(note.map(str::to_owned));
            return Ok(found.extraction);
        }
        problem = problem.or(search.problem);
    }
    Err(problem.map_or(Failure::Nothing, Failure::Unfit))
}

/// What ends a model's thinking.
const ENDS_OF_THINKING: [&str; 3] = ["</think>", "</thinking>", "</reasoning>"];

/// Where to look, first the likeliest: after the thinking, then everywhere.
fn regions(text: &str) -> Vec<(&str, Option<&'static str>)> {
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
    let after = last.into_iter().flatten();
    after
        .map(|start| (&text[start..], Some("the thinking before it was passed over")))
        .chain([(text, None)])
        .collect()
}

struct Search<'a> {
    schema: &'a Schema,
    best: Option<Found>,
    problem: Option<String>,
}

struct Found {
    extraction: Extraction,
    rank: Rank,
}

/// What makes one value the likelier answer, the weightiest first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    known_fields: usize,
    holds_objects: bool,
    complete: bool,
    filled: bool,
    exact: bool,
}

impl Search<'_> {
    fn region(&mut self, text: &str) {
        let trimmed = text.trim();
        if self.schema.wanted() == Wanted::Scalar {
            if serde_json::from_str::<Value>(trimmed).is_ok() {
                self.offer_exact(trimmed);
            }
            return;
        }
        // An answer that was put into a string, as a whole.
        if trimmed.starts_with('"')
            && let Ok(inner) = serde_json::from_str::<String>(trimmed)
        {
            self.scan(&inner, true);
            if let Some(found) = &mut self.best {
                found.extraction.repaired = true;
                found.extraction.notes.push("it stood inside a string".to_owned());
                return;
            }
        }
        self.scan(text, true);
        // Something before the answer may have been read as its beginning.
        if self.best.is_none() && self.problem.is_some() {
            self.scan(text, false);
        }
    }

    /// Tries every opening bracket; with `jump`, what was read is passed over.
    fn scan(&mut self, text: &str, jump: bool) {
        let mut failures = Budget::for_failures(text.len());
        let wanted = self.schema.wanted();
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() && !failures.is_spent() {
            let byte = bytes[at];
            let opens = match wanted {
                Wanted::Object => byte == b'{',
                Wanted::Array => byte == b'[',
                Wanted::Any | Wanted::Scalar => matches!(byte, b'{' | b'['),
            };
            if !opens || (byte == b'{' && !promising(bytes, at + 1)) {
                at += 1;
                continue;
            }
            let mut budget = Budget::for_attempt(text.len() - at);
            let (next, read) = self.attempt(text, at, &mut budget);
            if read && jump {
                at = next;
            } else {
                failures.spend(budget.spent());
                at = if read { at + 1 } else { next };
            }
        }
        if wanted == Wanted::Any && self.best.is_none() {
            self.arrays(text);
        }
    }

    /// Tries to read a value; returns where to go on, and whether one was read.
    fn attempt(&mut self, text: &str, at: usize, budget: &mut Budget) -> (usize, bool) {
        match strict::end_of_value(text, at, budget) {
            Ok(end) => {
                let exact = &text[at..end];
                match self.schema.misses(exact) {
                    Some(name) if self.problem.is_none() => {
                        self.problem = Some(format!("/{name} is missing"));
                    }
                    Some(_) => {}
                    None => self.offer_exact(exact),
                }
                return (end, true);
            }
            Err(strict::Failure::TooDeep(place)) => return (place.max(at + 1), false),
            Err(strict::Failure::Broken) => {}
        }
        if self.schema.wanted() == Wanted::Any && text.as_bytes()[at] == b'[' {
            return (at + 1, false);
        }
        if let Some(unescaped) = unescaped(text, at, budget) {
            let mut inner = Budget::for_attempt(unescaped.len());
            if let Ok(parsed) = tolerant::parse(&unescaped, 0, &mut inner) {
                self.offer_mended(&parsed, 0, Some("one layer of escapes was taken off"));
                return (text.len(), true);
            }
            budget.spend(inner.spent());
        }
        match tolerant::parse(text, at, budget) {
            Ok(parsed) => {
                self.offer_mended(&parsed, at, None);
                (parsed.end.max(at + 1), true)
            }
            Err(next) => (next, false),
        }
    }

    /// Where nothing else was found, a broken array may be what was meant.
    fn arrays(&mut self, text: &str) {
        let mut failures = Budget::for_failures(text.len());
        let mut at = 0;
        while let Some(next) = text[at..].find('[') {
            if failures.is_spent() || self.best.is_some() {
                return;
            }
            at += next;
            let mut budget = Budget::for_attempt(text.len() - at);
            if let Err(strict::Failure::TooDeep(place)) =
                strict::end_of_value(text, at, &mut budget)
            {
                failures.spend(budget.spent());
                at = place;
                continue;
            }
            match tolerant::parse(text, at, &mut budget) {
                Ok(parsed) => {
                    self.offer_mended(&parsed, at, None);
                    at = parsed.end.max(at + 1);
                }
                Err(next) => {
                    failures.spend(budget.spent());
                    at = next;
                }
            }
        }
    }

    /// Exact JSON, as it stands in the text.
    fn offer_exact(&mut self, json: &str) {
        let Some(node) = exact::read(json) else {
            return;
        };
        if let Some(rank) = self.rank(&node, true, true) {
            let extraction =
                Extraction { json: json.to_owned(), repaired: false, notes: Vec::new() };
            self.best = Some(Found { extraction, rank });
        }
    }

    /// What was read from `start` on, with a note of what was done before.
    fn offer_mended(
        &mut self,
        parsed: &tolerant::Parsed,
        start: usize,
        before: Option<&'static str>,
    ) {
        if parsed.out_of_range && !parsed.node.is_in_range() {
            return;
        }
        if let Some(rank) = self.rank(&parsed.node, false, !parsed.truncated) {
            let mut json = String::with_capacity(parsed.end.saturating_sub(start));
            parsed.node.write(&mut json);
            let mut notes: Vec<String> =
                before.iter().chain(&parsed.notes).map(|note| (*note).to_owned()).collect();
            // All other repairs leave a note of their own.
            if notes.is_empty() {
                notes.push("commas were mended".to_owned());
            }
            let extraction = Extraction { json, repaired: true, notes };
            self.best = Some(Found { extraction, rank });
        }
    }

    /// The rank of a value that fits and is likelier than what there is.
    fn rank(&mut self, value: &Node, exact: bool, complete: bool) -> Option<Rank> {
        if let Some(problem) = self.schema.problem(value) {
            self.problem.get_or_insert(problem);
            return None;
        }
        let rank = Rank {
            known_fields: self.schema.known_fields(value),
            holds_objects: match value {
                Node::Object(_) => true,
                Node::Array(items) => items.iter().any(|item| matches!(item, Node::Object(_))),
                _ => false,
            },
            complete,
            filled: match value {
                Node::Object(fields) => !fields.is_empty(),
                Node::Array(items) => !items.is_empty(),
                _ => true,
            },
            exact,
        };
        // Of equals the last is a model's last word; without names to go by, the
        // first is what the text is about.
        let later_wins = self.schema.names_fields();
        let better = match &self.best {
            None => true,
            Some(best) => rank > best.rank || (later_wins && rank == best.rank),
        };
        better.then_some(rank)
    }
}

/// Whether the inside of an object can begin here. Most braces in prose and noise
/// end at this look.
fn promising(bytes: &[u8], at: usize) -> bool {
    let inside = &bytes[at.min(bytes.len())..(at + LONGEST_SPACE).min(bytes.len())];
    let first = inside.iter().find(|byte| !byte.is_ascii_whitespace());
    first.is_none_or(|byte| {
        byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"\"'`_$-./#,]}@\\".contains(byte)
    })
}

/// `{\"a\": 1}`: a whole object with one layer of escapes too many.
fn unescaped(text: &str, at: usize, budget: &mut Budget) -> Option<String> {
    let inner = near(&text[at + 1..], LONGEST_SPACE).trim_start();
    if !inner.starts_with("\\\"") && !inner.starts_with("\\n") {
        return None;
    }
    budget.spend((text.len() - at) * 2);
    let mut out = String::with_capacity(text.len() - at);
    let mut rest = &text[at..];
    while let Some(slash) = rest.find('\\') {
        out.push_str(&rest[..slash]);
        rest = &rest[slash + 1..];
        let Some(next) = rest.chars().next() else {
            break;
        };
        match next {
            '"' | '\\' | '/' => out.push(next),
            'n' => out.push('\n'),
            't' => out.push('\t'),
            other => {
                out.push('\\');
                out.push(other);
            }
        }
        rest = &rest[next.len_utf8()..];
    }
    out.push_str(rest);
    Some(out)
}
