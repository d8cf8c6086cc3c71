//! Finds the one value that was asked for in a model's output: exact JSON where
//! there is any that fits, repaired JSON where there is not.

use serde_json::Value;

use crate::budget::Budget;
use crate::inside::Texts;
use crate::lists::Lists;
use crate::node::Node;
use crate::quotes::near;
use crate::regions::regions;
use crate::schema::{Schema, Wanted};
use crate::tolerant::Manner;
use crate::{exact, strict, tolerant};

/// White space after a bracket that is looked through.
pub const LONGEST_SPACE: usize = 2000;

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
    for (region, note) in regions(text, schema.names()) {
        let mut search = Search {
            schema: &schema,
            best: None,
            last: None,
            problem: None,
            values: 0,
            last_word: 0,
        };
        search.region(region);
        if let Some(mut found) = search.best {
            found.extraction.notes.extend(note.map(str::to_owned));
            return Ok(found.extraction);
        }
        problem = problem.or(search.problem);
    }
    Err(problem.map_or(Failure::Nothing, Failure::Unfit))
}

struct Search<'a> {
    schema: &'a Schema,
    best: Option<Found>,
    /// Where the last value stands that would do as well as the best.
    last: Option<Last>,
    problem: Option<String>,
    /// Bytes of the values that were read.
    values: usize,
    /// Where the text ends, but for white space and the closing of a fence.
    last_word: usize,
}

struct Found {
    extraction: Extraction,
    rank: Rank,
    start: usize,
}

struct Last {
    start: usize,
    end: usize,
    /// Bytes before it that belong to no value.
    talk: usize,
}

/// A value that was read, and where.
struct Read<'a> {
    node: &'a Node<'a>,
    start: usize,
    end: usize,
    complete: bool,
    quoted: bool,
    exact: bool,
    /// The field whose text was cut off.
    cut: Option<&'a str>,
    place: Surroundings,
}

/// Where a value stands.
#[derive(Debug, Clone, Copy, Default)]
struct Surroundings {
    /// In brackets: one of a list.
    listed: bool,
    /// Right after the opening of a `json` fence.
    fenced: bool,
    /// At the beginning of a line.
    leads: bool,
}

/// What makes one value the likelier answer, the weightiest first.
///
/// Where fields are asked for by name, what fits has them all, and of those the
/// last complete one is the answer: a draft, an example out of the prompt or the
/// result of the round before may stand in front of it, however well written,
/// and nothing but a broken-off attempt behind it. Only what is handed over in a
/// fence is not taken back by what is quoted in the talk after it. Where no names are given, the
/// first is what the text is about, and how a value stands there tells more.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    known_fields: usize,
    standing: Standing,
    /// Its names stand in quotation marks, as in no formula and no code; or the
    /// first one is among those that were asked for.
    sound: bool,
    complete: bool,
    /// In a fence; or, where fields are asked for by name, on lines of its own
    /// with which the text ends.
    fenced: bool,
    exact: bool,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    /// A list without objects: a reference, a few steps, a remark in brackets.
    Plain,
    Empty,
    /// An object in a list, or the list itself.
    Listed,
    Alone,
}

/// What is thought of a value.
enum Judgement {
    Unfit,
    Worse,
    Better(Rank),
}

/// What came of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// What stands there is no value.
    Nothing,
    Unfit,
    /// It is exact JSON, but not what was asked for.
    Other,
    /// It is the answer, but not complete: what stands in it is no other one.
    Own,
    Fits,
}

/// Talk before the last of several values from which on it is thinking, and the
/// last value its outcome; in bytes.
const MUCH_TALK: usize = 300;

