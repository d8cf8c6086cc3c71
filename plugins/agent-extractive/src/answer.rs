//! From a question and passages to a reply: the order of the work, the figures
//! of quality, and what to look up next.

use bathysphere_sdk::agent::{Purpose, Reply, Request};
use bathysphere_sdk::types::{Error, ErrorKind, Finding, Passage, Quality, Usage};

use crate::form::{self, Met};
use crate::parts;
use crate::question::Question;
use crate::quote;
use crate::reading::{Answered, Material, Reading};
use crate::score::Score;
use crate::select;
use crate::settings::Settings;
use crate::units;
use crate::words::Vocabulary;

/// What is reported as the model.
pub const MODEL: &str = "extractive";
/// A word of the question counts as answered from this credit on.
const ANSWERED: f64 = 0.5;
const MOST_FOLLOW_UPS: usize = 3;
/// What is left of the coverage and the confidence when no finding has the form
/// that was asked for: too little for anyone to call the question answered.
const FORMLESS: f64 = 0.6;

/// Answers a request for findings; refuses what needs a model.
pub fn answer(settings: &Settings, request: &Request) -> Result<Reply, Error> {
    match &request.purpose {
        Purpose::Findings => Ok(find(settings, &request.question, &request.passages)),
        purpose => {
            let what = match purpose {
                Purpose::Answer => "answer a prompt",
                Purpose::Correct => "correct an answer",
                _ => "do this",
            };
            Err(Error {
                kind: ErrorKind::InvalidInput,
                message: format!("agent-extractive cannot {what}: it only quotes from passages"),
                hint: Some(
                    "use it with a search backend, or name an agent that reads prompts under [tools] in plugins.toml"
                        .into(),
                ),
            })
        }
    }
}

/// Finds what answers `question` in `passages`.
pub fn find(settings: &Settings, question: &str, passages: &[Passage]) -> Reply {
    let mut vocabulary = Vocabulary::new();
    let parts = parts::read(question, &mut vocabulary);
    let question = Question::read(question, &mut vocabulary);
    let (cuts, units) = units::collect(passages, &mut vocabulary, settings);
    let material = Material { passages, cuts: &cuts, units: &units };
    let whole = Reading::new(settings, &material, question, None);
    let chosen = select::choose(settings, &whole, settings.max_findings, &[], &material);
    let kind = whole.question.kind;
    let mut stretches = quote::stretches(settings, kind, &cuts, &units, &whole.scores, &chosen);
    let parts: Vec<Reading> = parts
        .into_iter()
        .map(|part| Reading::new(settings, &material, part, Some(&whole.question)))
        .collect();
    parts::complete(settings, &material, &parts, &mut stretches);
    let findings: Vec<Finding> =
        stretches.iter().map(|stretch| quote::finding(passages, &cuts, stretch)).collect();
    let open = chosen.is_empty() && !parts.is_empty();
    let readings = if parts.is_empty() { std::slice::from_ref(&whole) } else { &parts };
    let answered: Vec<Option<Answered>> =
        readings.iter().map(|reading| reading.answered(settings, &stretches)).collect();
    let text = if findings.is_empty() {
        no_answer(&whole.question, passages, &whole.scores)
    } else {
        bullets(&findings)
    };
    Reply {
        text,
        follow_ups: next(readings, &answered, open.then_some(&whole)),
        quality: Some(quality(readings, &answered, &findings)),
        findings,
        queries: Vec::new(),
        sources: Vec::new(),
        model: Some(MODEL.to_owned()),
        usage: Usage {
            input_tokens: 0,
            output_tokens: 0,
            searches: 0,
            pages: 0,
            cost_usd: Some(0.0),
            extra: Vec::new(),
        },
        extra: Vec::new(),
    }
}

/// The figures of all parts together; one that is not answered has no share in
/// the coverage.
fn quality(readings: &[Reading], answered: &[Option<Answered>], findings: &[Finding]) -> Quality {
    let found: Vec<&Answered> = answered.iter().flatten().collect();
    if found.is_empty() {
        return Quality { relevance: 0.0, coverage: 0.0, confidence: 0.0 };
    }
    let covered = readings.iter().zip(answered).filter_map(|(reading, answered)| {
        let Answered { credit, met, .. } = answered.as_ref()?;
        let total: f64 = reading.weights.iter().sum::<f64>().max(1e-9);
        let covered = credit.iter().zip(&reading.weights).map(|(c, w)| c * w).sum::<f64>() / total;
        Some(if *met { covered } else { covered * FORMLESS })
    });
    let coverage = covered.sum::<f64>() / readings.len() as f64;
    let relevance = found.iter().map(|one| one.relevance).sum::<f64>() / found.len() as f64;
    let mut sources: Vec<&str> =
        findings.iter().map(|finding| finding.source.url.as_str()).collect();
    sources.sort_unstable();
    sources.dedup();
    // Several places that say it make it surer; one good place is worth much.
    let support = match sources.len() {
        1 => 0.75,
        2 => 0.9,
        _ => 1.0,
    };
    let confidence = (relevance * coverage).max(0.0).sqrt() * support;
    let unit = |value: f64| value.clamp(0.0, 1.0);
    Quality { relevance: unit(relevance), coverage: unit(coverage), confidence: unit(confidence) }
}

