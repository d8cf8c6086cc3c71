//! The outcome of a task as a report that people read and keep. What came from
//! elsewhere is data: it cannot leave the place the template gives it. Touches no
//! network and no store; `save` writes one file, whole or not at all.

mod answer;
mod citations;
pub mod markdown;
mod outcome;
mod save;
pub mod words;

pub use answer::{Answer, AnswerSource};
pub use citations::files;
pub use outcome::{ErrorReport, Outcome, TaskStatus, short_id, summary_of, timestamp};
pub use save::{SaveError, can_save, save};

use std::fmt::Write as _;

use minijinja::{Environment, context};

use crate::plugins::contract::{Finding, Round};
use citations::{Citations, Visited};
use markdown::{Block, blocks, code_span, contained, fence_lines, inline};
use words::{count, duration, one_line, quoted_list, shortened, stop_reason};

const TEMPLATE: &str = include_str!("../../../templates/report.md");

/// Longer questions are shortened in the title and stand in full below it.
const TITLE_CHARACTERS: usize = 160;

/// Sources that no finding cites are named, but not without end.
const ALSO_READ: usize = 8;

/// The same for what an agent visited on its own.
const VISITED: usize = 50;

/// Queries of a round that are named in its line.
const QUERIES: usize = 4;

/// The report in Markdown.
pub fn render_markdown(outcome: &Outcome) -> String {
    let text = one_line(&outcome.question.text);
    let title = shortened(&text, TITLE_CHARACTERS);
    let question = (title != text).then(|| contained(&outcome.question.text, 2));
    let nothing = outcome.found_nothing();
    let answer = (!nothing
        && !outcome.answer.trim().is_empty()
        && !restates(&outcome.answer, &outcome.findings))
    .then(|| contained(&outcome.answer, 2));
    // A report that an agent wrote by itself has numbers of its own.
    let written = !nothing && outcome.is_written();
    let citations = Citations::new(outcome, answer.is_some() && !written);
    let visited =
        if written { citations.visited(&outcome.answer, VISITED) } else { Visited::default() };
    // What was looked through is then told as the result, not once more below.
    let told = nothing && outcome.status == TaskStatus::Completed;

    let rendered = Environment::new()
        .render_str(
            TEMPLATE,
            context! {
                title => inline(&title),
                question,
                notices => notices(outcome, nothing),
                answer,
                findings => outcome.findings.iter().map(|finding| bullet(finding, &citations)).collect::<Vec<_>>(),
                looked_through => if told { looked_through(outcome) } else { Vec::new() },
                advice => if told { advice(outcome) } else { Vec::new() },
                sources => citations.listed(),
                visited => visited.places,
                visited_heading => if visited.is_all { "Sources" } else { "Other sources visited" },
                also_read => if nothing || written { None } else { citations.also_read(ALSO_READ) },
                course => course(outcome),
            },
        )
        .expect("the built-in template renders any outcome");
    tidy(&rendered)
}

/// At most one empty line in a row, except in code, and one newline at the end.
fn tidy(text: &str) -> String {
    let mut tidied = String::with_capacity(text.len());
    let mut fence: Option<String> = None;
    let mut empty = false;
    for line in text.trim().lines() {
        let content = line.trim();
        match &fence {
            Some(ticks) if content == ticks => fence = None,
            Some(_) => {}
            None => {
                let ticks: String = content.chars().take_while(|mark| *mark == '`').collect();
                if ticks.len() >= 3 && !content[ticks.len()..].contains('`') {
                    fence = Some(ticks);
                }
            }
        }
        if content.is_empty() && empty && fence.is_none() {
            continue;
        }
        empty = content.is_empty();
        tidied.push_str(if fence.is_some() { line } else { line.trim_end() });
        tidied.push('\n');
    }
    tidied
}

