//! How well a unit answers the question. Two figures: `relevance`, how much of
//! the question it speaks of (this alone decides whether there is an answer),
//! and `overall`, which also weighs form, place and rank, and orders the answers.

use bathysphere_sdk::types::Passage;

use crate::blocks::{Block, Kind as BlockKind};
use crate::echo::{asks_the_same, is_echo};
use crate::form::{self, Met, form};
use crate::question::{Kind, Question, SAID_ANYWAY};
use crate::units::{Cut, Unit, is_code};
use crate::words::Term;

/// A unit's figures.
#[derive(Debug, Clone)]
pub struct Score {
    pub relevance: f64,
    pub overall: f64,
    /// For each asked word, how far the unit itself speaks of it.
    pub direct: Vec<f64>,
    /// The same with what stands around the unit counted in part.
    pub credit: Vec<f64>,
    /// Whether it has the form that an answer must have.
    pub met: Met,
    /// What it stands under says more of what was asked than it does itself.
    pub lent: bool,
}

impl Score {
    /// The figures of a unit that is no answer.
    fn none(direct: Vec<f64>, credit: Vec<f64>, met: Met) -> Self {
        Self { relevance: 0.0, overall: 0.0, direct, credit, met, lent: false }
    }
}

const FROM_BELOW: f64 = 0.9;
/// A heading names the subject of what opens its section, and of a table's rows.
const FROM_HEADING: f64 = 0.86;
/// Further on, a section may have come to speak of something else.
const FROM_HEADING_FURTHER_ON: f64 = 0.5;
const FROM_KEYS: f64 = 0.86;
/// What lacks the form that was asked for is hardly an answer.
const FORMLESS: f64 = 0.6;
const UNTIMED: f64 = 0.85;
/// Who does something in a program is often no name that can be told by its form.
const UNNAMED: f64 = 0.8;
/// Code that names something like what was asked for, but not that.
const ANOTHER: f64 = 0.7;
const FROM_ABOVE: f64 = 0.6;
const FROM_AROUND: f64 = 0.5;
const FROM_PREVIOUS: f64 = 0.35;
const FROM_PULLED: f64 = 0.8;

/// How telling each asked word is, given how many passages speak of it.
pub fn weights(
    question: &Question,
    passages: &[Passage],
    units: &[Unit],
    cuts: &[Cut],
) -> Vec<f64> {
    let mut found = vec![0_usize; question.asked.len()];
    let mut seen = vec![usize::MAX; question.asked.len()];
    let mut see = |passage: usize, term: Term| {
        if let Some((index, _)) = question.matched(term)
            && seen[index] != passage
        {
            seen[index] = passage;
            found[index] += 1;
        }
    };
    let mut next = 0;
    for (number, cut) in cuts.iter().enumerate() {
        cut.around
            .iter()
            .chain(cut.above.iter().flat_map(|above| above.terms.iter().chain(&above.keys)))
            .for_each(|term| see(number, *term));
        while next < units.len() && units[next].passage == number {
            units[next]
                .words
                .iter()
                .filter_map(|word| word.term)
                .for_each(|term| see(number, term));
            next += 1;
        }
    }
    let total = passages.len() as f64;
    question
        .asked
        .iter()
        .zip(found)
        .map(|(asked, found)| {
            // That a word which need not be answered is rare tells nothing.
            if asked.specific <= SAID_ANYWAY {
                return asked.specific;
            }
            let rarity = 1.0 + ((total + 1.0) / (found as f64 + 0.5)).ln();
            asked.specific * rarity.clamp(0.8, 2.6)
        })
        .collect()
}

/// What all units are weighed by.
pub struct Scale<'a> {
    pub question: &'a Question,
    /// What the question is a part of.
    pub whole: Option<&'a Question>,
    pub weights: &'a [f64],
    pub passages: &'a [Passage],
    pub cuts: &'a [Cut],
    pub units: &'a [Unit],
    /// Less relevance than this is never chosen, and need not be weighed further.
    pub needed: f64,
    /// The best score of a passage.
    pub best: f64,
}

