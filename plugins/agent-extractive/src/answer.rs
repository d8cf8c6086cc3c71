//! From a question and passages to a reply: the order of the work, the figures
//! of quality, and what to look up next.

use bathysphere_sdk::agent::{Purpose, Reply, Request};
use bathysphere_sdk::types::{Error, ErrorKind, Finding, Passage, Quality, Usage};

use crate::form::{self, Met};
use crate::question::Question;
use crate::quote::{self, Stretch};
use crate::score::{self, Score};
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
    let question = Question::read(question, &mut vocabulary);
    let (cuts, units) = units::collect(passages, &mut vocabulary, settings);
    let weights = score::weights(&question, passages, &units, &cuts);
    let scale = score::Scale {
        question: &question,
        weights: &weights,
        passages,
        cuts: &cuts,
        units: &units,
        needed: settings.min_relevance,
        best: passages.iter().map(|passage| passage.score).fold(0.0, f64::max),
    };
    let scores: Vec<Score> = units.iter().map(|unit| score::score(&scale, unit)).collect();
    let strong = question.asked.iter().filter(|asked| asked.specific > 0.5).count();
    let chosen = select::choose(settings, strong, &weights, passages, &units, &scores);
    let stretches = quote::stretches(settings, question.kind, &cuts, &units, &scores, &chosen);
    let findings: Vec<Finding> =
        stretches.iter().map(|stretch| quote::finding(passages, &cuts, stretch)).collect();
    let credit = credit(&question, &scores, &stretches);
    let quality = quality(&weights, &credit, &scores, &stretches, &findings);
    let missing: Vec<usize> = (0..credit.len()).filter(|index| credit[*index] < ANSWERED).collect();
    let text = if findings.is_empty() {
        no_answer(&question, passages, &scores)
    } else {
        bullets(&findings)
    };
    Reply {
        text,
        follow_ups: follow_ups(&question, &weights, &missing),
        findings,
        quality: Some(quality),
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

/// For each asked word, how far the findings speak of it.
fn credit(question: &Question, scores: &[Score], stretches: &[Stretch]) -> Vec<f64> {
    let mut credit = vec![0.0_f64; question.asked.len()];
    for unit in stretches.iter().flat_map(|stretch| &stretch.units) {
        for (credit, own) in credit.iter_mut().zip(&scores[*unit].credit) {
            *credit = credit.max(*own);
        }
    }
    credit
}

fn quality(
    weights: &[f64],
    credit: &[f64],
    scores: &[Score],
    stretches: &[Stretch],
    findings: &[Finding],
) -> Quality {
    if findings.is_empty() {
        return Quality { relevance: 0.0, coverage: 0.0, confidence: 0.0 };
    }
    let total: f64 = weights.iter().sum::<f64>().max(1e-9);
    let coverage = credit.iter().zip(weights).map(|(c, w)| c * w).sum::<f64>() / total;
    let best: Vec<f64> = stretches
        .iter()
        .take(3)
        .map(|stretch| stretch.units.iter().map(|unit| scores[*unit].relevance).fold(0.0, f64::max))
        .collect();
    let relevance = best.iter().sum::<f64>() / best.len() as f64;
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
    let met = stretches
        .iter()
        .flat_map(|stretch| &stretch.units)
        .any(|unit| scores[*unit].met != Met::No);
    let coverage = if met { coverage } else { coverage * FORMLESS };
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
    queries.truncate(MOST_FOLLOW_UPS);
    queries
}