/// What the reader must know before reading on.
fn notices(outcome: &Outcome, nothing: bool) -> Vec<String> {
    let mut notices = Vec::new();
    // With nothing found, the agent's words tell what was missing.
    let answer = nothing.then_some(outcome.answer.as_str());
    let said: Vec<String> = [outcome.note.as_deref(), answer]
        .into_iter()
        .flatten()
        .map(inline)
        .filter(|text| !text.is_empty())
        .collect();
    match outcome.status {
        TaskStatus::Completed if nothing && said.is_empty() => {
            notices.push("Nothing was found that answers this question.".to_owned());
        }
        TaskStatus::Completed => {}
        TaskStatus::Cancelled if nothing => {
            notices.push("**Cancelled** before anything was found.".to_owned());
        }
        TaskStatus::Cancelled => {
            notices.push("**Cancelled**: this is what had been found by then.".to_owned());
        }
        TaskStatus::Failed if outcome.error.is_some() => {}
        TaskStatus::Failed => notices.push("**Failed.**".to_owned()),
        TaskStatus::Interrupted if nothing => notices.push(
            "**Interrupted** before anything was found: the process that worked on this is gone."
                .to_owned(),
        ),
        TaskStatus::Interrupted => notices.push(
            "**Interrupted**: the process that worked on this is gone; this is what had been found by then."
                .to_owned(),
        ),
        TaskStatus::NeedsAttention => notices.push(
            "**Needs attention**: the research may have been started at the vendor, and may have \
             been paid for, but nobody knows what became of it."
                .to_owned(),
        ),
        TaskStatus::Running if nothing => {
            notices.push("**Still running**: nothing has been found yet.".to_owned());
        }
        TaskStatus::Running => {
            notices.push("**Still running**: this is what has been found so far.".to_owned());
        }
    }
    if let Some(error) = &outcome.error {
        let hint = error.hint.as_ref().map(|hint| format!(" ({})", inline(hint)));
        notices.push(format!("**Failed**: {}{}", inline(&error.message), hint.unwrap_or_default()));
    }
    notices.extend(said);
    if let Some(command) = outcome.way_on() {
        notices.push(format!(
            "Nothing that was done is lost: `{command}`, or the tool `deep_search` with \
             `resume`, goes on from here."
        ));
    }
    notices
}

