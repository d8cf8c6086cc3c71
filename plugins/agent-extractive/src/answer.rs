//! From a question and passages to a reply: the order of the work, the figures
//! of quality, and what to look up next.

use bathysphere_sdk::agent::{Purpose, Reply, Request};
use bathysphere_sdk::types::{Error, ErrorKind, Finding, Passage, Quality, Usage};

use crate::question::Question;
use crate::quote::{self, Stretch};
use crate::score::{self, Score};
use crate::select;
use crate::settings::Settings;
use crate::units::{self, Cut, Unit};
use crate::words::Vocabulary;

/// What is reported as the model.
pub const MODEL: &str = "extractive";
/// A word of the question counts as answered from this credit on.
const ANSWERED: f64 = 0.5;
const MOST_FOLLOW_UPS: usize = 3;
/// Frequent in documents of this kind, and no help to a search.
const NEVER_SALIENT: &[&str] = &[
    "http", "https", "true", "false", "none", "some", "self", "string", "null", "result", "will",
    "when",
];

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
    let stretches = quote::stretches(settings, question.kind, &cuts, &units, &chosen);
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
    let work = Work {
        question: &question,
        weights: &weights,
        cuts: &cuts,
        units: &units,
        stretches: &stretches,
    };
    Reply {
        text,
        follow_ups: work.follow_ups(&vocabulary, &missing),
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
        .filter(|(index, _)| scores.iter().all(|score| score.direct[*index] < ANSWERED))
        .map(|(_, asked)| asked.word.as_str())
        .collect();
    if missing.is_empty() {
        "The passages do not answer this: the words of the question are in them, but never together.".to_owned()
    } else {
        format!("The passages do not answer this. Not found in them: {}.", quoted(&missing))
    }
}

/// What the follow-ups are made of.
struct Work<'a> {
    question: &'a Question,
    weights: &'a [f64],
    cuts: &'a [Cut],
    units: &'a [Unit],
    stretches: &'a [Stretch],
}

impl Work<'_> {
    /// Queries for what is missing, the most telling first.
    fn follow_ups(&self, vocabulary: &Vocabulary, missing: &[usize]) -> Vec<String> {
        let asked = &self.question.asked;
        let mut missing: Vec<usize> =
            missing.iter().copied().filter(|index| asked[*index].specific > 0.5).collect();
        if missing.is_empty() {
            return Vec::new();
        }
        missing.sort_by(|a, b| self.weights[*b].total_cmp(&self.weights[*a]).then(a.cmp(b)));
        let mut known: Vec<usize> = (0..asked.len())
            .filter(|index| !missing.contains(index) && asked[*index].specific > 0.5)
            .collect();
        known.sort_by(|a, b| self.weights[*b].total_cmp(&self.weights[*a]).then(a.cmp(b)));
        let words = |indices: &[usize], most: usize| -> Vec<String> {
            indices.iter().take(most).map(|index| asked[*index].word.clone()).collect()
        };
        let salient = self.salient(vocabulary);
        let mut queries: Vec<Vec<String>> = Vec::new();
        queries.push([words(&missing, 4), words(&known, 2)].concat());
        queries.push([words(&missing, 2), salient.iter().take(2).cloned().collect()].concat());
        if missing.len() > 1 {
            queries.push(words(&missing, 4));
        } else {
            queries.push(
                [words(&missing, 1), words(&known, 1), salient.into_iter().take(1).collect()]
                    .concat(),
            );
        }
        let mut out: Vec<String> = Vec::new();
        let mut seen: Vec<Vec<String>> = Vec::new();
        for query in queries {
            let mut sorted = query.clone();
            sorted.sort_unstable();
            sorted.dedup();
            if !query.is_empty() && !seen.contains(&sorted) {
                seen.push(sorted);
                out.push(query.join(" "));
            }
        }
        out.truncate(MOST_FOLLOW_UPS);
        out
    }

    /// Words that the findings (or else the first passages) keep coming back to
    /// and the question does not use, as they are written there.
    fn salient(&self, vocabulary: &Vocabulary) -> Vec<String> {
        let mut counts = vec![(0_u32, usize::MAX, None::<(usize, usize)>); vocabulary.len()];
        let from_findings: Vec<usize> =
            self.stretches.iter().flat_map(|stretch| stretch.units.iter().copied()).collect();
        let chosen = if from_findings.is_empty() {
            (0..self.units.len()).take_while(|unit| self.units[*unit].passage < 2).collect()
        } else {
            from_findings
        };
        for number in chosen {
            let unit = &self.units[number];
            for (place, word) in unit.words.iter().enumerate() {
                let Some(term) = word.term else { continue };
                let text = &self.cuts[unit.passage].joined[unit.block].text[unit.range.clone()];
                let telling = word.end - word.start >= 4
                    && !NEVER_SALIENT
                        .contains(&text[word.start..word.end].to_ascii_lowercase().as_str())
                    && text[word.start..word.end].bytes().any(|byte| !byte.is_ascii_digit());
                if !telling || self.question.matched(term).is_some() {
                    continue;
                }
                let entry = &mut counts[term as usize];
                if entry.1 != number {
                    entry.0 += 1;
                    entry.1 = number;
                }
                entry.2.get_or_insert((number, place));
            }
        }
        let mut ranked: Vec<(u32, usize, usize)> = counts
            .into_iter()
            .filter_map(|(count, _, first)| first.map(|(unit, word)| (count, unit, word)))
            .collect();
        ranked.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
        ranked
            .into_iter()
            .take(3)
            .map(|(_, number, place)| {
                let unit = &self.units[number];
                let word = unit.words[place];
                let text = &self.cuts[unit.passage].joined[unit.block].text[unit.range.clone()];
                text[word.start..word.end].to_owned()
            })
            .collect()
    }
}