/// Scores one unit.
pub fn score(scale: &Scale<'_>, unit: &Unit) -> Score {
    let Scale { question, whole, weights, passages, cuts, units, needed, best } = *scale;
    let cut = &cuts[unit.passage];
    let text = &cut.joined[unit.block].text[unit.range.clone()];
    let kind = cut.blocks[unit.block].kind;
    let mut direct = vec![0.0_f64; weights.len()];
    raise(question, &mut direct, unit.words.iter().filter_map(|word| word.term), 1.0);
    let echoes = |asked: &Question| is_echo(asked, text, is_code(kind));
    if (share_of_asked(&direct) && echoes(question)) || whole.is_some_and(echoes) {
        let nothing = vec![0.0; weights.len()];
        return Score::none(nothing.clone(), nothing, Met::No);
    }
    // What stands right below the question is meant as its answer.
    if !is_code(kind) && lead(scale, unit).is_some_and(|lead| asks_the_same(question, lead)) {
        for credit in &mut direct {
            *credit = credit.max(FROM_PULLED);
        }
    }
    // A declaration is quoted with the end of its comment, and speaks for it.
    if let Some(terms) = unit.last.then(|| cut.below[unit.block].as_ref()).flatten() {
        raise(question, &mut direct, terms.iter().copied(), FROM_BELOW);
    }
    let above = &cut.above[unit.block];
    let own_words = share_of(&direct, weights);
    let from_heading = if above.opens { FROM_HEADING } else { FROM_HEADING_FURTHER_ON };
    raise(question, &mut direct, above.heading.iter().copied(), from_heading);
    raise(question, &mut direct, above.table.iter().copied(), FROM_HEADING);
    raise(question, &mut direct, above.keys.iter().copied(), FROM_KEYS);
    let silent = |direct: &[f64]| direct.iter().all(|credit| *credit == 0.0);
    let thing = &direct[question.thing.clone()];
    // That "it" is in the path of the file does not make a sentence speak of it.
    if silent(&direct) || (!thing.is_empty() && silent(thing)) {
        return Score::none(direct.clone(), direct, Met::No);
    }
    let mut credit = direct.clone();
    raise(question, &mut credit, above.terms.iter().copied(), FROM_ABOVE);
    raise(question, &mut credit, cut.around.iter().copied(), FROM_AROUND);
    if let Some(previous) = unit.previous {
        let before = &units[previous];
        let before_text = &cut.joined[before.block].text[before.range.clone()];
        let share = if leans_on_previous(text) || before_text.ends_with('?') {
            FROM_PULLED
        } else {
            FROM_PREVIOUS
        };
        raise(question, &mut credit, before.words.iter().filter_map(|word| word.term), share);
    }
    let sum: f64 = weights.iter().sum();
    let own = share_of(&direct, weights);
    let with_context = share_of(&credit, weights);
    // Context helps a sentence that has something of its own to say.
    let relevance = (0.5 * own + 0.5 * with_context).min(own * 2.5);
    let relevance = relevance * silence(question, weights, &credit, sum);
    if relevance < needed {
        // It may still be told that the subject was found, but not the answer.
        let near = relevance * 2.0 >= needed;
        let met = if near { form::met(question, unit, text, cut) } else { Met::No };
        return Score::none(direct, credit, met);
    }
    let met = form::met(question, unit, text, cut);
    let sound = soundness(
        question,
        unit,
        text,
        &cut.blocks[unit.block],
        &passages[unit.passage].source.url,
        own_words < own,
    );
    let formless = match (met, question.kind) {
        (Met::Itself | Met::ByHeading, _) => 1.0,
        (Met::No, Kind::When) if !question.dated => UNTIMED,
        (Met::No, Kind::Who) => UNNAMED,
        (Met::No, _) => FORMLESS,
    };
    let elsewhere = if form::names_another(question, unit, text, cut) { ANOTHER } else { 1.0 };
    let relevance = relevance * sound * formless * elsewhere;
    let prior = if best > 0.0 {
        (passages[unit.passage].score / best).clamp(0.0, 1.0)
    } else {
        1.0 / (1.0 + unit.passage as f64 / 4.0)
    };
    let form = form(question, unit, text, kind, cut);
    let early = if unit.previous.is_none() { 0.04 } else { 0.0 };
    let near = 0.15 * nearness(question, unit);
    // A section that is headed by words of the question was written to answer it.
    let mut heading = above.heading.iter().peekable();
    let headed = above.opens
        && heading.peek().is_some()
        && heading.all(|term| question.matched(*term).is_some());
    let headed = if headed { 0.15 } else { 0.0 };
    let overall = relevance + sound * (0.14 * prior + form + early + near + headed);
    Score { relevance: relevance.min(1.0), overall, direct, credit, met, lent: own_words < own }
}

/// How much of the question a credit makes up.
fn share_of(credit: &[f64], weights: &[f64]) -> f64 {
    let sum: f64 = weights.iter().sum();
    credit.iter().zip(weights).map(|(c, w)| c * w).sum::<f64>() / sum.max(1e-9)
}

/// Whether at least half of the asked words are spoken of: less is never an echo.
fn share_of_asked(direct: &[f64]) -> bool {
    direct.iter().filter(|credit| **credit >= 1.0).count() * 2 >= direct.len()
}

