//! How well a unit answers the question. Two figures: `relevance`, how much of
//! the question it speaks of (this alone decides whether there is an answer),
//! and `score`, which also weighs form, place and rank, and orders the answers.

use bathysphere_sdk::types::Passage;

use crate::blocks::{Block, Kind as BlockKind};
use crate::question::{Kind, Question};
use crate::units::{Cut, Unit};
use crate::words::Term;

/// A unit's figures.
#[derive(Debug, Clone)]
pub struct Score {
    pub relevance: f64,
    pub score: f64,
    /// For each asked word, how far the unit itself speaks of it.
    pub direct: Vec<f64>,
    /// The same with what stands around the unit counted in part.
    pub credit: Vec<f64>,
}

const FROM_BELOW: f64 = 0.9;
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
            .chain(cut.above.iter().flatten())
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
            let rarity = 1.0 + ((total + 1.0) / (found as f64 + 0.5)).ln();
            asked.specific * rarity.clamp(0.8, 2.6)
        })
        .collect()
}

/// Scores one unit.
pub fn score(
    question: &Question,
    weights: &[f64],
    passages: &[Passage],
    cuts: &[Cut],
    units: &[Unit],
    unit: &Unit,
) -> Score {
    let cut = &cuts[unit.passage];
    let text = &cut.joined[unit.block].text[unit.range.clone()];
    let kind = cut.blocks[unit.block].kind;
    let mut direct = vec![0.0_f64; weights.len()];
    raise(
        question,
        &mut direct,
        unit.words.iter().filter_map(|word| word.term),
        1.0,
    );
    // A declaration is quoted with the end of its comment, and speaks for it.
    if let Some(terms) = unit.last.then(|| cut.below[unit.block].as_ref()).flatten() {
        raise(question, &mut direct, terms.iter().copied(), FROM_BELOW);
    }
    if direct.iter().all(|credit| *credit == 0.0) {
        return Score {
            relevance: 0.0,
            score: 0.0,
            credit: direct.clone(),
            direct,
        };
    }
    let mut credit = direct.clone();
    raise(
        question,
        &mut credit,
        cut.above[unit.block].iter().copied(),
        FROM_ABOVE,
    );
    raise(
        question,
        &mut credit,
        cut.around.iter().copied(),
        FROM_AROUND,
    );
    if let Some(previous) = unit.previous {
        let before = &units[previous];
        let before_text = &cut.joined[before.block].text[before.range.clone()];
        let share = if leans_on_previous(text) || before_text.ends_with('?') {
            FROM_PULLED
        } else {
            FROM_PREVIOUS
        };
        raise(
            question,
            &mut credit,
            before.words.iter().filter_map(|word| word.term),
            share,
        );
    }
    let sum: f64 = weights.iter().sum();
    let share = |credit: &[f64]| {
        credit.iter().zip(weights).map(|(c, w)| c * w).sum::<f64>() / sum.max(1e-9)
    };
    let own = share(&direct);
    let with_context = share(&credit);
    let sound = soundness(
        question,
        unit,
        text,
        &cut.blocks[unit.block],
        &passages[unit.passage].source.url,
    );
    // Context helps a sentence that has something of its own to say.
    let mut relevance = (0.5 * own + 0.5 * with_context).min(own * 2.5) * sound;
    relevance *= silence(question, weights, &credit, sum);
    let best = passages
        .iter()
        .map(|passage| passage.score)
        .fold(0.0_f64, f64::max);
    let prior = if best > 0.0 {
        (passages[unit.passage].score / best).clamp(0.0, 1.0)
    } else {
        1.0 / (1.0 + unit.passage as f64 / 4.0)
    };
    let form = form(question, unit, text, kind, cut);
    let early = if unit.previous.is_none() { 0.04 } else { 0.0 };
    let near = 0.15 * nearness(question, unit);
    let score = relevance + sound * (0.14 * prior + form + early + near);
    Score {
        relevance: relevance.min(1.0),
        score,
        direct,
        credit,
    }
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
    let word = start
        .split(|character: char| !character.is_alphanumeric())
        .next()
        .unwrap_or("");
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
fn soundness(question: &Question, unit: &Unit, text: &str, block: &Block, url: &str) -> f64 {
    let kind = block.kind;
    let words = unit.words.len();
    let mut sound: f64 = match kind {
        // Code that is shown in prose or a comment is meant to be read.
        BlockKind::Code if block.language.is_some() || block.comment || block.shown => {
            if question.kind == Kind::HowTo {
                0.85
            } else {
                0.6
            }
        }
        BlockKind::Code => 0.3,
        BlockKind::Signature if is_trivial(text) => 0.3,
        BlockKind::Signature | BlockKind::Entry => 0.8,
        BlockKind::Row => 0.95,
        BlockKind::Item | BlockKind::Paragraph | BlockKind::Heading => 1.0,
    };
    if matches!(kind, BlockKind::Paragraph | BlockKind::Item) {
        sound *= match words {
            0..=2 => 0.3,
            3..=4 => 0.6,
            5..=6 => 0.85,
            7..=60 => 1.0,
            _ => 0.85,
        };
        if kind == BlockKind::Paragraph
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
    if links >= 2 && words / links < 9 {
        sound *= 0.4;
    }
    if text.contains("......") || text.contains(". . . .") {
        sound *= 0.3;
    }
    let letters = text
        .chars()
        .filter(|character| character.is_alphabetic())
        .count();
    if letters * 2
        < text
            .chars()
            .filter(|character| !character.is_whitespace())
            .count()
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
    if (lower.contains("/tests/") || lower.contains("/test/")) && !question.mentions(&["test"]) {
        sound *= 0.85;
    }
    sound
}

/// A declaration that names a module and says no more.
fn is_trivial(text: &str) -> bool {
    let text = text.strip_prefix("pub ").unwrap_or(text);
    ["mod ", "use ", "import ", "export *", "type "]
        .iter()
        .any(|start| text.starts_with(start))
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

/// The form the question asks for: a definition, a number, a reason …
fn form(question: &Question, unit: &Unit, text: &str, kind: BlockKind, cut: &Cut) -> f64 {
    let has = |words: &[&str]| {
        let lower = text.to_lowercase();
        words.iter().any(|word| lower.contains(word))
    };
    match question.kind {
        Kind::Definition => definition(question, unit, text, kind),
        Kind::HowTo => {
            let leads_to_code = unit.last
                && cut
                    .blocks
                    .get(unit.block + 1)
                    .is_some_and(|next| next.kind == BlockKind::Code);
            let mut bonus: f64 = 0.0;
            if starts_with_order(text) {
                bonus += 0.14;
            }
            if text.contains('`') {
                bonus += 0.05;
            }
            if leads_to_code || kind == BlockKind::Code {
                bonus += 0.1;
            }
            if has(&["you can", "to do this", "by using", "use the"]) {
                bonus += 0.06;
            }
            bonus.min(0.25)
        }
        Kind::Why => {
            let reason = [
                "because",
                "since ",
                "so that",
                "in order to",
                "due to",
                "therefore",
                "to avoid",
                "otherwise",
                "reason",
                "to prevent",
                "this means",
                "which means",
                "would otherwise",
                "so a ",
                "so the ",
            ];
            if has(&reason) { 0.22 } else { 0.0 }
        }
        Kind::When => {
            let dated = text
                .split(|c: char| !c.is_ascii_digit())
                .any(|run| run.len() == 4 && (run.starts_with("19") || run.starts_with("20")));
            let timed = has(&[
                "when ", "after", "before", "once ", "until", "during", "at start", "every ",
            ]);
            if dated {
                0.22
            } else if timed {
                0.12
            } else {
                0.0
            }
        }
        Kind::Who => {
            if has_name(text) || text.contains('@') {
                0.15
            } else {
                0.0
            }
        }
        Kind::Where => {
            let path = text.contains('/')
                || text.contains("~")
                || has(&["directory", "folder", "located", "under "]);
            if path { 0.15 } else { 0.0 }
        }
        Kind::Quantity => {
            let number = text.chars().any(|character| character.is_ascii_digit())
                || has(&[
                    "two ",
                    "three ",
                    "four ",
                    "five ",
                    "six ",
                    "seven ",
                    "ten ",
                    "unlimited",
                    "no limit",
                ]);
            let default = question.mentions(&["default"]) && has(&["default"]);
            if number && default {
                0.25
            } else if number {
                0.15
            } else {
                -0.12
            }
        }
        Kind::Several => {
            let listed = matches!(kind, BlockKind::Item | BlockKind::Row)
                || text.ends_with(':')
                || text.matches(", ").count() >= 2;
            if listed { 0.12 } else { 0.0 }
        }
        Kind::YesNo => {
            let firm = [
                "must",
                "never",
                " not ",
                "cannot",
                "always",
                "only ",
                "may ",
                "can ",
                "supports",
                "does n't",
                "doesn't",
                "don't",
                "no longer",
                "required",
            ];
            if has(&firm) { 0.1 } else { 0.0 }
        }
        Kind::Plain => 0.0,
    }
}

/// "X is …": the asked words stand before the verb.
fn definition(question: &Question, unit: &Unit, text: &str, kind: BlockKind) -> f64 {
    let first = unit.words.iter().position(|word| {
        word.term
            .is_some_and(|term| question.matched(term).is_some())
    });
    let Some(first) = first else { return 0.0 };
    let strong = |word: &crate::words::Word| {
        word.term
            .and_then(|term| question.matched(term))
            .is_some_and(|(index, _)| question.asked[index].specific > 0.5)
    };
    let asked = question
        .asked
        .iter()
        .filter(|asked| asked.specific > 0.5)
        .count();
    let verb = unit.words.iter().take(14).position(|word| {
        matches!(
            &text[word.start..word.end],
            "is" | "are"
                | "means"
                | "refers"
                | "describes"
                | "provides"
                | "represents"
                | "lets"
                | "allows"
                | "defines"
                | "holds"
                | "contains"
                | "turns"
                | "does"
                | "was"
                | "gives"
                | "decides"
        )
    });
    if matches!(kind, BlockKind::Item | BlockKind::Row) && first == 0 {
        let after = &text[unit.words[0].end..];
        let mark = after.trim_start_matches(['`', '*', ')', '"', '_', ' ']);
        if mark.starts_with([':', '|', '—', '–', '-']) {
            return 0.25;
        }
    }
    if let Some(verb) = verb {
        let before = unit.words[..verb]
            .iter()
            .filter(|word| strong(word))
            .count();
        if before >= asked.min(2).max(1) && verb <= first + asked + 3 && first <= 2 {
            return 0.28;
        }
        if before > 0 {
            return 0.1;
        }
    }
    if first <= 1 { 0.06 } else { 0.0 }
}

fn starts_with_order(text: &str) -> bool {
    let start = text.trim_start_matches(|character: char| !character.is_alphanumeric());
    let word = start
        .split(|character: char| !character.is_alphanumeric())
        .next()
        .unwrap_or("");
    const ORDERS: &[&str] = &[
        "Add",
        "Build",
        "Call",
        "Change",
        "Choose",
        "Clone",
        "Configure",
        "Copy",
        "Create",
        "Declare",
        "Define",
        "Derive",
        "Download",
        "Enable",
        "Ensure",
        "Execute",
        "Export",
        "First",
        "Implement",
        "Import",
        "Include",
        "Install",
        "Make",
        "Open",
        "Pass",
        "Place",
        "Put",
        "Read",
        "Replace",
        "Run",
        "See",
        "Select",
        "Set",
        "Simply",
        "Specify",
        "Start",
        "Then",
        "To",
        "Turn",
        "Type",
        "Update",
        "Use",
        "Using",
        "Write",
        "You",
        "If",
        "Just",
        "Give",
        "Name",
        "Point",
        "Send",
        "Register",
        "Annotate",
        "Wrap",
    ];
    ORDERS.contains(&word)
}

/// Two words in a row with capitals, not at the start of the sentence.
fn has_name(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().take(200).collect();
    let capital = |word: &str| {
        let mut characters = word.trim_matches(|c: char| !c.is_alphanumeric()).chars();
        characters.next().is_some_and(char::is_uppercase)
            && characters.next().is_some_and(char::is_lowercase)
    };
    words
        .windows(2)
        .skip(1)
        .any(|pair| capital(pair[0]) && capital(pair[1]))
        || text.contains(" by ")
}
