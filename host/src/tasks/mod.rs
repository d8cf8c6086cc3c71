//! Durable tasks: one question being researched, from start to result. What is
//! asked is checked here, once, for the command line and MCP alike.
//!
//! A task runs by itself (`running`): whoever asked may stop waiting, listen
//! again, or take up a task that an earlier process left unfinished. One in the
//! background needs nobody who asks (`background`).

mod attention;
mod background;
mod cancel;
mod costs;
mod estimate;
mod notice;
mod question;
mod read;
mod request;
mod rescue;
mod resume;
mod running;
mod save;
mod tell;
pub mod views;
mod work;

use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

pub use crate::report::{ErrorReport, Outcome, START_DEEP_RESEARCH, TaskStatus};
pub use crate::research::{Event, EventSink, MODEL, RESULTS};
pub use cancel::{Cancellation, Vendor};
pub use costs::{Amounts, CostRow, Costs, CostsBy, EstimateRow, Estimates, Held, Today};
pub use estimate::{Estimate, EstimatedCost, EstimatedDuration};
pub use question::LONGEST_QUESTION;
pub use request::{Background, Subject, TaskRequest, TaskSummary};

use crate::gates;
use crate::plugins::contract::{
    Hit, Job, Plan, Question, Round, SearchDepth, SearchQuery, StopReason, Usage,
};
use crate::plugins::{CallError, Plugins};
use crate::prices::Prices;
use crate::prompts::Prompts;
use crate::report::timestamp;
use crate::research::{self, Progress, invalid_output};
use crate::store::{Status, Store, TaskRecord};
use resume::TakenUp;
use running::{AllRunning, Listening, Running};

/// The tools whose rounds the user's own limit holds for.
pub const DEEP_SEARCH: &str = "deep_search";
const RESEARCH: &str = "research";

/// Hears everything that any task of this process tells, with the tool it is of.
pub type Narrator = Arc<dyn Fn(&str, &Event) + Send + Sync>;

/// The id of a task that the database does not know.
const UNSAVED: &str = "unsaved";

/// Everything that can be done with tasks.
pub struct Tasks {
    plugins: Arc<Plugins>,
    store: Store,
    /// Or what is wrong with them: earlier results can still be read then.
    prompts: Result<Prompts, ErrorReport>,
    prices: Arc<Prices>,
    /// The directory of the user's configuration.
    configuration: PathBuf,
    running: Arc<AllRunning>,
    /// Held while a task is being taken up, so that it is taken up once.
    taking_up: Mutex<()>,
    narrator: OnceLock<Narrator>,
    /// Somebody looks whether the running tasks are still ours.
    watching: AtomicBool,
    heralds: tell::Heralds,
    unsaved: rescue::Unsaved,
}

impl Tasks {
    pub fn new(
        plugins: Arc<Plugins>,
        store: Store,
        prompts: Result<Prompts, ErrorReport>,
        prices: Arc<Prices>,
        configuration: PathBuf,
    ) -> Self {
        Self {
            plugins,
            store,
            prompts,
            prices,
            configuration,
            running: Arc::default(),
            taking_up: Mutex::default(),
            narrator: OnceLock::new(),
            watching: AtomicBool::new(false),
            heralds: tell::Heralds::default(),
            unsaved: rescue::Unsaved::default(),
        }
    }