/// What leads to a unit: the sentence before it, or the heading or the short
/// paragraph above it.
fn lead<'a>(scale: &Scale<'a>, unit: &Unit) -> Option<&'a str> {
    let cut = &scale.cuts[unit.passage];
    if let Some(previous) = unit.previous {
        let before = &scale.units[previous];
        return Some(&cut.joined[before.block].text[before.range.clone()]);
    }
    let above = unit.block.checked_sub(1)?;
    matches!(cut.blocks[above].kind, BlockKind::Heading | BlockKind::Paragraph)
        .then(|| cut.joined[above].text.as_str())
}

/// A sentence that is silent on telling words is likely about something else:
/// 1 when it speaks of all of them, less for each that it leaves out.
fn silence(question: &Question, weights: &[f64], credit: &[f64], sum: f64) -> f64 {
    let mut missing = 0.0;
    let mut heaviest = (0.0, false);
    for ((asked, weight), credit) in question.asked.iter().zip(weights).zip(credit) {
        let silent = *credit == 0.0;
        if asked.specific > 0.5 && silent {
            missing += weight;
        }
        if *weight > heaviest.0 {
            heaviest = (*weight, silent);
        }
    }
    let factor = 1.0 - 0.4 * missing / sum.max(1e-9);
    if heaviest.1 { factor * 0.93 } else { factor }
}

fn raise(question: &Question, credit: &mut [f64], terms: impl Iterator<Item = Term>, share: f64) {
    for term in terms {
        if let Some((index, matched)) = question.matched(term) {
            credit[index] = credit[index].max(matched * share);
        }
    }
}

/// A sentence that points back ("It …", "This …") needs the one before it.
pub fn leans_on_previous(text: &str) -> bool {
    let start = text.trim_start_matches(|character: char| !character.is_alphanumeric());
    let word = start.split(|character: char| !character.is_alphanumeric()).next().unwrap_or("");
    matches!(
        word,
        "It" | "This"
            | "They"
            | "These"
            | "Those"
            | "That"
            | "He"
            | "She"
            | "Its"
            | "Their"
            | "Such"
            | "Both"
            | "However"
            | "Otherwise"
            | "Instead"
            | "Thus"
            | "Therefore"
            | "Then"
            | "So"
            | "But"
            | "Also"
            | "Here"
            | "Similarly"
            | "Additionally"
    ) || [
        "In other words",
        "In this",
        "In that",
        "For example",
        "For instance",
        "As a result",
        "In addition",
    ]
    .iter()
    .any(|phrase| start.starts_with(phrase))
}

/// Asked words that follow one another in the question stand together in the
/// text: from 0 to 1.
fn nearness(question: &Question, unit: &Unit) -> f64 {
    if question.asked.len() < 2 {
        return 0.0;
    }
    let mut last = vec![usize::MAX; question.asked.len()];
    let mut pairs = vec![false; question.asked.len()];
    for (place, word) in unit.words.iter().enumerate() {
        let Some((index, _)) = word.term.and_then(|term| question.matched(term)) else {
            continue;
        };
        last[index] = place;
        for (first, second) in [(index.wrapping_sub(1), index), (index, index + 1)] {
            if let (Some(&a), Some(&b)) = (last.get(first), last.get(second))
                && a != usize::MAX
                && b != usize::MAX
                && a.abs_diff(b) <= 4
            {
                pairs[first] = true;
            }
        }
    }
    pairs.iter().filter(|pair| **pair).count() as f64 / (question.asked.len() - 1) as f64
}