impl Search<'_> {
    fn region(&mut self, text: &str) {
        let trimmed = text.trim();
        if self.schema.wanted() == Wanted::Scalar {
            if serde_json::from_str::<Value>(trimmed).is_ok() {
                let _ = self.offer_exact(trimmed, 0, Surroundings::default());
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

    /// Tries every opening bracket; what fits is passed over, and with `jump` also
    /// what does not.
    fn scan(&mut self, text: &str, jump: bool) {
        let mut failures = Budget::for_failures(text.len());
        let mut lists = Lists::new(text);
        let wanted = self.schema.wanted();
        let bytes = text.as_bytes();
        let mut at = 0;
        let mut texts = Texts::new(text, self.schema.names());
        (self.last, self.values) = (None, 0);
        self.last_word =
            text.trim_end_matches(|mark: char| mark.is_whitespace() || mark == '`').len();
        while at < bytes.len() && !failures.is_spent() {
            if let Some(end) = texts.pass(at) {
                at = end;
                continue;
            }
            let byte = bytes[at];
            let opens = match wanted {
                Wanted::Object => byte == b'{',
                Wanted::Array => byte == b'[',
                Wanted::Any | Wanted::Scalar => matches!(byte, b'{' | b'['),
            };
            if byte == b'[' && self.schema.names().is_empty() {
                lists.open(at);
            }
            if !opens || (byte == b'{' && !promising(bytes, at + 1)) {
                at += 1;
                continue;
            }
            let mut budget = Budget::for_attempt(text.len() - at);
            let place = Surroundings { listed: lists.hold(at), ..surroundings(text, at) };
            let (next, outcome) = self.attempt(text, at, place, &mut budget);
            if outcome != Outcome::Nothing {
                self.values += next - at;
            }
            // What is passed over pays for the work that its length allows.
            let pass = match outcome {
                Outcome::Nothing => false,
                Outcome::Unfit | Outcome::Other => jump,
                Outcome::Own | Outcome::Fits => true,
            };
            if outcome == Outcome::Other && !pass {
                texts.enter(next);
            }
            if pass && next > at + 1 {
                failures.spend(budget.spent_beyond(next - at));
                at = next;
            } else {
                failures.spend(budget.spent());
                at = if outcome == Outcome::Nothing { next } else { at + 1 };
            }
        }
        if wanted == Wanted::Any && self.best.is_none() {
            self.arrays(text);
        }
        if jump {
            self.take_last_word(text);
        }
    }

    /// After much thinking the last value is the answer, when the text ends with
    /// it, or all but ends and did not begin with a value.
    fn take_last_word(&mut self, text: &str) {
        let (Some(last), Some(best)) = (self.last.take(), &self.best) else {
            return;
        };
        if last.start <= best.start || last.talk < MUCH_TALK {
            return;
        }
        let silent = |character: char| character.is_whitespace() || "`.*".contains(character);
        let tail = text[last.end..].trim_matches(silent).len();
        if tail > 0 && (tail > last.talk / 4 || best.start < MUCH_TALK / 4) {
            return;
        }
        let before = self.best.take();
        let place = surroundings(text, last.start);
        let mut budget = Budget::for_attempt(text.len() - last.start);
        self.attempt(text, last.start, place, &mut budget);
        if self.best.is_none() {
            self.best = before;
        }
    }

    /// Tries to read a value; returns where to go on, and what came of it.
    fn attempt(
        &mut self,
        text: &str,
        at: usize,
        place: Surroundings,
        budget: &mut Budget,
    ) -> (usize, Outcome) {
        match strict::end_of_value(text, at, budget) {
            Ok(end) => {
                let exact = &text[at..end];
                let Some(name) = self.schema.misses(exact) else {
                    let outcome = self.offer_exact(exact, at, place);
                    return (end, if outcome == Outcome::Fits { outcome } else { Outcome::Other });
                };
                if self.problem.is_none() {
                    self.problem = Some(format!("/{name} is missing"));
                }
                return (end, Outcome::Other);
            }
            Err(strict::Failure::TooDeep(place)) => return (place.max(at + 1), Outcome::Nothing),
            Err(strict::Failure::Broken) => {}
        }
        if self.schema.wanted() == Wanted::Any && text.as_bytes()[at] == b'[' {
            return (at + 1, Outcome::Nothing);
        }
        let manner = Manner { names: self.schema.names(), nesting: true };
        if let Some(unescaped) = unescaped(text, at, budget) {
            let mut inner = Budget::for_attempt(unescaped.len());
            if let Ok(parsed) = tolerant::parse(&unescaped, 0, manner, &mut inner) {
                let read = Read { start: at, end: text.len(), ..Read::mended(&parsed, 0, place) };
                let note = Some("one layer of escapes was taken off");
                let outcome = self.offer_mended(&parsed, &read, note);
                return (text.len(), self.look_inside(&parsed, &read, outcome));
            }
            budget.spend(inner.spent());
        }
        let parsed = match tolerant::parse(text, at, manner, budget) {
            Ok(parsed) => parsed,
            Err(next) => return (next, Outcome::Nothing),
        };
        let mut outcome = self.offer_mended(&parsed, &Read::mended(&parsed, at, place), None);
        let mut end = self.end_of(&parsed, at, outcome);
        // What opens inside a string may never close: then its quotation marks
        // are taken as they come. But when the string itself never closes, those
        // are not its own.
        let unclosed = self.schema.names().is_empty() || (parsed.unbalanced && !parsed.half);
        if parsed.nested && unclosed && (outcome == Outcome::Unfit || parsed.truncated) {
            let manner = Manner { nesting: false, ..manner };
            let mut again = Budget::for_attempt(text.len() - at);
            let second = tolerant::parse(text, at, manner, &mut again);
            budget.spend(again.spent());
            if let Ok(parsed) = second
                && self.offer_mended(&parsed, &Read::mended(&parsed, at, place), None)
                    == Outcome::Fits
            {
                end = self.end_of(&parsed, at, Outcome::Fits);
                outcome = Outcome::Fits;
            }
        }
        if outcome == Outcome::Unfit {
            outcome = self.look_inside(&parsed, &Read::mended(&parsed, at, place), outcome);
            if outcome != Outcome::Unfit {
                end = parsed.end;
            }
        }
        (end.max(at + 1), outcome)
    }

    /// Looks for the answer among the objects in what begins as an answer and does
    /// not fit. Its texts are left alone: what they quote, others have said.
    fn look_inside(&mut self, parsed: &tolerant::Parsed, read: &Read, outcome: Outcome) -> Outcome {
        let begins = match &parsed.node {
            Node::Object(fields) => fields.first().map(|(name, _)| name).or(parsed.cut.as_ref()),
            _ => None,
        };
        let own = parsed.quoted && begins.is_some_and(|name| self.schema.knows(name));
        if outcome != Outcome::Unfit || !own {
            return outcome;
        }
        if self.offer_parts(parsed, read) { Outcome::Fits } else { Outcome::Own }
    }

    fn offer_parts(&mut self, parsed: &tolerant::Parsed, whole: &Read) -> bool {
        let place = Surroundings::default();
        let mut offer = |part: &Node| {
            let read = Read { node: part, cut: None, place, ..*whole };
            matches!(part, Node::Object(_))
                && self.offer_mended(parsed, &read, None) == Outcome::Fits
                || self.offer_parts(parsed, &read)
        };
        match whole.node {
            Node::Object(fields) => fields.iter().any(|(_, field)| offer(field)),
            Node::Array(items) => items.iter().any(offer),
            _ => false,
        }
    }

    /// Where to go on after broken JSON. A brace in prose may be read as the
    /// beginning of the answer that follows: the object begins with a name that
    /// nobody asked for, or goes on as prose does and is never closed.
    /// Then the answer is looked for inside.
    fn end_of(&self, parsed: &tolerant::Parsed, start: usize, outcome: Outcome) -> usize {
        let complete = parsed.closed && !parsed.truncated;
        let sound = complete && outcome == Outcome::Fits && parsed.quoted && !parsed.bare;
        let prose = (self.schema.begins_strangely(&parsed.node) && !sound)
            || (!complete && (parsed.phrases || parsed.bare && parsed.quoted));
        if prose { start + 1 } else { parsed.end }
    }

    /// Where nothing else was found, a broken array may be what was meant.
    fn arrays(&mut self, text: &str) {
        let mut failures = Budget::for_failures(text.len());
        let manner = Manner { names: self.schema.names(), nesting: true };
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
            match tolerant::parse(text, at, manner, &mut budget) {
                Ok(parsed) => {
                    let read = Read::mended(&parsed, at, Surroundings::default());
                    self.offer_mended(&parsed, &read, None);
                    at = parsed.end.max(at + 1);
                }
                Err(next) => {
                    failures.spend(budget.spent());
                    at = next;
                }
            }
        }
    }

    /// Exact JSON, as it stands in the text from `start` on.
    fn offer_exact(&mut self, json: &str, start: usize, place: Surroundings) -> Outcome {
        let Some(node) = exact::read(json) else {
            return Outcome::Unfit;
        };
        let end = start + json.len();
        let read = Read {
            node: &node,
            start,
            end,
            complete: true,
            quoted: true,
            exact: true,
            cut: None,
            place,
        };
        let rank = match self.judge(&read) {
            Judgement::Unfit => return Outcome::Unfit,
            Judgement::Worse => return Outcome::Fits,
            Judgement::Better(rank) => rank,
        };
        let extraction = Extraction { json: json.to_owned(), repaired: false, notes: Vec::new() };
        self.best = Some(Found { extraction, rank, start });
        Outcome::Fits
    }

    /// What was read from broken JSON, with a note of what was done before.
    fn offer_mended(
        &mut self,
        parsed: &tolerant::Parsed,
        read: &Read,
        before: Option<&'static str>,
    ) -> Outcome {
        if parsed.out_of_range && !parsed.node.is_in_range() {
            return Outcome::Unfit;
        }
        if parsed.ambiguous {
            self.problem.get_or_insert_with(|| "a field is there twice".to_owned());
            return Outcome::Unfit;
        }
        let rank = match self.judge(read) {
            Judgement::Unfit => return Outcome::Unfit,
            Judgement::Worse => return Outcome::Fits,
            Judgement::Better(rank) => rank,
        };
        let mut json = String::with_capacity(parsed.end.min(read.end - read.start));
        read.node.write(&mut json);
        let mut notes: Vec<String> =
            before.iter().chain(&parsed.notes).map(|note| (*note).to_owned()).collect();
        // All other repairs leave a note of their own.
        if notes.is_empty() {
            notes.push("commas were mended".to_owned());
        }
        let extraction = Extraction { json, repaired: true, notes };
        self.best = Some(Found { extraction, rank, start: read.start });
        Outcome::Fits
    }

    /// Whether a value fits, and is likelier than what there is.
    fn judge(&mut self, read: &Read) -> Judgement {
        if let Some(problem) = self.schema.problem(read.node) {
            match read.cut {
                // It tells more than what other values lack.
                Some(cut) if problem == format!("/{cut} is missing") => {
                    self.problem = Some(format!("/{cut} is cut off"));
                }
                _ => drop(self.problem.get_or_insert(problem)),
            }
            return Judgement::Unfit;
        }
        let named = !self.schema.names().is_empty();
        let rank = Rank {
            known_fields: if self.schema.requires_fields() {
                0
            } else {
                self.schema.known_fields(read.node)
            },
            standing: match read.node {
                _ if named => Standing::Alone,
                Node::Object(fields) if fields.is_empty() => Standing::Empty,
                Node::Object(_) if read.place.listed => Standing::Listed,
                Node::Object(_) => Standing::Alone,
                Node::Array(items) if items.iter().any(|item| matches!(item, Node::Object(_))) => {
                    Standing::Listed
                }
                _ => Standing::Plain,
            },
            sound: if named {
                read.exact || !self.schema.begins_strangely(read.node)
            } else {
                read.quoted
            },
            complete: read.complete,
            fenced: read.place.fenced || (named && read.place.leads && read.end >= self.last_word),
            exact: !named && read.exact,
        };
        if !named && rank.standing == Standing::Alone {
            let talk = read.start.saturating_sub(self.values);
            self.last = Some(Last { start: read.start, end: read.end, talk });
        }
        match &self.best {
            Some(best) if rank < best.rank || (!named && rank == best.rank) => Judgement::Worse,
            _ => Judgement::Better(rank),
        }
    }
}

impl<'a> Read<'a> {
    fn mended(parsed: &'a tolerant::Parsed, start: usize, place: Surroundings) -> Self {
        Read {
            node: &parsed.node,
            start,
            end: parsed.end,
            complete: parsed.closed && !parsed.truncated,
            quoted: parsed.quoted,
            exact: false,
            cut: parsed.cut.as_deref(),
            place,
        }
    }
}

/// What stands right before: the opening of a `json` fence, the end of a line.
fn surroundings(text: &str, at: usize) -> Surroundings {
    let line = text[..at].trim_end_matches([' ', '\t']);
    let before = line.trim_end_matches([' ', '\n', '\r', '\t']);
    let fences = ["```json", "```JSON", "```json5", "```jsonc"];
    Surroundings {
        listed: false,
        fenced: fences.iter().any(|fence| before.ends_with(fence)),
        leads: line.is_empty() || line.ends_with('\n'),
    }
}

/// Whether the inside of an object can begin here. Most braces in prose and noise
/// end at this look.
fn promising(bytes: &[u8], at: usize) -> bool {
    let inside = &bytes[at.min(bytes.len())..(at + LONGEST_SPACE).min(bytes.len())];
    let first = inside.iter().find(|byte| !byte.is_ascii_whitespace());
    first.is_none_or(|byte| {
        matches!(byte, b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | 0x80..)
            || matches!(byte, b'"' | b'\'' | b'`' | b'_' | b'$' | b'-' | b'.' | b'/' | b'#')
            || matches!(byte, b',' | b']' | b'}' | b'@' | b'\\')
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
