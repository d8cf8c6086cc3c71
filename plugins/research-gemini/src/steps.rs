//! What an interaction has done, step by step: a line for each thing that a person
//! would want to know, in order, and what the steps brought. Nothing is made up: a
//! step that is not known is shown as what it is called.

use std::collections::HashSet;

use serde_json::Value;

use crate::report::Report;
use crate::sources::{Sources, checked};
use crate::value::{line, list, text};

const LONGEST_LINE: usize = 300;
const LONGEST_NAME: usize = 80;
/// More than any run has; an answer that lies could hold a million.
const MOST_LINES: usize = 10_000;

#[derive(Default)]
pub struct Steps {
    /// Oldest first.
    pub progress: Vec<String>,
    pub thoughts: u32,
    pub searches: u32,
    pub pages: u32,
    pub report: Report,
    /// Pages that were read.
    pub read: Sources,
    /// What the last output says went wrong with it.
    pub error: Option<Value>,
    seen: HashSet<String>,
}

impl Steps {
    pub fn read(interaction: &Value) -> Self {
        let mut steps = Self::default();
        // They were called `outputs` before, with contents where steps are now.
        let key = if interaction.get("steps").is_some() { "steps" } else { "outputs" };
        for step in list(interaction, key) {
            steps.step(step);
        }
        steps
    }

    fn step(&mut self, step: &Value) {
        let kind = text(step, "type").unwrap_or("a step without a type");
        if !matches!(kind, "thought" | "model_output" | "text") {
            self.report.set_apart();
        }
        match kind {
            "thought" => self.thought(step),
            "google_search_call" => self.search(step),
            "url_context_call" => self.reading(step),
            "url_context_result" => self.was_read(step),
            "model_output" => self.output(step),
            // The question itself; and what a search found, which is not yet read.
            "user_input" | "google_search_result" => {}
            _ => self.content(step, kind),
        }
    }

    fn tell(&mut self, told: &str, most: usize) {
        let told = line(told, most);
        if !told.is_empty() && self.progress.len() < MOST_LINES {
            self.progress.push(told);
        }
    }

    fn thought(&mut self, step: &Value) {
        self.thoughts = self.thoughts.saturating_add(1);
        for part in list(step, "summary") {
            match (text(part, "text"), text(part, "type")) {
                (Some(words), _) => self.tell(&plain(words), LONGEST_LINE),
                (None, Some(kind)) => self.tell(kind, LONGEST_NAME),
                (None, None) => {}
            }
        }
    }

    fn search(&mut self, step: &Value) {
        let queries: Vec<&str> = strings(step, "queries");
        self.searches = self.searches.saturating_add(queries.len() as u32);
        if queries.is_empty() {
            return self.tell("searching", LONGEST_NAME);
        }
        let quoted: Vec<String> = queries.iter().map(|query| format!("\"{query}\"")).collect();
        self.tell(&format!("searching {}", quoted.join(", ")), LONGEST_LINE);
    }

    fn reading(&mut self, step: &Value) {
        let urls = strings(step, "urls");
        if urls.is_empty() {
            return self.tell("reading pages", LONGEST_NAME);
        }
        self.tell(&format!("reading {}", urls.join(", ")), LONGEST_LINE);
    }

    fn was_read(&mut self, step: &Value) {
        for result in list(step, "result") {
            let Some(url) = text(result, "url") else { continue };
            match text(result, "status") {
                None | Some("success") => {
                    let new = checked(url).is_some_and(|url| self.seen.insert(url.to_owned()));
                    if new && self.read.add(url, text(result, "title")) {
                        self.pages = self.pages.saturating_add(1);
                    }
                }
                Some(status) => {
                    self.tell(&format!("could not read {url} ({status})"), LONGEST_LINE);
                }
            }
        }
    }

    fn output(&mut self, step: &Value) {
        let before = self.report.is_empty();
        for content in list(step, "content") {
            self.content(content, text(content, "type").unwrap_or("a content without a type"));
        }
        if before && !self.report.is_empty() {
            self.tell("writing the report", LONGEST_NAME);
        }
        self.error = step.get("error").filter(|error| error.is_object()).cloned();
    }

    /// What a report is made of, or what cannot be part of one.
    fn content(&mut self, content: &Value, kind: &str) {
        if kind == "text" {
            self.report.add(content);
        } else {
            self.report.set_apart();
            self.tell(kind, LONGEST_NAME);
        }
    }
}