/// What is quotable at all: 1 for a good sentence, less for fragments, lists of
/// links, boilerplate.
fn soundness(
    question: &Question,
    unit: &Unit,
    text: &str,
    block: &Block,
    url: &str,
    headed: bool,
) -> f64 {
    let kind = block.kind;
    let words = unit.words.len();
    let mut sound: f64 = match kind {
        // Code that is shown in prose or a comment is meant to be read.
        BlockKind::Code if block.language.is_some() || block.comment || block.shown => {
            if question.kind == Kind::HowTo { 0.85 } else { 0.6 }
        }
        BlockKind::Code if question.asks_for_code() && form::names_exactly(question, text) => 0.7,
        BlockKind::Code => 0.3,
        BlockKind::Signature if form::declares(question, text) => 1.0,
        BlockKind::Signature | BlockKind::Entry if is_trivial(text) => 0.3,
        BlockKind::Signature if text.len() > 200 => 0.4,
        BlockKind::Signature | BlockKind::Entry => 0.8,
        BlockKind::Row => 0.95,
        BlockKind::Item | BlockKind::Paragraph | BlockKind::Heading => 1.0,
    };
    if matches!(kind, BlockKind::Paragraph | BlockKind::Item) {
        sound *= match words {
            // Under a heading that names its subject, "MIT" says it all.
            1..=6 if headed => 0.9,
            // "There are 4." is all that was asked for.
            3..=6 if matches!(question.kind, Kind::Quantity | Kind::Who | Kind::When) => 0.9,
            0..=2 => 0.3,
            3..=4 => 0.6,
            7..=60 => 1.0,
            _ => 0.85,
        };
        if kind == BlockKind::Paragraph
            && !headed
            && !text.ends_with(['.', '!', '?', ':', ')', '。', '"', '`', '*', ';'])
        {
            sound *= 0.85;
        }
        if unit.previous.is_none() && leans_on_previous(text) {
            sound *= 0.85;
        }
        if text.starts_with(char::is_lowercase) && kind == BlockKind::Paragraph {
            sound *= 0.85;
        }
    }
    if text.ends_with('?') {
        sound *= 0.5;
    }
    let links = text.matches("](").count() + text.matches("://").count();
    if links >= 2 && words / links < 9 && is_mostly_links(text) {
        sound *= 0.4;
    }
    if text.contains("......") || text.contains(". . . .") {
        sound *= 0.3;
    }
    // A setting is a name and a value, and the value is what is asked for.
    let letters = text.chars().filter(|character| character.is_alphabetic()).count();
    if kind != BlockKind::Entry
        && letters * 2 < text.chars().filter(|character| !character.is_whitespace()).count()
    {
        sound *= 0.6;
    }
    if is_boilerplate(text)
        && !question.mentions(&["licen", "copyright", "warrant", "author", "legal"])
    {
        sound *= 0.25;
    }
    let lower = url.to_ascii_lowercase();
    if lower.contains("changelog") && !question.mentions(&["change", "version", "release", "new"]) {
        sound *= 0.8;
    }
    if is_test(&lower) && !question.mentions(&["test"]) {
        sound *= 0.85;
    }
    sound
}

/// Whether more of what is shown are links than words.
fn is_mostly_links(text: &str) -> bool {
    let shown = |text: &str| text.chars().filter(|character| character.is_alphanumeric()).count();
    let mut linked = 0;
    let mut plain = 0;
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        let label = before.rfind('[').map_or(0, |at| at + 1);
        plain += shown(&before[..label]);
        linked += shown(&before[label..]);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    for word in rest.split_whitespace() {
        *if word.contains("://") { &mut linked } else { &mut plain } += shown(word);
    }
    linked * 2 > plain * 3
}

/// Tests by the usual names; `path` in lower case.
fn is_test(path: &str) -> bool {
    let (directories, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    directories
        .split('/')
        .any(|one| matches!(one, "test" | "tests" | "__tests__" | "spec" | "benches" | "fixtures"))
        || matches!(stem, "test" | "tests" | "conftest")
        || stem.starts_with("test_")
        || ["_test", "_tests", "_spec", ".test", ".spec"].iter().any(|end| stem.ends_with(end))
}

/// A declaration that names a module and says no more.
fn is_trivial(text: &str) -> bool {
    let text = text.strip_prefix("pub ").unwrap_or(text);
    ["mod ", "use ", "import ", "export *", "type "].iter().any(|start| text.starts_with(start))
}

fn is_boilerplate(text: &str) -> bool {
    const MARKS: &[&str] = &[
        "hereby granted",
        "without warranty",
        "all rights reserved",
        "licensed under",
        "copyright (c)",
        "apache license",
        "warranties or conditions",
        "\"as is\"",
        "dual licensed",
        "at your option",
        "table of contents",
        "click here",
        "spdx-license",
    ];
    // Only ASCII letters differ in case here, so a plain comparison will do.
    let lower = text.to_ascii_lowercase();
    MARKS.iter().any(|mark| lower.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_by_their_names() {
        for path in ["tests/a.rs", "/a/tests/b.rs", "src/tests.rs", "test_x.py", "a/x_test.go"] {
            assert!(is_test(path), "{path}");
        }
        for path in ["src/latest.rs", "contest/a.md", "docs/testing.md"] {
            assert!(!is_test(path), "{path}");
        }
    }

    #[test]
    fn a_sentence_with_links_is_no_list_of_links() {
        assert!(!is_mostly_links(
            "[MIT](LICENSE-MIT) or [Apache-2.0](LICENSE-APACHE), at your choice."
        ));
        assert!(is_mostly_links("[Guide](a.md) | [Reference](b.md) | [Blog](https://c.example)"));
        assert!(is_mostly_links("https://a.example https://b.example"));
    }
}