/// The findings as a list; a block of code stays under its sentence.
fn bullets(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        text.push_str("- ");
        text.push_str(&finding.text.replace('\n', "\n  "));
        text.push('\n');
    }
    text
}

fn no_answer(question: &Question, passages: &[Passage], scores: &[Score]) -> String {
    if question.asked.is_empty() {
        return "The question names nothing to look for.".to_owned();
    }
    let quoted = |words: &[&str]| {
        words.iter().map(|word| format!("\u{201c}{word}\u{201d}")).collect::<Vec<_>>().join(", ")
    };
    if passages.is_empty() {
        let words: Vec<&str> = question.asked.iter().map(|asked| asked.word.as_str()).collect();
        return format!("Nothing was found to answer from. Looked for: {}.", quoted(&words));
    }
    let missing: Vec<&str> = question
        .asked
        .iter()
        .enumerate()
        .filter(|(_, asked)| asked.specific > 0.5)
        .filter(|(index, _)| scores.iter().all(|score| score.direct[*index] < ANSWERED))
        .map(|(_, asked)| asked.word.as_str())
        .collect();
    let spoken_of = |score: &Score| {
        let mut telling =
            question.asked.iter().zip(&score.credit).filter(|(asked, _)| asked.specific > 0.5);
        score.met == Met::No && telling.all(|(_, credit)| *credit >= ANSWERED)
    };
    if let Some(wanted) = form::wanted(question)
        && missing.is_empty()
        && scores.iter().any(spoken_of)
    {
        format!("The passages speak of this, but none gives {wanted} that would answer.")
    } else if missing.is_empty() {
        "The passages do not answer this: the words of the question are in them, but never together.".to_owned()
    } else {
        format!("The passages do not answer this. Not found in them: {}.", quoted(&missing))
    }
}

/// What to look up next: first the parts that nothing answers, then the words
/// that the answers to the others leave out, and last the whole question where
/// nothing answers it.
fn next(
    readings: &[Reading],
    answered: &[Option<Answered>],
    whole: Option<&Reading>,
) -> Vec<String> {
    let mut queries: Vec<String> = Vec::new();
    for open in [true, false] {
        let ours = readings.iter().zip(answered).filter(|(_, one)| one.is_none() == open);
        for (Reading { question, weights, .. }, answered) in ours {
            let missing = missing(question, answered.as_ref());
            for query in follow_ups(question, weights, &missing) {
                if !queries.contains(&query) {
                    queries.push(query);
                }
            }
        }
    }
    if let Some(Reading { question, weights, .. }) = whole {
        queries.extend(follow_ups(question, weights, &missing(question, None)));
    }
    queries.truncate(MOST_FOLLOW_UPS);
    queries
}

/// The asked words that are to be looked up. Where nothing answers, what "it"
/// stands for is known, unless the part asks for nothing else that tells.
fn missing(question: &Question, answered: Option<&Answered>) -> Vec<usize> {
    let all = 0..question.asked.len();
    if let Some(answered) = answered {
        return all.filter(|index| answered.credit[*index] < ANSWERED).collect();
    }
    let own = || all.clone().filter(|index| !question.thing.contains(index));
    if own().any(|index| question.asked[index].specific > 0.5) {
        own().collect()
    } else {
        all.collect()
    }
}

/// Queries for what is missing, the most telling words first; each is made of the
/// question's own words, for others would only lead elsewhere.
fn follow_ups(question: &Question, weights: &[f64], missing: &[usize]) -> Vec<String> {
    let asked = &question.asked;
    let telling = |index: &usize| asked[*index].specific > 0.5;
    let by_weight = |a: &usize, b: &usize| weights[*b].total_cmp(&weights[*a]).then(a.cmp(b));
    let mut missing: Vec<usize> = missing.iter().copied().filter(telling).collect();
    if missing.is_empty() {
        return Vec::new();
    }
    let mut known: Vec<usize> =
        (0..asked.len()).filter(|index| !missing.contains(index)).filter(telling).collect();
    missing.sort_by(by_weight);
    known.sort_by(by_weight);
    missing.truncate(4);
    known.truncate(1);
    let words = |indices: &[usize]| -> String {
        indices.iter().map(|index| asked[*index].word.as_str()).collect::<Vec<_>>().join(" ")
    };
    let mut queries = vec![words(&[missing.as_slice(), known.as_slice()].concat())];
    if !known.is_empty() {
        queries.push(words(&missing));
    }
    queries
}