/// Whether the answer says no more than the findings do.
fn restates(answer: &str, findings: &[Finding]) -> bool {
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
fn bullet(finding: &Finding, citations: &Citations) -> String {
    let cited =
        format!("{} {}", citations.mark(&finding.source), citations::place(&finding.source));
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

fn queries(outcome: &Outcome) -> Vec<String> {
    let mut queries: Vec<String> = Vec::new();
    for query in outcome.rounds.iter().flat_map(|round| &round.queries) {
        let query = inline(&shortened(&one_line(query), TITLE_CHARACTERS));
        if !queries.contains(&query) {
            queries.push(query);
        }
    }
    queries
}

fn looked_through(outcome: &Outcome) -> Vec<String> {
    let mut lines = Vec::new();
    let queries = queries(outcome);
    if !queries.is_empty() {
        lines.push(format!("Searched for {}.", quoted_list(queries.iter().map(String::as_str))));
    }
    let files = files(&outcome.sources);
    match files.as_slice() {
        [] if outcome.rounds.is_empty() => lines.push("Nothing was searched.".to_owned()),
        [] => lines.push("No passage matched these words.".to_owned()),
        files => {
            let shown: Vec<String> =
                files.iter().take(ALSO_READ).map(|file| code_span(file)).collect();
            let more = files.len().saturating_sub(ALSO_READ);
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            lines.push(format!(
                "Read {} from {}{more}: no answer there.",
                count(outcome.sources.len() as u64, "passage"),
                shown.join(", "),
            ));
        }
    }
    lines
}

fn advice(outcome: &Outcome) -> Vec<String> {
    let mut lines = Vec::new();
    let searched = queries(outcome);
    let follow_ups: Vec<String> = outcome
        .rounds
        .last()
        .into_iter()
        .flat_map(|round| &round.follow_ups)
        .map(|text| inline(text))
        .filter(|follow_up| !searched.contains(follow_up))
        .take(3)
        .collect();
    if !follow_ups.is_empty() {
        lines.push(format!("Ask about {}.", quoted_list(follow_ups.iter().map(String::as_str))));
    }
    lines.push(
        "Name the thing as the documents name it; a few rare words find more than a sentence."
            .to_owned(),
    );
    lines.push(
        "See that the right documents are searched: `--docs DIR` adds a directory, `bathysphere doctor --docs DIR` lists them."
            .to_owned(),
    );
    lines
}

/// How the research went: rounds, what each searched and brought, why it ended.
fn course(outcome: &Outcome) -> Vec<String> {
    let mut lines: Vec<String> = outcome.rounds.iter().map(round_line).collect();
    let mut end = count(outcome.rounds.len() as u64, "round");
    if let Some(plan) = &outcome.plan {
        let most = if plan.rounds as usize > outcome.rounds.len() {
            format!(" of at most {}", plan.rounds)
        } else {
            String::new()
        };
        end = format!("{end}{most} ({}: {})", plan.level.in_words(), inline(&plan.reason));
    }
    end = format!("{end} in {}", duration(outcome.duration_ms));
    match &outcome.stop_reason {
        Some(reason) => end = format!("{end}. Stopped because {}.", inline(&stop_reason(reason))),
        None => end.push('.'),
    }
    lines.push(end);
    lines.extend(spent(outcome));
    if outcome.saved {
        let id = short_id(&outcome.id);
        lines.push(format!("Kept as task `{id}`: `bathysphere show {id}` prints it again."));
    }
    lines
}

fn round_line(round: &Round) -> String {
    let mut queries: Vec<String> = round
        .queries
        .iter()
        .map(|query| inline(&shortened(&one_line(query), TITLE_CHARACTERS)))
        .collect();
    // An agent that searches by itself may do so dozens of times.
    let more = queries.len().saturating_sub(QUERIES);
    let more = if round.step == "gather" || more < 2 {
        String::new()
    } else {
        queries.truncate(QUERIES);
        format!(" and {more} more")
    };
    let did = match (round.step.as_str(), queries.as_slice()) {
        ("delegate", _) => "handed the question to a research backend".to_owned(),
        (_, []) => "asked the agent".to_owned(),
        (_, queries) if more.is_empty() => {
            format!("searched {}", quoted_list(queries.iter().map(String::as_str)))
        }
        (_, queries) => {
            let quoted: Vec<String> = queries.iter().map(|query| format!("“{query}”")).collect();
            format!("searched {}{more}", quoted.join(", "))
        }
    };
    let brought = match &round.error {
        Some(error) => format!("failed: {}", inline(&error.message)),
        None if round.step != "gather" => answered(round),
        None if round.new_findings == 0 && round.new_sources == 0 => "nothing new".to_owned(),
        None if round.new_findings == 0 => {
            format!("{}, but no finding", count(round.new_sources.into(), "new source"))
        }
        None => format!(
            "{} from {}",
            count(round.new_findings.into(), "new finding"),
            count(round.new_sources.into(), "new source"),
        ),
    };
    let line = format!("Round {} {did}: {}", round.number, brought.trim_end_matches('.'));
    match summary_of(round) {
        Some(summary) if round.error.is_none() => format!("{line}. {}", inline(summary)),
        _ => format!("{line}."),
    }
}

/// What a round brought in which an agent searched by itself.
fn answered(round: &Round) -> String {
    let sources = match round.new_sources {
        0 => "no new source".to_owned(),
        sources => count(sources.into(), "new source"),
    };
    match round.verified {
        Some(true) => format!("{sources}, verified"),
        Some(false) => format!("{sources}, not verified"),
        None => sources,
    }
}

/// Model, tokens and money, where any were spent.
fn spent(outcome: &Outcome) -> Option<String> {
    let usage = &outcome.usage;
    let mut parts = Vec::new();
    if usage.input_tokens + usage.output_tokens > 0 {
        parts.push(format!(
            "{} read and {} written",
            count(usage.input_tokens, "token"),
            count(usage.output_tokens, "token"),
        ));
    }
    let cost = usage.cost_usd.filter(|cost| *cost > 0.0);
    parts.extend(cost.map(|cost| format!("${cost:.4}")));
    if parts.is_empty() && !outcome.is_written() {
        return None;
    }
    let model = outcome.model.as_ref().map(|model| format!("model {}", code_span(model)));
    let parts: Vec<String> = model.into_iter().chain(parts).collect();
    (!parts.is_empty()).then(|| format!("Used {}.", parts.join(", ")))
}

#[cfg(test)]
pub(crate) mod tests;
