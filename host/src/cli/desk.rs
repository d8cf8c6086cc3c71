//! The seam between what people see and the floors below: all that a command
//! may ask of them. Commands know nothing else of the engine.

use std::path::PathBuf;

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use crate::config::{Grants, PluginSource};
use crate::plugins::contract::{Passage, Question};
use crate::tasks::views::{ResearchStatus, Started};
use crate::tasks::{
    Cancellation, Costs, CostsBy, ErrorReport, Estimate, Estimates, Event, Outcome, TaskRequest,
    TaskStatus, TaskSummary,
};

/// Where things are, as the flags say it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Setup {
    /// `--home`: moves configuration, data and cache there.
    pub home: Option<PathBuf>,
    /// `--config`: the plugins.toml to use.
    pub config: Option<PathBuf>,
    /// `--docs`, in order.
    pub documents: Vec<PathBuf>,
}

/// What a command may ask for. Making one costs nothing: each method reads, loads
/// or creates only what it needs, so that `config` and `doctor` still speak when
/// the rest is broken.
#[async_trait]
pub trait Desk: Send + Sync {
    /// Researches to the end. Cancelling is no error: the outcome then holds what
    /// was done. An error means that there is no task to speak of.
    async fn run(
        &self,
        request: TaskRequest,
        events: UnboundedSender<Event>,
        cancel: CancellationToken,
    ) -> Result<Outcome, ErrorReport>;

    /// Ranked passages, best first. No task is made of it.
    async fn passages(
        &self,
        query: String,
        limit: u32,
        events: UnboundedSender<Event>,
        cancel: CancellationToken,
    ) -> Result<Vec<Passage>, ErrorReport>;

    /// Newest first, or those that have the words, best first.
    async fn history(
        &self,
        words: Option<String>,
        limit: u32,
        status: Option<TaskStatus>,
    ) -> Result<Vec<TaskSummary>, ErrorReport>;

    /// What a question would take by this tool. Nothing is sent.
    async fn estimate(&self, tool: &str, question: Question) -> Result<Estimate, ErrorReport>;

    /// What was spent since then, or ever.
    async fn costs(
        &self,
        by: CostsBy,
        since: Option<Timestamp>,
        zone: TimeZone,
    ) -> Result<Costs, ErrorReport>;

    /// What the newest estimates were worth.
    async fn estimates(&self, limit: u32) -> Result<Estimates, ErrorReport>;

    /// The task with this id, or the only one whose id begins so.
    async fn outcome(&self, id: &str) -> Result<Outcome, ErrorReport>;

    /// How long a start waits for its result.
    fn handoff(&self) -> std::time::Duration;

    /// The outcome of a start, as the tool of that name tells it.
    fn started(&self, outcome: &Outcome) -> Result<Started, ErrorReport>;

    /// How it stands with a task.
    async fn status(&self, id: &str) -> Result<ResearchStatus, ErrorReport>;

    async fn cancel(&self, id: &str, save_partial: bool) -> Result<Cancellation, ErrorReport>;

    /// A task that needs attention goes on with this job. Returns its whole id.
    async fn adopt(&self, id: &str, job: &str) -> Result<String, ErrorReport>;

    /// A task that needs attention is started again. Returns its whole id.
    async fn retry(&self, id: &str) -> Result<String, ErrorReport>;

    /// Looks after background tasks until `stop`, or until there are none where that
    /// is wanted.
    async fn work(&self, until_done: bool, stop: CancellationToken) -> Result<(), ErrorReport>;

    /// Tells the user that this task has ended, unless that was done already.
    async fn tell(&self, id: &str) -> Result<bool, ErrorReport>;

    /// Where the user's own templates are.
    fn config_directory(&self) -> Result<PathBuf, ErrorReport>;

    async fn plugins(&self) -> Result<Vec<PluginSummary>, ErrorReport>;

    /// Every value of the configuration, and where it comes from.
    async fn config(&self) -> Result<ConfigListing, ErrorReport>;

    async fn checkup(&self) -> Checkup;

    /// Serves MCP on stdin and stdout until stdin ends or `stop` is cancelled.
    async fn serve(&self, stop: CancellationToken) -> Result<(), ErrorReport>;
}

#[derive(Debug, Clone)]
pub struct PluginSummary {
    pub name: String,
    /// None when the plugin could not be asked.
    pub kind: Option<String>,
    pub version: Option<String>,
    pub summary: Option<String>,
    pub source: PluginSource,
    /// Of the bytes that were loaded; lower-case hexadecimal.
    pub sha256: Option<String>,
    pub grants: Grants,
    pub settings: serde_json::Map<String, serde_json::Value>,
    /// The tools it serves, or `every tool` for strategy and extractor.
    pub used_by: Vec<String>,
    /// Why it cannot be used, or how its last call failed.
    pub problem: Option<ErrorReport>,
}

impl PluginSummary {
    /// Sound, but given nothing to reach: a backend for documents without any.
    pub fn is_unready(&self) -> bool {
        self.problem.as_ref().is_some_and(|problem| problem.code == ErrorReport::NOT_GRANTED)
    }

    pub fn status(&self) -> &'static str {
        match &self.problem {
            None => "ok",
            Some(_) if self.is_unready() => "unready",
            Some(_) => "broken",
        }
    }

    /// As plugins.toml says it.
    pub fn origin(&self) -> String {
        match &self.source {
            PluginSource::Builtin(name) => format!("builtin:{name}"),
            PluginSource::Path(path) => path.display().to_string(),
        }
    }
}

/// The configuration, ready to print.
#[derive(Debug, Clone)]
pub struct ConfigListing {
    /// TOML, the origin of each value in a comment at the end of its line.
    pub text: String,
    pub json: serde_json::Value,
}

/// What `doctor` asks the engine; what it can see itself it looks up itself.
#[derive(Debug, Clone)]
pub struct Checkup {
    /// The files that make up the configuration, or what is wrong with it.
    pub configuration: Result<Vec<String>, ErrorReport>,
    pub plugins: Vec<PluginSummary>,
    /// What for (`configuration`, `data`, `cache`), and where.
    pub directories: Vec<(String, PathBuf)>,
    pub documents: Vec<DocumentSet>,
    pub notification: Notification,
}

/// How the user would be told that a task has ended.
#[derive(Debug, Clone, Default)]
pub struct Notification {
    /// Which service answers on the desktop, or why none does; None where it is
    /// switched off.
    pub desktop: Option<Result<String, String>>,
    /// The user's own program with its arguments; empty for none.
    pub command: Vec<String>,
}

/// A directory of documents that is searched.
#[derive(Debug, Clone)]
pub struct DocumentSet {
    pub path: PathBuf,
    /// None when it has not been read yet.
    pub files: Option<u64>,
    pub problem: Option<ErrorReport>,
}
