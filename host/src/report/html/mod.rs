//! A report as one page that needs nothing else: no script, no font, no picture from
//! elsewhere. Everything that came from outside is text: HTML in it is shown, not
//! obeyed, and only links to the web and to mailboxes are links.

mod body;
mod chart;

use minijinja::{Value, context};

use super::cited::{Cited, Form};
use super::document::Document;
use super::facts::facts;
use super::templates::{Kind, Templates};
use super::words::{one_line, shortened};
use super::{Outcome, TITLE_CHARACTERS};
use crate::config::ConfigError;
use body::Page;

/// Sources that nothing cites.
const OTHERS: usize = 500;

/// A shorter report needs no table of contents.
const LONG: usize = 3_000;
const PARTS: usize = 3;

/// Parts that a table of contents names, before it names only the chief ones.
const MOST_PARTS: usize = 40;

/// The report as a page, with everything that is known.
pub fn render_html(outcome: &Outcome, templates: &Templates) -> Result<String, ConfigError> {
    render(outcome, true, true, templates)
}

pub fn render(
    outcome: &Outcome,
    include_metadata: bool,
    include_sources: bool,
    templates: &Templates,
) -> Result<String, ConfigError> {
    let document = Document::new(outcome, Form::Footnotes, OTHERS);
    let mut page = Page::new(document.footnotes.iter().map(|(number, _)| *number).max());
    let safe = Value::from_safe_string;
    let lines = |lines: &[String]| -> Vec<Value> {
        lines.iter().map(|line| safe(body::inline(line))).collect()
    };
    let answer = document.answer.as_deref().map(|answer| safe(page.block(answer)));
    let findings: Vec<Value> = document
        .findings
        .iter()
        .map(|finding| safe(page.block(finding.strip_prefix("- ").unwrap_or(finding))))
        .collect();
    let cited = |number: usize| document.footnotes.iter().any(|(known, _)| *known == number);
    let sources: Vec<Value> = (1..)
        .zip(&document.sources)
        .filter(|(number, _)| include_sources || cited(*number))
        .map(|(number, source)| {
            context! { number, text => safe(body::inline(source)), back => page.uses(number) }
        })
        .collect();
    let long = document.answer.as_ref().is_some_and(|answer| answer.len() > LONG);
    let contents = contents(&page);
    let facts = facts(outcome);
    let known: Vec<Value> = facts
        .iter()
        .filter(|fact| include_metadata && !fact.shown.is_empty() && fact.key != "question")
        .map(|fact| context! { key => fact.key, label => fact.label, value => fact.shown.clone() })
        .collect();
    let tile = |key: &str| {
        let fact = facts.iter().find(|fact| fact.key == key && !fact.shown.is_empty())?;
        Some(context! { label => fact.label, value => fact.shown.clone() })
    };
    let tiles: Vec<Value> = ["duration_seconds", "searches", "pages", "sources", "cost_usd"]
        .into_iter()
        .filter_map(tile)
        .collect();
    let task: std::collections::BTreeMap<&str, String> =
        facts.iter().map(|fact| (fact.key, fact.shown.clone())).collect();
    let charts: Vec<Value> = if include_metadata {
        let resolved = Cited::new(outcome, Form::Footnotes);
        chart::charts(outcome, resolved.as_ref()).into_iter().map(safe).collect()
    } else {
        Vec::new()
    };
    let values = context! {
        task,
        facts => known,
        tiles => if include_metadata { tiles } else { Vec::new() },
        charts,
        contents => if long && contents.len() >= PARTS { contents } else { Vec::new() },
        name => shortened(&one_line(&outcome.question.text), TITLE_CHARACTERS),
        title => safe(body::inline(&document.title)),
        question => document.question.as_deref().map(|question| safe(page.block(question))),
        notices => lines(&document.notices),
        answer,
        findings,
        looked_through => lines(&document.looked_through),
        advice => lines(&document.advice),
        sources,
        sources_heading => if include_sources { "Sources" } else { "Footnotes" },
        visited => lines(if include_sources { &document.visited } else { &[] }),
        visited_heading => document.visited_heading,
        also_read => document
            .also_read
            .as_deref()
            .filter(|_| include_sources)
            .map(|also| safe(body::inline(also))),
        course => lines(if include_metadata { &document.course } else { &[] }),
    };
    templates.render(Kind::Html, values)
}

/// The headings of the two highest levels; of very many only those of the first.
fn contents(page: &Page) -> Vec<Value> {
    let highest = page.highest();
    let up_to = |level: usize| page.headings().iter().filter(move |heading| heading.level <= level);
    let lowest = if up_to(highest + 1).count() > MOST_PARTS { highest } else { highest + 1 };
    up_to(lowest)
        .map(|heading| {
            let is_part = heading.level > highest;
            context! { anchor => heading.anchor.clone(), text => heading.text.clone(), is_part }
        })
        .collect()
}

#[cfg(test)]
mod tests;
