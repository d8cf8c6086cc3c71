//! A report in parts, each of them Markdown that stays in its place whatever its
//! text says. The templates lay the parts out: for the terminal and MCP, for a file
//! of the library, and for a page.

use std::fmt::Write as _;

use minijinja::{Environment, context};
use serde::Serialize;

use super::citations::{Citations, Visited, description, footnote};
use super::cited::{Cited, Form};
use super::findings::{bullet, restates};
use super::markdown::{contained, inline};
use super::words::{one_line, shortened};
use super::{ALSO_READ, Outcome, TITLE_CHARACTERS, TaskStatus, VISITED, course, notices};
use crate::plugins::contract::Source;

const TEMPLATE: &str = include_str!("../../../templates/report.md");

#[derive(Debug, Serialize)]
pub struct Document {
    pub title: String,
    /// In full, where the title is too short for it.
    pub question: Option<String>,
    pub notices: Vec<String>,
    pub answer: Option<String>,
    pub findings: Vec<String>,
    pub looked_through: Vec<String>,
    pub advice: Vec<String>,
    /// From 1 on.
    pub sources: Vec<String>,
    /// What else was visited.
    pub visited: Vec<String>,
    pub visited_heading: &'static str,
    pub also_read: Option<String>,
    pub course: Vec<String>,
    /// What the marks `[^1]` lead to: number and text.
    pub footnotes: Vec<(usize, String)>,
}

/// What the answer is, and what it rests on.
struct Told {
    answer: Option<String>,
    sources: Vec<String>,
    visited: Visited,
    also_read: Option<String>,
    footnotes: Vec<(usize, String)>,
}

impl Document {
    /// `most`: how many sources that nothing cites are named.
    pub fn new(outcome: &Outcome, form: Form, most: usize) -> Self {
        let text = one_line(&outcome.question.text);
        let title = shortened(&text, TITLE_CHARACTERS);
        let question = (title != text).then(|| contained(&outcome.question.text, 2));
        let nothing = outcome.found_nothing();
        let citations = (!nothing).then(|| Cited::new(outcome, form)).flatten();
        let (told, findings) = match citations {
            Some(cited) => (resolved(&cited, most), Vec::new()),
            None => counted(outcome, form, nothing, most),
        };
        // What was looked through is then told as the result, not once more below.
        let searched = nothing && outcome.status == TaskStatus::Completed;
        Self {
            title: inline(&title),
            question,
            notices: notices::notices(outcome, nothing),
            answer: told.answer,
            findings,
            looked_through: if searched { course::looked_through(outcome) } else { Vec::new() },
            advice: if searched { course::advice(outcome) } else { Vec::new() },
            sources: told.sources,
            visited: told.visited.places,
            visited_heading: if told.visited.is_all { "Sources" } else { "Other sources visited" },
            also_read: told.also_read,
            course: course::course(outcome),
            footnotes: told.footnotes,
        }
    }

    /// As the terminal and MCP clients show it.
    pub fn to_markdown(&self) -> String {
        let rendered = Environment::new()
            .render_str(
                TEMPLATE,
                context! { ..minijinja::Value::from(minijinja::value::Serde(self)) },
            )
            .expect("the built-in template renders any outcome");
        tidy(&rendered)
    }
}

/// A report whose citations were resolved.
fn resolved(cited: &Cited, most: usize) -> Told {
    let mut places: Vec<String> = cited.others.iter().take(most).map(description).collect();
    if cited.others.len() > most {
        places.push(format!("and {} more", cited.others.len() - most));
    }
    let footnotes = (1..).zip(cited.numbered.iter().map(footnote)).collect();
    Told {
        answer: Some(contained(&cited.text, 2)),
        sources: cited.numbered.iter().map(description).collect(),
        visited: Visited { places, is_all: cited.numbered.is_empty() },
        also_read: None,
        footnotes,
    }
}

/// A report whose findings, or sources, are counted.
fn counted(outcome: &Outcome, form: Form, nothing: bool, most: usize) -> (Told, Vec<String>) {
    let answer = (!nothing
        && !outcome.answer.trim().is_empty()
        && !restates(&outcome.answer, &outcome.findings))
    .then(|| contained(&outcome.answer, 2));
    // A report that an agent wrote by itself has numbers of its own.
    let written = !nothing && outcome.is_written();
    let citations = Citations::new(outcome, answer.is_some() && !written, form);
    let visited =
        if written { citations.visited(&outcome.answer, most) } else { Visited::default() };
    let findings = outcome.findings.iter().map(|finding| bullet(finding, &citations)).collect();
    let sources: Vec<&Source> = outcome.findings.iter().map(|finding| &finding.source).collect();
    let told = Told {
        answer,
        sources: citations.listed(),
        visited,
        also_read: if nothing || written { None } else { citations.also_read(ALSO_READ) },
        footnotes: if form == Form::Footnotes { citations.footnotes(&sources) } else { Vec::new() },
    };
    (told, findings)
}

/// The report in Markdown, as the terminal and MCP clients show it.
pub fn render_markdown(outcome: &Outcome) -> String {
    Document::new(outcome, Form::Brackets, VISITED).to_markdown()
}

/// The words of a report that a research backend wrote, its citations as numbers in
/// brackets; with the numbered list of what they mean, where that is wanted. None
/// where the backend's words can be shown as they are.
pub fn readable(outcome: &Outcome, include_sources: bool) -> Option<String> {
    let cited = Cited::new(outcome, Form::Brackets)?;
    let mut text = cited.text.trim().to_owned();
    text.push('\n');
    if include_sources && !cited.numbered.is_empty() {
        text.push_str("\n## Sources\n\n");
        for (number, source) in (1..).zip(&cited.numbered) {
            let _ = writeln!(text, "{number}. {}", description(source));
        }
    }
    Some(text)
}

/// What a report cites, in the order of its numbers, then what else was looked at.
pub fn sources_in_order(outcome: &Outcome) -> Vec<Source> {
    match Cited::new(outcome, Form::Brackets) {
        Some(cited) => cited.numbered.into_iter().chain(cited.others).collect(),
        None => outcome.sources.clone(),
    }
}

/// At most one empty line in a row, except in code, and one newline at the end.
pub fn tidy(text: &str) -> String {
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
