//! What a run has said so far, line by line, and what it comes to in the end.

use std::collections::HashMap;

use crate::document;
use crate::error::shortened;
use crate::events::{self, Event, Trouble};
use crate::sources::{Found, Sources, addresses};

const SEARCH: &str = "google_web_search";
const FETCH: &str = "web_fetch";

/// What is kept of standard error: its end, where the cause stands.
const ERROR_OUTPUT: usize = 64 << 10;

/// Lines of a run; an answer has a few hundred.
const LINES: usize = 200_000;

/// How much is written between two notices of it.
const WRITTEN_STEP: usize = 2000;

/// Something to tell while it runs; `done` counts what the message speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub message: String,
    pub done: u64,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Exited(i32),
    Signalled(i32),
    /// We ended it, because it began to try again and again.
    Storm,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    pub input: u64,
    /// With what was thought and not said.
    pub output: u64,
    pub cached: u64,
}

/// What a run came to, whichever form it was told in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// What the model said after its last use of a tool.
    pub text: String,
    pub queries: Vec<String>,
    pub searches: u32,
    /// Pages that were read.
    pub pages: Sources,
    pub tokens: Tokens,
    /// The model that answered, where the output tells it.
    pub model: Option<String>,
    /// The run said that it failed.
    pub failed: bool,
    /// The stream has no end: the CLI exits before a pipe has taken all that it says,
    /// and with 0 all the same.
    pub cut: bool,
    pub trouble: Option<Trouble>,
    /// What the model's answer lacked.
    pub complaints: Vec<String>,
    /// Whether a model was asked at all, where that is told.
    pub asked: Option<bool>,
    pub error_output: String,
}

#[derive(Debug, Default)]
pub struct Transcript {
    max_attempts: u32,
    attempts: u32,
    lines: usize,
    streaming: bool,
    /// The last event was heard.
    ended: bool,
    outcome: Outcome,
    /// Addresses a running `web_fetch` was given, by its id.
    fetching: HashMap<String, Vec<Found>>,
    written: usize,
    told: usize,
    /// Output that is no event.
    plain: String,
}

impl Transcript {
    pub fn new(max_attempts: u32) -> Self {
        Self { max_attempts, ..Self::default() }
    }

    /// Whether it has said more than any answer takes.
    pub fn is_flood(&self) -> bool {
        self.lines > LINES
    }

    /// Whether it tries more often than it was told to.
    pub fn is_storm(&self) -> bool {
        self.attempts > self.max_attempts
    }

    /// A line of standard output.
    pub fn output(&mut self, line: &[u8]) -> Option<Notice> {
        self.lines += 1;
        let line = String::from_utf8_lossy(line);
        let Some(event) = events::read(&line) else {
            if !self.streaming {
                self.plain.push_str(&line);
                self.plain.push('\n');
            }
            return None;
        };
        self.streaming = true;
        self.event(event)
    }

