//! The contract's words as plain Rust, free of any WIT version. They are stored
//! as JSON with each round, so a change here is a change of the stored form.

use serde::{Deserialize, Serialize};

/// Names and values for what later versions of the contract add.
pub type Extra = Vec<(String, String)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    Tiny,
    Normal,
    Large,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskType {
    Reference,
    Debug,
    Architecture,
    Research,
    Other(String),
}

/// What is asked, and how far the answer may go.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Question {
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_type: Option<TaskType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    None,
    Shallow,
    Medium,
    Deep,
}

impl Level {
    pub fn in_words(self) -> &'static str {
        match self {
            Self::None => "no research",
            Self::Shallow => "shallow research",
            Self::Medium => "medium research",
            Self::Deep => "deep research",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchDepth {
    Basic,
    Advanced,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub level: Level,
    pub rounds: u32,
    pub results: u32,
    pub pages: u32,
    pub depth: SearchDepth,
    pub reason: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// Where in a source something stands; lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Location {
    pub start_line: u32,
    pub end_line: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Source {
    pub url: String,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

impl Source {
    /// How a person finds the place: `notes/tides.md:12-18`, or the URL alone.
    pub fn reference(&self) -> String {
        match &self.location {
            Some(place) if place.start_line == place.end_line => {
                format!("{}:{}", self.url, place.start_line)
            }
            Some(place) => format!("{}:{}-{}", self.url, place.start_line, place.end_line),
            None => self.url.clone(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Passage {
    pub source: Source,
    pub text: String,
    pub score: f64,
}

/// One thing that was learned, with the words it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Finding {
    pub text: String,
    pub quote: String,
    pub source: Source,
}

/// How good the answer is so far; each from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Quality {
    pub relevance: f64,
    pub coverage: f64,
    pub confidence: f64,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub searches: u32,
    pub pages: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

impl Usage {
    pub fn add(&mut self, other: &Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.searches += other.searches;
        self.pages += other.pages;
        if let Some(cost) = other.cost_usd {
            *self.cost_usd.get_or_insert(0.0) += cost;
        }
    }
}

impl Usage {
    /// Where two tell of the same thing, the more of each: what was used is not
    /// unused by somebody who does not tell of it.
    pub fn at_least(&mut self, other: &Self) {
        if other.input_tokens + other.output_tokens > self.input_tokens + self.output_tokens {
            self.extra.clone_from(&other.extra);
        }
        self.input_tokens = self.input_tokens.max(other.input_tokens);
        self.output_tokens = self.output_tokens.max(other.output_tokens);
        self.searches = self.searches.max(other.searches);
        self.pages = self.pages.max(other.pages);
        self.cost_usd = match (self.cost_usd, other.cost_usd) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    NotNeeded,
    GoodEnough,
    Verified,
    DiminishingReturns,
    Repetition,
    Budget,
    Limit,
    NothingFound,
    Other(String),
}

impl StopReason {
    pub fn as_str(&self) -> &str {
        match self {
            Self::NotNeeded => "not-needed",
            Self::GoodEnough => "good-enough",
            Self::Verified => "verified",
            Self::DiminishingReturns => "diminishing-returns",
            Self::Repetition => "repetition",
            Self::Budget => "budget",
            Self::Limit => "limit",
            Self::NothingFound => "nothing-found",
            Self::Other(name) => name,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Step {
    Ask { prompt: String },
    Gather { queries: Vec<String>, results: u32, pages: u32, depth: SearchDepth },
    Delegate { input: String },
    Finish { reason: StopReason, note: Option<String> },
    Other { name: String },
}

impl Step {
    pub fn name(&self) -> &str {
        match self {
            Self::Ask { .. } => "ask",
            Self::Gather { .. } => "gather",
            Self::Delegate { .. } => "delegate",
            Self::Finish { .. } => "finish",
            Self::Other { name } => name,
        }
    }
}

/// The name in a round's `extra` for what it came to, in a sentence or two.
pub const SUMMARY: &str = "summary";

/// A step that was carried out, or failed; what is stored of it, and what the
/// strategy is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    pub number: u32,
    pub step: String,
    /// Why the strategy wanted it.
    #[serde(default)]
    pub reason: String,
    pub queries: Vec<String>,
    pub sources: Vec<Source>,
    pub new_sources: u32,
    #[serde(default)]
    pub findings: Vec<Finding>,
    pub new_findings: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Which parts of the answer rest on which source, where a research backend
    /// says so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<Citation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
    pub quality: Quality,
    #[serde(default)]
    pub follow_ups: Vec<String>,
    pub usage: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<PluginError>,
    #[serde(default)]
    pub duration_ms: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Situation {
    pub question: Question,
    pub plan: Plan,
    pub rounds: Vec<Round>,
    pub memo: String,
    pub spent: Usage,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    pub step: Step,
    pub reason: String,
    pub memo: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extraction {
    pub json: String,
    pub repaired: bool,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PastRun {
    pub question: String,
    pub plan: Plan,
    pub rounds: u32,
    pub seconds: f64,
    pub usage: Usage,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    pub complexity: String,
    pub seconds: (f64, f64),
    pub cost_usd: (f64, f64),
    pub runs: u32,
    pub reason: String,
    pub extra: Extra,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    Answer,
    Findings,
    Correct,
    Other(String),
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentRequest {
    pub purpose: Purpose,
    pub prompt: String,
    pub question: String,
    pub passages: Vec<Passage>,
    pub schema: Option<String>,
    pub model: Option<String>,
    pub files: Vec<(String, Vec<u8>)>,
    pub extra: Extra,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AgentReply {
    pub text: String,
    pub findings: Vec<Finding>,
    pub quality: Option<Quality>,
    pub follow_ups: Vec<String>,
    pub queries: Vec<String>,
    pub sources: Vec<Source>,
    pub model: Option<String>,
    pub usage: Usage,
    pub extra: Extra,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchQuery {
    pub text: String,
    pub results: u32,
    pub depth: SearchDepth,
    pub include_domains: Vec<String>,
    pub exclude_domains: Vec<String>,
    pub time_range: Option<String>,
    pub extra: Extra,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    pub passage: Passage,
    /// The passage is what there is to read; no page need be fetched.
    pub complete: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchResults {
    pub hits: Vec<Hit>,
    pub usage: Usage,
}

/// What a search backend brought up to date before the first search.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Preparation {
    pub items: u64,
    pub updated: u64,
    pub removed: u64,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PageRequest {
    pub url: String,
    pub max_bytes: u64,
    pub extra: Extra,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Page {
    pub source: Source,
    pub text: String,
    pub warnings: Vec<String>,
    pub usage: Usage,
    pub extra: Extra,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResearchRequest {
    pub input: String,
    pub model: Option<String>,
    pub extra: Extra,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobStatus {
    Queued,
    Running,
    Completed,
    Failed,
    Cancelled,
    Expired,
    Other(String),
}

/// Which part of a report rests on which source; in bytes of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    pub source: Source,
    pub start: u32,
    pub end: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub id: String,
    pub status: JobStatus,
    pub progress: Vec<String>,
    pub report: Option<String>,
    pub citations: Vec<Citation>,
    pub sources: Vec<Source>,
    pub usage: Usage,
    pub error: Option<PluginError>,
    pub extra: Extra,
}

impl Job {
    /// What was known of it before is not unknown for not being told again: what it
    /// has used, and by which names it is priced.
    pub fn keep_from(&mut self, before: &Self) {
        self.usage.at_least(&before.usage);
        for (name, value) in &before.extra {
            if name == "model" && !self.extra.iter().any(|(known, _)| known == name) {
                self.extra.push((name.clone(), value.clone()));
            }
        }
    }

    /// One of which nothing is known but its name.
    pub fn unseen(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            status: JobStatus::Running,
            progress: Vec::new(),
            report: None,
            citations: Vec::new(),
            sources: Vec::new(),
            usage: Usage::default(),
            error: None,
            extra: Vec::new(),
        }
    }
}

/// What a plugin says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    pub name: String,
    pub version: String,
    pub kind: String,
    pub summary: String,
    pub settings_schema: String,
    #[serde(default)]
    pub extra: Extra,
}

/// What is wrong with one setting; the path is a JSON Pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub path: String,
    pub message: String,
    pub hint: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    NotFound,
    Auth,
    RateLimited(Option<u32>),
    Unavailable,
    InvalidInput,
    Refused,
    Other(String),
}

/// An error a plugin, or a gate, returned: one that a person can act on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct PluginError {
    pub kind: ErrorKind,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl PluginError {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Refused, message)
    }

    pub fn other(name: &str, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Other(name.to_owned()), message)
    }
}