    /// Whether questions can be asked.
    pub fn check(&self) -> Result<(), ErrorReport> {
        self.prompts.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    /// From now on all that tasks tell is told to this one as well. The first who
    /// asks for it stays.
    pub fn narrate(&self, narrator: Narrator) {
        let _ = self.narrator.set(narrator);
    }

    pub fn plugins(&self) -> &Arc<Plugins> {
        &self.plugins
    }

    /// Clears away what crashed processes have left, and says so: called when a
    /// server starts.
    pub fn clear_leftovers(&self) {
        let directories = gates::process::clear_leftovers(&std::env::temp_dir());
        if directories > 0 {
            tracing::info!("cleaned up what killed programs left: {directories}");
        }
        match invalid_output::clear(&self.configuration) {
            Ok(count) => tracing::info!("cleaned up {count} orphaned temp files"),
            Err(error) => {
                let why = match error.kind() {
                    io::ErrorKind::NotFound => "it does not exist".to_owned(),
                    _ => error.to_string(),
                };
                tracing::warn!(
                    "the configuration directory {} was not searched for orphaned temp files: {why}",
                    self.configuration.display()
                );
            }
        }
    }

    /// Researches a question to its end, or as long as the asker waits: then the
    /// outcome says that it is running. An error means that there is no task; one
    /// that failed or was cancelled is an outcome that says so, with all that was
    /// done.
    pub async fn run(
        self: &Arc<Self>,
        request: TaskRequest,
        events: EventSink,
        cancel: CancellationToken,
    ) -> Result<Outcome, ErrorReport> {
        self.check()?;
        let begun = Instant::now();
        let max_wait = request.max_wait;
        match request.subject {
            Subject::Question(question) => {
                let job = self.new_job(request.tool, question, request.background).await?;
                let (running, listening) = self.start(job, events);
                // Only what is saved can be found again, so only that can be left.
                let max_wait = max_wait.filter(|_| running.id != UNSAVED);
                // What it took to begin is part of the wait.
                let max_wait = max_wait.map(|most| most.saturating_sub(begun.elapsed()));
                let outcome = self.attend(&running, cancel, max_wait).await;
                drop(listening);
                outcome
            }
            Subject::Task { id, max_rounds } => {
                self.resume(&id, max_rounds, max_wait, events, cancel).await
            }
        }
    }

    async fn resume(
        self: &Arc<Self>,
        id: &str,
        max_rounds: Option<u32>,
        max_wait: Option<Duration>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> Result<Outcome, ErrorReport> {
        let until = max_wait.map(|most| tokio::time::Instant::now() + most);
        loop {
            let taking_up = self.taking_up.lock().await;
            let (running, listening) = match self.take_up(id, max_rounds, true).await? {
                TakenUp::Ended(outcome) => return Ok(*outcome),
                TakenUp::Here(running) => {
                    let listening = running.listen(events);
                    (running, listening)
                }
                TakenUp::Left(job) => self.start(*job, events),
                TakenUp::Elsewhere(id) => {
                    drop(taking_up);
                    match self.watch(&id, &cancel, until).await? {
                        Some(outcome) => return Ok(outcome),
                        None => continue,
                    }
                }
            };
            drop(taking_up);
            let outcome = self.attend(&running, cancel, max_wait).await;
            drop(listening);
            return outcome;
        }
    }

    /// Lets a task run by itself.
    fn start(self: &Arc<Self>, job: work::Job, events: EventSink) -> (Arc<Running>, Listening) {
        let (running, end) = Running::new(job.id.clone(), job.claim.clone(), job.background);
        let listening = running.listen(events);
        let listed = self.running.list(&running);
        self.watch_claims();
        let narrating = self.narrator.get().map(|narrator| {
            let (narrator, tool) = (narrator.clone(), job.tool.clone());
            running.listen(Arc::new(move |event| narrator(&tool, &event)))
        });
        let (tasks, worked_on) = (self.clone(), running.clone());
        tokio::spawn(async move {
            let outcome = tasks.work(job, &worked_on).await;
            drop((listed, narrating));
            end.tell(outcome);
            tasks.send_heralds().await;
        });
        (running, listening)
    }

    /// Waits for a task under way; what is known of it so far when the time is
    /// over first.
    async fn attend(
        &self,
        running: &Running,
        cancel: CancellationToken,
        max_wait: Option<Duration>,
    ) -> Result<Outcome, ErrorReport> {
        match running.wait(cancel, max_wait).await {
            Some(outcome) => Ok(Outcome::clone(&outcome)),
            None => self.outcome(&running.id).await,
        }
    }

    /// Everything about one task; the id may be cut short.
    pub async fn outcome(&self, id: &str) -> Result<Outcome, ErrorReport> {
        match self.store.find_task(id).await {
            Ok(task) => self.outcome_of(task).await,
            Err(error) => self.unsaved.find(id).ok_or_else(|| error.into()),
        }
    }

    async fn outcome_of(&self, task: TaskRecord) -> Result<Outcome, ErrorReport> {
        if let Some(outcome) = self.unsaved.get(&task.id) {
            return Ok(outcome);
        }
        // One that runs again still has the result of the attempt before.
        let ended = matches!(task.status, Status::Completed | Status::Failed | Status::Cancelled);
        if ended && let Some(result) = self.store.result(&task.id).await? {
            return serde_json::from_str(&result.outcome).map_err(|error| ErrorReport {
                code: "STORE_ERROR".to_owned(),
                message: format!("the result of task {} cannot be read: {error}", task.id),
                hint: None,
            });
        }
        let rounds = self.rounds(&task.id).await?;
        let job = self.store.job(&task.id).await?;
        let mut outcome = unfinished(task, rounds);
        if let Some(job) = job.and_then(|job| serde_json::from_str::<Job>(&job.state).ok()) {
            self.add_job(&mut outcome, job);
        }
        Ok(outcome)
    }

    /// What a job has come to so far, for a task that waits for it.
    fn add_job(&self, outcome: &mut Outcome, job: Job) {
        let usage = self.priced(&job);
        outcome.job = Some(job.id);
        if outcome.usage == Usage::default() {
            outcome.usage = usage;
        }
        if outcome.answer.is_empty() {
            outcome.answer = job.report.unwrap_or_default();
            outcome.citations = job.citations;
        }
        if outcome.sources.is_empty() {
            outcome.sources = job.sources;
        }
        let model = job.extra.into_iter().find(|(name, _)| name == MODEL);
        outcome.model = outcome.model.take().or(model.map(|(_, model)| model));
    }

    /// What a job has used, with what that costs.
    fn priced(&self, job: &Job) -> Usage {
        let mut job = job.clone();
        research::bill(&self.prices, &mut job);
        job.usage
    }

    /// Whether this process has what the plugin needs to reach its vendor. Without
    /// it a task is better left to a process that has.
    fn can_reach(&self, plugin: &str) -> bool {
        self.plugins.has_secrets(plugin)
    }

    async fn rounds(&self, id: &str) -> Result<Vec<Round>, ErrorReport> {
        let rounds = self.store.rounds(id).await?;
        Ok(rounds.iter().filter_map(|round| serde_json::from_str(&round.round).ok()).collect())
    }

    /// Newest first, or those that have the words, best first.
    pub async fn history(
        &self,
        words: Option<&str>,
        limit: u32,
        status: Option<TaskStatus>,
    ) -> Result<Vec<TaskSummary>, ErrorReport> {
        let tasks = self.find(words, status, limit).await?;
        Ok(tasks.into_iter().map(TaskSummary::from).collect())
    }

    /// The passages that fit a query best, from the search backend of the tool
    /// `search`, without making a task of it.
    pub async fn passages(
        &self,
        query: &str,
        limit: u32,
        events: &EventSink,
    ) -> Result<Vec<Hit>, ErrorReport> {
        question::check(query)?;
        let tool = self.plugins.config().tools.get("search");
        let name = tool.and_then(|tool| tool.search.clone()).ok_or_else(|| ErrorReport {
            code: ErrorReport::NOT_GRANTED.to_owned(),
            message: "there are no documents to search".to_owned(),
            hint: Some(
                "pass --docs DIR, or name a search backend in [tools.search] of plugins.toml"
                    .to_owned(),
            ),
        })?;
        let found = async {
            let search = self.plugins.search(&name).await?;
            let preparation = search.prepare(research::progress_of(events)).await?;
            events(Event::Prepared { plugin: name.clone(), preparation });
            let query = SearchQuery {
                text: query.to_owned(),
                results: limit,
                depth: SearchDepth::Basic,
                include_domains: Vec::new(),
                exclude_domains: Vec::new(),
                time_range: None,
                extra: Vec::new(),
            };
            search.search(&query, research::progress_of(events)).await
        };
        Ok(found.await.map_err(|error: CallError| ErrorReport::from(&error))?.hits)
    }
}

fn question_of(task: &TaskRecord) -> Question {
    serde_json::from_str(&task.question)
        .unwrap_or_else(|_| Question { text: task.text.clone(), ..Question::default() })
}

fn plan_of(task: &TaskRecord) -> Option<Plan> {
    task.plan.as_deref().and_then(|plan| serde_json::from_str(plan).ok())
}

/// What is known of a task that has no result: running, or interrupted.
fn unfinished(task: TaskRecord, rounds: Vec<Round>) -> Outcome {
    let progress = Progress::of_rounds(rounds);
    let until = match task.status {
        Status::Running => jiff::Timestamp::now().as_millisecond(),
        // The vendor works on it whether or not anybody looks.
        Status::Interrupted | Status::NeedsAttention if task.background => {
            jiff::Timestamp::now().as_millisecond()
        }
        _ => task.updated_at,
    };
    Outcome {
        answer: progress.answer(),
        findings: progress.findings(),
        citations: progress.citations(),
        sources: progress.sources(),
        usage: progress.usage(),
        tool: task.tool.clone(),
        question: question_of(&task),
        status: task.status.into(),
        plan: plan_of(&task),
        rounds: progress.rounds,
        stop_reason: task.stop_reason.as_deref().map(|reason| StopReason::Other(reason.to_owned())),
        note: task.note.clone(),
        model: progress.model,
        created_at: timestamp(task.created_at),
        finished_at: task.finished_at.map(timestamp),
        duration_ms: u64::try_from(until - task.created_at).unwrap_or_default(),
        error: task.error.as_deref().and_then(|error| serde_json::from_str(error).ok()),
        job: None,
        saved: true,
        id: task.id,
    }
}