    fn event(&mut self, event: Event) -> Option<Notice> {
        match event {
            Event::Init { model } if model.is_empty() || model == "auto" => {
                Some(Notice { message: "the Gemini CLI is at work".into(), done: 0 })
            }
            Event::Init { model } => {
                Some(Notice { message: format!("asking {}", shortened(&model, 60)), done: 0 })
            }
            Event::Message { role, content } if role != "user" => self.said(&content),
            Event::ToolUse { tool_name, tool_id, parameters } => {
                // What was said before is talk on the way, as `-o json` has it, too.
                self.outcome.text.clear();
                let text = |name: &str| parameters[name].as_str().unwrap_or_default();
                match tool_name.as_str() {
                    SEARCH => Some(self.searching(text("query"))),
                    FETCH => {
                        let asked = [text("prompt"), text("url")].join("\n");
                        self.fetching.insert(tool_id, addresses(&asked));
                        None
                    }
                    _ => None,
                }
            }
            Event::ToolResult { tool_id, status } => {
                let pages = self.fetching.remove(&tool_id).filter(|_| status == "success")?;
                let last = pages.last().map(|page| shortened(&page.url, 120))?;
                self.outcome.pages.extend(pages);
                let done = self.outcome.pages.clone().into_vec().len();
                Some(Notice { message: format!("read {last}"), done: done as u64 })
            }
            Event::Error { severity, message } => {
                if severity != "warning" {
                    self.outcome.failed = true;
                }
                self.outcome.complaints.push(message);
                None
            }
            Event::Result { status, error, stats } => {
                self.ended = true;
                self.outcome.failed |= status != "success" || error.is_some();
                self.outcome.trouble = error;
                if let Some(stats) = stats {
                    self.outcome.asked = Some(!stats.models.is_empty());
                    self.outcome.tokens = Tokens {
                        input: stats.input_tokens,
                        // The total counts thoughts, which are paid as output.
                        output: stats
                            .total_tokens
                            .saturating_sub(stats.input_tokens)
                            .max(stats.output_tokens),
                        cached: stats.cached,
                    };
                }
                None
            }
            Event::Message { .. } | Event::Unknown => None,
        }
    }

    fn searching(&mut self, query: &str) -> Notice {
        let query = query.trim();
        if !query.is_empty() && !self.outcome.queries.iter().any(|known| known == query) {
            self.outcome.queries.push(query.to_owned());
        }
        self.outcome.searches += 1;
        Notice {
            message: format!("searching \"{}\"", shortened(query, 120)),
            done: self.outcome.searches.into(),
        }
    }

    fn said(&mut self, content: &str) -> Option<Notice> {
        self.outcome.text.push_str(content);
        self.written += content.chars().count();
        let first = self.told == 0 && self.written > 0;
        if !first && self.written < self.told + WRITTEN_STEP {
            return None;
        }
        self.told = self.written;
        let message = format!("writing, {} characters so far", self.written);
        Some(Notice { message, done: self.written as u64 })
    }

    /// A line of standard error.
    pub fn error_output(&mut self, line: &[u8]) -> Option<Notice> {
        self.lines += 1;
        let line = without_escapes(&String::from_utf8_lossy(line));
        let kept = &mut self.outcome.error_output;
        kept.push_str(&line);
        kept.push('\n');
        if kept.len() > 2 * ERROR_OUTPUT {
            let cut = kept.ceil_char_boundary(kept.len() - ERROR_OUTPUT);
            kept.drain(..cut);
        }
        if let Some(number) = number_between(&line, "Attempt ", " failed") {
            self.attempts = self.attempts.max(number as u32);
        }
        let wait = number_between(&line, "Retrying after ", "ms")?;
        let (attempt, seconds) = (self.attempts, wait.div_ceil(1000));
        let message = format!("attempt {attempt} failed, the CLI tries again in {seconds} s");
        Some(Notice { message, done: attempt.into() })
    }

    /// What it comes to.
    pub fn finish(self) -> Outcome {
        let mut outcome = self.outcome;
        if self.streaming {
            outcome.cut = !self.ended;
            return outcome;
        }
        let found = document::read(&self.plain).or_else(|| document::read(&outcome.error_output));
        let Some(document) = found else {
            outcome.text = self.plain;
            return outcome;
        };
        let models = &document.stats.models;
        let sum = |count: fn(&document::Tokens) -> u64| {
            models.values().map(|model| count(&model.tokens)).sum::<u64>()
        };
        outcome.tokens = Tokens {
            input: sum(|tokens| tokens.prompt + tokens.tool),
            output: sum(|tokens| tokens.candidates + tokens.thoughts),
            cached: sum(|tokens| tokens.cached),
        };
        let tools = &document.stats.tools.by_name;
        outcome.searches = tools.get(SEARCH).map_or(0, |tool| tool.count);
        outcome.model = document.main_model().map(str::to_owned);
        outcome.asked = document.response.is_some().then_some(!models.is_empty());
        outcome.failed = document.error.is_some();
        outcome.text = document.response.unwrap_or_default();
        outcome.trouble = document.error;
        outcome
    }
}

