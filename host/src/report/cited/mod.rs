//! A report that a research backend wrote, with its citations resolved. Vendors say
//! in two ways what a sentence rests on: by ranges beside the text, and by marks in
//! it (`[cite: 1, 2]`). Both become one kind of number here, counted by first use,
//! the same source always the same.
//!
//! What a vendor says may be wrong: a range may lie outside the text, cut a
//! character or a link, or stand in code. Then the number moves to a place where it
//! can stand, and the text stays whole.
//!
//! ```text
//! marks   finds the marks in the text
//! layout  where in Markdown a number may stand
//! list    the list of sources that the report itself ends with
//! edits   what is taken out of the text, and what is put in
//! ```

mod edits;
mod layout;
mod list;
mod marks;

use std::collections::HashMap;
use std::ops::Range;

use super::Outcome;
use crate::plugins::contract::Source;
use edits::{Edit, Edits};
use layout::Layout;
use marks::{Mark, Meaning};

/// How a number is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `[1]`, to be read as it is.
    Brackets,
    /// `[^1]`, for what makes links of it.
    Footnotes,
}

impl Form {
    pub fn mark(self, number: usize) -> String {
        match self {
            Self::Brackets => format!("[{number}]"),
            Self::Footnotes => format!("[^{number}]"),
        }
    }
}

/// A report with its numbers.
#[derive(Debug)]
pub struct Cited {
    /// The report's own words, without the marks and the list it ended with.
    pub text: String,
    /// What the text cites, from 1 on.
    pub numbered: Vec<Source>,
    /// What else was looked at.
    pub others: Vec<Source>,
    /// How often each number is used.
    pub uses: Vec<usize>,
}

impl Cited {
    /// None where the answer has no citations to resolve: it is then to be shown as
    /// it is.
    pub fn new(outcome: &Outcome, form: Form) -> Option<Self> {
        if !outcome.findings.is_empty() {
            return None;
        }
        let text = outcome.answer.as_str();
        if outcome.citations.is_empty() && marks::find(text).is_empty() {
            return None;
        }
        let (body, listed) = list::split(text);
        let layout = Layout::of(body);
        let mut edits = Edits::default();
        let (marks, marked_links) = standing(marks::find(body), &layout);

        let annotations = placed(outcome, body, &marks);
        let mut sources = Sources::new(outcome, listed);
        sources.learn(&marks, &annotations.by_mark);
        for (index, mark) in marks.iter().enumerate() {
            let link = marked_links.get(&index);
            let cited = sources.of_mark(mark, &annotations.by_mark[index], link);
            for edit in cited.edits(mark, &layout) {
                edits.push(edit);
            }
        }
        for (position, source) in annotations.alone {
            if let Some(position) = layout.place(body, position) {
                edits.push(Edit::cite(position..position, vec![sources.index(&source)]));
            }
        }
        if form == Form::Footnotes {
            // What the report itself writes as a footnote would lead to one of ours.
            for (position, _) in body.match_indices("[^") {
                if !layout.is_code(position) {
                    edits.push(Edit::words(position..position, "\\"));
                }
            }
        }
        let applied = edits.apply(body, form);
        let mut uses = vec![0; applied.order.len()];
        for number in applied.used {
            uses[number - 1] += 1;
        }
        let (numbered, others) = sources.numbered(&applied.order);
        Some(Self { text: applied.text, numbered, others, uses })
    }
}

/// The marks that mean something: not those in code, nor those in a link's target.
/// One that is itself a link says by its target what it cites.
fn standing(marks: Vec<Mark>, layout: &Layout) -> (Vec<Mark>, HashMap<usize, Source>) {
    let mut standing = Vec::new();
    let mut links = HashMap::new();
    for mut mark in marks {
        if layout.is_code(mark.range.start) || layout.is_target(&mark.range) {
            continue;
        }
        if let Some(link) = layout.link_beginning_at(mark.range.start) {
            links.insert(
                standing.len(),
                Source {
                    url: link.target.clone(),
                    title: String::new(),
                    location: None,
                    published: None,
                    extra: Vec::new(),
                },
            );
            mark.range.end = mark.range.end.max(link.range.end);
        }
        standing.push(mark);
    }
    (standing, links)
}

/// The ranges that the vendor gave, each with the mark it belongs to, or alone.
struct Annotations {
    by_mark: Vec<Vec<Source>>,
    alone: Vec<(usize, Source)>,
}

/// Bytes between the end of a range and the mark that belongs to it: a full stop, a
/// quotation mark, a space.
const GAP: usize = 6;

fn placed(outcome: &Outcome, body: &str, marks: &[Mark]) -> Annotations {
    let mut annotations = Annotations { by_mark: vec![Vec::new(); marks.len()], alone: Vec::new() };
    for citation in &outcome.citations {
        let (start, end) = (citation.start as usize, citation.end as usize);
        let range: Range<usize> = start.min(end)..start.max(end);
        // Past the text, or in the list that it ends with: the source is known, but
        // not what rests on it.
        if range.start >= body.len() {
            continue;
        }
        let start = body.floor_char_boundary(range.start);
        let end = body.ceil_char_boundary(range.end.min(body.len()));
        let next = marks.partition_point(|mark| mark.range.start < end);
        let follows = marks.get(next).is_some_and(|mark| {
            mark.cites()
                && mark.range.start - end <= GAP
                && body[end..mark.range.start]
                    .chars()
                    .all(|character| character == ' ' || ".,;:!?)\"'”’»".contains(character))
        });
        let covered = (0..next)
            .rev()
            .take_while(|index| marks[*index].range.end > start)
            .find(|index| marks[*index].cites());
        let mark = if follows { Some(next) } else { covered };
        match mark {
            Some(mark) => annotations.by_mark[mark].push(citation.source.clone()),
            None => annotations.alone.push((end, citation.source.clone())),
        }
    }
    annotations
}

