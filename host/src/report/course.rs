//! How the research went: what each round searched and brought, why it ended, what
//! it took; and, where nothing was found, what was looked through and what to try.

use super::markdown::{code_span, inline};
use super::words::{
    count, duration, grouped, money, one_line, quoted_list, shortened, stop_reason,
};
use super::{ALSO_READ, Outcome, TITLE_CHARACTERS, files, short_id, summary_of};
use crate::plugins::contract::Round;

/// Queries of a round that are named in its line.
const QUERIES: usize = 4;

/// How the research went: rounds, what each searched and brought, why it ended.
pub fn course(outcome: &Outcome) -> Vec<String> {
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
        ("delegate", _) => {
            format!("handed the question to a research backend{}", went_through(round))
        }
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

/// What a research backend searched and read by itself.
fn went_through(round: &Round) -> String {
    let (searches, pages) = (u64::from(round.usage.searches), u64::from(round.usage.pages));
    let mut parts = Vec::new();
    if searches > 0 {
        parts.push(format!("made {}", words(searches, "search", "searches")));
    }
    if pages > 0 {
        parts.push(format!("read {}", count(pages, "page")));
    }
    if parts.is_empty() { String::new() } else { format!(", which {}", parts.join(" and ")) }
}

fn words(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
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
    let delegated = outcome.rounds.iter().any(|round| round.step == "delegate");
    if delegated && usage.searches > 0 {
        parts.push(words(usage.searches.into(), "search", "searches"));
    }
    parts.extend(usage.cost_usd.filter(|cost| *cost > 0.0).map(money));
    if parts.is_empty() && !outcome.is_written() {
        return None;
    }
    let model = outcome.model.as_ref().map(|model| format!("model {}", code_span(model)));
    let parts: Vec<String> = model.into_iter().chain(parts).collect();
    (!parts.is_empty()).then(|| format!("Used {}.", parts.join(", ")))
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

pub fn looked_through(outcome: &Outcome) -> Vec<String> {
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

pub fn advice(outcome: &Outcome) -> Vec<String> {
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
