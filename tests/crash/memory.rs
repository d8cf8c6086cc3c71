//! What the clients asked and were told. It is all that a user has, and so all that
//! the program is held to.

use std::time::{Duration, Instant};

use serde_json::Value;

/// What was asked of a server.
#[derive(Debug, Clone, Copy)]
pub enum Asked {
    Greeting,
    Start(usize),
    Status(usize, Known),
    Results(usize, Known),
    Cancel(usize, Known),
}

/// What had been told of a task by the time that something was asked: an answer may
/// be overtaken by that of another server, but not by what came before its question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    Nothing,
    Completed,
    Failed,
    Cancelled,
}

impl Known {
    fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// One question, and all that was told of it.
pub struct Research {
    pub query: String,
    /// The number of the server that was asked to start it.
    pub server: u32,
    /// How long the vendor takes to answer the start.
    pub slow: Duration,
    /// The vendor will say that it failed.
    pub fails: bool,
    /// The user wants to be told of its end.
    pub notify: bool,
    /// Once a client was given it.
    pub id: Option<String>,
    pub known: Known,
    pub report: Option<String>,
    /// Whether or not that was answered.
    pub cancel_asked: bool,
    /// The start was refused, and there is no task.
    pub refused: bool,
    /// Requests that had started it when the user had it started again.
    pub before_retry: Option<usize>,
    story: Vec<(Duration, String)>,
}

pub struct Memory {
    pub all: Vec<Research>,
    /// What must never be, and was seen.
    pub violations: Vec<String>,
    /// Refusals and errors that are allowed.
    pub complaints: Vec<String>,
    begun: Instant,
}

impl Memory {
    pub fn new() -> Self {
        Self {
            all: Vec::new(),
            violations: Vec::new(),
            complaints: Vec::new(),
            begun: Instant::now(),
        }
    }

    pub fn add(&mut self, query: String, server: u32, fails: bool, notify: bool) -> usize {
        self.all.push(Research {
            slow: slow_start(&query),
            query,
            server,
            fails,
            notify,
            id: None,
            known: Known::Nothing,
            report: None,
            cancel_asked: false,
            refused: false,
            before_retry: None,
            story: Vec::new(),
        });
        self.all.len() - 1
    }

    /// Since the beginning.
    pub fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    pub fn tell(&mut self, task: usize, words: impl Into<String>) {
        let at = self.now();
        self.all[task].story.push((at, words.into()));
    }

    pub fn violation(&mut self, task: usize, words: &str) {
        let research = &self.all[task];
        let id = research.id.as_deref().unwrap_or("no id");
        let mut told = vec![format!("{words}: {id}, {:?}", research.query)];
        for (at, words) in &research.story {
            told.push(format!("    {:>8.3} s  {words}", at.as_secs_f64()));
        }
        self.violations.push(told.join("\n"));
    }

    /// A server has answered.
    pub fn answered(&mut self, asked: Asked, answer: &Value, server: u32) {
        let told = &answer["result"]["structuredContent"];
        match asked {
            Asked::Greeting => {}
            Asked::Start(task) => self.started(task, told, answer, server),
            Asked::Status(task, known) => {
                let status = told["status"].as_str().unwrap_or_default().to_owned();
                self.tell(task, format!("server {server} says: {status}"));
                if told["success"] == true {
                    self.stands(task, known, &status);
                } else {
                    self.unexpected(task, "a status could not be told", answer);
                }
            }
            Asked::Results(task, known) => {
                let status = told["status"].as_str().unwrap_or_default().to_owned();
                self.tell(task, format!("server {server} gives results: {status}"));
                if status.is_empty() {
                    self.unexpected(task, "results could not be told", answer);
                } else {
                    self.stands(task, known, &status);
                    self.reported(task, &status, &told["report"]);
                }
            }
            Asked::Cancel(task, known) => self.cancelled(task, known, told, answer, server),
        }
    }

    fn started(&mut self, task: usize, told: &Value, answer: &Value, server: u32) {
        let Some(id) = told["task_id"].as_str() else {
            self.all[task].refused = true;
            self.unexpected(task, "a start was refused", answer);
            return;
        };
        let status = told["status"].as_str().unwrap_or_default().to_owned();
        self.all[task].id = Some(id.to_owned());
        self.tell(task, format!("server {server} has started it: {status}"));
        self.stands(task, Known::Nothing, &status);
        self.reported(task, &status, &told["results"]["report"]);
    }

    fn cancelled(&mut self, task: usize, known: Known, told: &Value, answer: &Value, server: u32) {
        if told["success"] == true {
            let vendor = &told["vendor"];
            self.tell(task, format!("server {server} has cancelled it, the vendor is {vendor}"));
            self.stands(task, known, "cancelled");
        } else if told["error"]["code"] == "ALREADY_ENDED" {
            self.tell(task, format!("server {server} does not cancel what has ended"));
            if known == Known::Cancelled {
                self.violation(task, "a cancelled task has ended otherwise");
            }
        } else {
            self.unexpected(task, "it could not be cancelled", answer);
        }
    }

    /// Whoever asked knew this much.
    fn stands(&mut self, task: usize, known: Known, status: &str) {
        if known != Known::Nothing && known.as_str() != status {
            let words = format!("told to be {}, and later {status}", known.as_str());
            self.violation(task, &words);
        }
        let now = match status {
            "completed" => Known::Completed,
            "failed" => Known::Failed,
            "cancelled" => Known::Cancelled,
            "running_async" | "needs_attention" | "interrupted" => return,
            _ => {
                self.violation(task, &format!("an unknown status `{status}`"));
                return;
            }
        };
        self.all[task].known = now;
        let research = &self.all[task];
        if now == Known::Failed && !research.fails {
            self.violation(task, "failed for no reason");
        } else if now == Known::Cancelled && !research.cancel_asked {
            self.violation(task, "cancelled by nobody");
        }
    }

    fn reported(&mut self, task: usize, status: &str, report: &Value) {
        if status != "completed" {
            return;
        }
        let report = report.as_str().unwrap_or_default();
        match &self.all[task].report {
            _ if report.is_empty() => self.violation(task, "completed without a report"),
            None => self.all[task].report = Some(report.to_owned()),
            Some(before) if before != report => self.violation(task, "the report has changed"),
            Some(_) => {}
        }
    }

    /// Nothing is lost by it, but it is worth a look.
    fn unexpected(&mut self, task: usize, words: &str, answer: &Value) {
        let error = &answer["result"]["structuredContent"]["error"];
        let told = if error.is_null() { answer } else { error };
        self.tell(task, format!("{words}: {told}"));
        self.complaints.push(format!("{words}: {told}"));
    }
}

fn slow_start(query: &str) -> Duration {
    let mut words = query.split_whitespace();
    let slow = words.find_map(|word| word.strip_prefix("stand-in:slow-start="));
    Duration::from_millis(slow.map_or(0, |slow| slow.parse().expect("a number")))
}