/// Everything that can be cited, each place once.
struct Sources {
    known: Vec<Source>,
    by_reference: HashMap<String, usize>,
    /// By the number that the report's own list gives it.
    listed: HashMap<u32, usize>,
    /// By the number of a mark whose ranges told what it means.
    learned: HashMap<u32, usize>,
    /// The backend's own order.
    in_order: Vec<usize>,
}

impl Sources {
    fn new(outcome: &Outcome, listed: Vec<(u32, Source)>) -> Self {
        let mut sources = Self {
            known: Vec::new(),
            by_reference: HashMap::new(),
            listed: HashMap::new(),
            learned: HashMap::new(),
            in_order: Vec::new(),
        };
        for source in &outcome.sources {
            let index = sources.index(source);
            sources.in_order.push(index);
        }
        for citation in &outcome.citations {
            sources.index(&citation.source);
        }
        for (number, source) in listed {
            let index = sources.index(&source);
            sources.listed.entry(number).or_insert(index);
        }
        sources
    }

    fn index(&mut self, source: &Source) -> usize {
        let next = self.known.len();
        let index = *self.by_reference.entry(source.reference()).or_insert(next);
        if index == next {
            self.known.push(source.clone());
        } else if self.known[index].title.trim().is_empty() {
            self.known[index].title.clone_from(&source.title);
        }
        index
    }

    /// A mark of two numbers with two ranges tells what both numbers mean.
    fn learn(&mut self, marks: &[Mark], by_mark: &[Vec<Source>]) {
        for (mark, annotated) in marks.iter().zip(by_mark) {
            let Meaning::Numbers(numbers) = &mark.meaning else { continue };
            let indices = self.indices(annotated);
            if indices.len() == numbers.len() {
                for (number, index) in numbers.iter().zip(indices) {
                    self.learned.entry(*number).or_insert(index);
                }
            }
        }
    }

    fn indices(&mut self, sources: &[Source]) -> Vec<usize> {
        let mut indices = Vec::new();
        for source in sources {
            let index = self.index(source);
            if !indices.contains(&index) {
                indices.push(index);
            }
        }
        indices
    }

    fn of_mark(&mut self, mark: &Mark, annotated: &[Source], link: Option<&Source>) -> Resolved {
        let mut resolved = Resolved { cited: self.indices(annotated), unknown: Vec::new() };
        if let Some(link) = link {
            resolved.add(self.index(link));
            return resolved;
        }
        match &mark.meaning {
            Meaning::Words(words) => {
                if resolved.cited.is_empty() {
                    resolved.unknown.push(words.clone());
                }
            }
            Meaning::Numbers(numbers) if resolved.cited.len() < numbers.len() => {
                let annotated = !resolved.cited.is_empty();
                for number in numbers {
                    let named = self.listed.get(number).or_else(|| self.learned.get(number));
                    let counted = || {
                        let place = (*number as usize).checked_sub(1)?;
                        self.in_order.get(place).filter(|_| !annotated)
                    };
                    match named.or_else(counted) {
                        Some(index) => resolved.add(*index),
                        None if annotated => {}
                        None => resolved.unknown.push(number.to_string()),
                    }
                }
            }
            Meaning::Numbers(_) | Meaning::Nothing => {}
        }
        resolved
    }

    fn numbered(self, order: &[usize]) -> (Vec<Source>, Vec<Source>) {
        let mut known: Vec<Option<Source>> = self.known.into_iter().map(Some).collect();
        let numbered = order.iter().filter_map(|index| known[*index].take()).collect();
        (numbered, known.into_iter().flatten().collect())
    }
}

/// What a mark comes to.
struct Resolved {
    cited: Vec<usize>,
    /// What it says that leads nowhere.
    unknown: Vec<String>,
}

impl Resolved {
    fn add(&mut self, index: usize) {
        if !self.cited.contains(&index) {
            self.cited.push(index);
        }
    }

    fn edits(self, mark: &Mark, layout: &Layout) -> Vec<Edit> {
        // A number inside a link's words would be a link in a link.
        let position = layout.link_around(&mark.range).map_or(mark.range.end, |link| link.end);
        let moved = position > mark.range.end;
        let words = (!self.unknown.is_empty()).then(|| format!("[{}]", self.unknown.join(", ")));
        let range = if moved { position..position } else { mark.range.clone() };
        let mut edits = vec![Edit { range, words, cited: self.cited }];
        if moved {
            edits.insert(0, Edit::words(mark.range.clone(), ""));
        }
        edits
    }
}

#[cfg(test)]
mod tests;