/// Colours and the like, which the CLI writes even where it is told not to.
fn without_escapes(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        if c != '\u{1b}' {
            text.push(c);
            continue;
        }
        if rest.clone().next() == Some('[') {
            rest.next();
            // Up to the letter that ends the sequence.
            for c in rest.by_ref() {
                if ('\u{40}'..='\u{7e}').contains(&c) {
                    break;
                }
            }
        }
    }
    text
}

fn number_between(line: &str, before: &str, after: &str) -> Option<u64> {
    let (_, rest) = line.split_once(before)?;
    let (number, _) = rest.split_once(after)?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(lines: &[&str]) -> (Transcript, Vec<String>) {
        let mut transcript = Transcript::new(1);
        let notices = lines
            .iter()
            .filter_map(|line| transcript.output(line.as_bytes()))
            .map(|notice| format!("{} ({})", notice.message, notice.done))
            .collect();
        (transcript, notices)
    }

    #[test]
    fn what_happens_is_told_with_real_counts() {
        let (transcript, notices) = heard(&[
            r#"{"type":"init","model":"auto"}"#,
            r#"{"type":"message","role":"user","content":"the whole prompt"}"#,
            r#"{"type":"message","role":"assistant","content":"I will search.","delta":true}"#,
            r#"{"type":"tool_use","tool_name":"google_web_search","tool_id":"1","parameters":{"query":"one"}}"#,
            r#"{"type":"tool_use","tool_name":"google_web_search","tool_id":"2","parameters":{"query":"two"}}"#,
            r#"{"type":"tool_result","tool_id":"1","status":"success"}"#,
            r#"{"type":"tool_use","tool_name":"web_fetch","tool_id":"3","parameters":{"prompt":"https://a.example https://b.example"}}"#,
            r#"{"type":"tool_result","tool_id":"3","status":"success"}"#,
            r#"{"type":"tool_use","tool_name":"web_fetch","tool_id":"4","parameters":{"url":"https://c.example"}}"#,
            r#"{"type":"tool_result","tool_id":"4","status":"error"}"#,
            r#"{"type":"message","role":"assistant","content":"The answer.","delta":true}"#,
        ]);
        assert_eq!(
            notices,
            [
                "the Gemini CLI is at work (0)",
                "writing, 14 characters so far (14)",
                "searching \"one\" (1)",
                "searching \"two\" (2)",
                "read https://b.example (2)",
            ]
        );
        let outcome = transcript.finish();
        assert_eq!(outcome.text, "The answer.");
        assert_eq!(outcome.queries, ["one", "two"]);
        assert_eq!(outcome.pages.urls(), ["https://a.example", "https://b.example"]);
    }

    #[test]
    fn a_storm_is_one_attempt_more_than_was_allowed() {
        let mut transcript = Transcript::new(1);
        transcript.error_output(b"Attempt 1 failed: busy. Max attempts reached");
        assert!(!transcript.is_storm());
        let notice = transcript.error_output(b"wait. Retrying after 5744ms...").unwrap();
        assert_eq!(notice.message, "attempt 1 failed, the CLI tries again in 6 s");
        transcript.error_output(b"Attempt 2 failed with status 503. Retrying with backoff...");
        assert!(transcript.is_storm());
    }

    #[test]
    fn a_flood_is_noticed_and_little_of_it_is_kept() {
        let mut transcript = Transcript::new(1);
        for _ in 0..=LINES {
            transcript.error_output("ä long line of an endless complaint".as_bytes());
        }
        assert!(transcript.is_flood());
        assert!(transcript.finish().error_output.len() <= 3 * ERROR_OUTPUT);
    }

    #[test]
    fn colours_are_taken_out() {
        assert_eq!(without_escapes("\u{1b}[31mred\u{1b}[0m, \u{1b}[38;5;1mred\u{1b}"), "red, red");
    }
}