fn strings<'a>(step: &'a Value, key: &str) -> Vec<&'a str> {
    let arguments = step.get("arguments").unwrap_or(&Value::Null);
    list(arguments, key).iter().filter_map(Value::as_str).collect()
}

/// A thought begins with a title in bold.
fn plain(thought: &str) -> String {
    let thought = thought.trim();
    let titled = thought.strip_prefix("**").and_then(|rest| rest.split_once("**"));
    match titled {
        Some((title, rest)) if !rest.trim().is_empty() => {
            format!("{}: {}", title.trim().trim_end_matches(':'), rest.trim()).replace("**", "")
        }
        _ => thought.replace("**", ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn progress(steps: &Value) -> Vec<String> {
        Steps::read(&json!({ "steps": steps })).progress
    }

    #[test]
    fn each_step_is_a_line() {
        let steps = json!([
            { "type": "user_input", "content": [{ "type": "text", "text": "a question" }] },
            { "type": "thought", "summary": [
                { "type": "text", "text": "**Planning**\n\nI look for **two** things." },
                { "type": "text", "text": "**Only a title**" },
                { "type": "image" },
            ] },
            { "type": "thought" },
            { "type": "google_search_call", "arguments": { "queries": ["tpu history", "tpu v1"] } },
            { "type": "google_search_call" },
            { "type": "google_search_result", "result": [{ "search_suggestions": "<div/>" }] },
            { "type": "url_context_call", "arguments": { "urls": ["https://a.example/"] } },
            { "type": "url_context_result", "result": [
                { "url": "https://a.example/", "status": "success" },
                { "url": "https://a.example/" },
                { "url": "https://b.example/", "status": "paywall" },
                { "status": "success" },
            ] },
            { "type": "code_execution_call", "arguments": { "code": "1+1" } },
            { "no": "type" },
            7,
            { "type": "model_output", "content": [
                { "type": "text", "text": "Done." }, { "type": "image", "data": "AAAA" }, 5,
            ] },
        ]);
        let read = Steps::read(&json!({ "steps": steps }));
        assert_eq!(
            read.progress,
            [
                "Planning: I look for two things.",
                "Only a title",
                "image",
                "searching \"tpu history\", \"tpu v1\"",
                "searching",
                "reading https://a.example/",
                "could not read https://b.example/ (paywall)",
                "code_execution_call",
                "a step without a type",
                "a step without a type",
                "image",
                "a content without a type",
                "writing the report",
            ]
        );
        assert_eq!((read.thoughts, read.searches, read.pages), (2, 2, 1));
    }

    #[test]
    fn a_page_counts_once_however_often_it_is_read() {
        let result =
            json!({ "type": "url_context_result", "result": [{ "url": "https://a.example/" }] });
        let read = Steps::read(&json!({ "steps": [result, result] }));
        assert_eq!((read.pages, read.read.into_vec().len()), (1, 1));
    }

    #[test]
    fn lines_are_short_and_do_not_steer_the_terminal() {
        let words = format!("**A**\n\u{1b}[31m{}", "word ".repeat(500));
        let lines = progress(&json!([
            { "type": "thought", "summary": [{ "text": words }] },
            { "type": "x".repeat(500) },
        ]));
        assert!(lines[0].chars().count() <= LONGEST_LINE + 1, "{}", lines[0]);
        assert!(lines[0].starts_with("A: [31mword word") && lines[0].ends_with('…'));
        assert!(lines[1].chars().count() <= LONGEST_NAME + 1);
    }

    #[test]
    fn a_flood_of_steps_is_bounded() {
        let steps: Vec<Value> = (0..20_000).map(|_| json!({ "type": "x" })).collect();
        assert_eq!(progress(&json!(steps)).len(), MOST_LINES);
    }

    #[test]
    fn what_was_called_outputs_is_read_as_well() {
        let read = Steps::read(&json!({ "outputs": [
            { "type": "thought", "summary": [{ "type": "text", "text": "hm" }] },
            { "type": "text", "text": "The ", "annotations": [
                { "start_index": 0, "end_index": 3, "source": "https://a.example/" },
            ] },
            { "type": "text", "text": "end." },
        ] }));
        assert_eq!(read.progress, ["hm"]);
        let written = read.report.finish(Sources::default());
        assert_eq!(written.text.as_deref(), Some("The end."));
        assert_eq!(written.citations[0].source.url, "https://a.example/");
    }
}
