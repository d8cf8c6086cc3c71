//! Durable tasks: one question being researched, from start to result. What is
//! asked is checked here, once, for the command line and MCP alike.
//!
//! A task runs by itself (`running`): whoever asked may stop waiting, listen
//! again, or take up a task that an earlier process left unfinished.

mod question;
mod request;
mod running;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

pub use crate::report::{ErrorReport, Outcome, TaskStatus};
pub use crate::research::{Event, EventSink, RESULTS, SUMMARY};
pub use question::LONGEST_QUESTION;
pub use request::{Subject, TaskRequest, TaskSummary};

use crate::gates;
use crate::plugins::contract::{Hit, Plan, Question, Round, SearchDepth, SearchQuery, StopReason};
use crate::plugins::{CallError, LoadError, Plugins};
use crate::prompts::Prompts;
use crate::report::{self, timestamp};
use crate::research::{self, Progress, Recorder, Run, STEPS, invalid_output, to_json};
use crate::store::{
    Claim, Ending, NewResult, NewTask, Store, StoreError, TaskEnd, TaskFilter, TaskRecord,
};
use running::{AllRunning, Running};

/// The tool whose rounds the user's own limit holds for.
const DEEP_SEARCH: &str = "deep_search";

/// Everything that can be done with tasks.
pub struct Tasks {
    plugins: Arc<Plugins>,
    store: Store,
    prompts: Prompts,
    /// The directory of the user's configuration.
    configuration: PathBuf,
    running: Arc<AllRunning>,
}

/// A task about to run.
struct Job {
    id: String,
    claim: Option<Claim>,
    tool: String,
    question: Question,
    recorder: Recorder,
    progress: Progress,
    created_at: jiff::Timestamp,
    /// What earlier attempts took.
    spent: Duration,
}

impl Tasks {
    pub fn new(
        plugins: Arc<Plugins>,
        store: Store,
        prompts: Prompts,
        configuration: PathBuf,
    ) -> Self {
        Self { plugins, store, prompts, configuration, running: Arc::default() }
    }

    pub fn plugins(&self) -> &Arc<Plugins> {
        &self.plugins
    }

    /// Clears away what crashed processes have left, and says so: called when a
    /// server starts.
    pub fn clear_leftovers(&self) {
        let directories = gates::process::clear_leftovers(&std::env::temp_dir());
        if directories > 0 {
            tracing::info!("cleaned up {directories} directories of programs");
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
        let max_wait = request.max_wait;
        let job = match request.subject {
            Subject::Question(question) => self.new_job(request.tool, question).await?,
            Subject::Task { id, max_rounds } => {
                let task = self.store.find_task(&id).await?;
                if let Some(running) = self.running.get(&task.id) {
                    let listening = running.listen(events);
                    let outcome = self.attend(&running, cancel, max_wait).await;
                    drop(listening);
                    return outcome;
                }
                if task.status == crate::store::Status::Completed {
                    return self.outcome(&task.id).await;
                }
                self.earlier_job(task, max_rounds).await?
            }
        };
        // Only what is saved can be found again, so only that can be left alone.
        let max_wait = max_wait.filter(|_| job.claim.is_some());
        let (running, end) = Running::new(job.id.clone());
        let listening = running.listen(events);
        let listed = self.running.list(&running);
        let (tasks, worked_on) = (self.clone(), running.clone());
        tokio::spawn(async move {
            let outcome = tasks.work(job, &worked_on).await;
            drop(listed);
            end.tell(outcome);
        });
        let outcome = self.attend(&running, cancel, max_wait).await;
        drop(listening);
        outcome
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

    async fn new_job(&self, tool: String, mut question: Question) -> Result<Job, ErrorReport> {
        question::check(&question.text)?;
        question.extra.push(("tool".to_owned(), tool.clone()));
        if tool == DEEP_SEARCH && question.max_rounds.is_none() {
            question.max_rounds = Some(self.plugins.config().research.max_iterations);
        }
        let claim = self
            .store
            .create_task(NewTask {
                tool: tool.clone(),
                text: question.text.clone(),
                question: to_json(&question),
            })
            .await;
        Ok(Job {
            id: claim.as_ref().map_or_else(|_| "unsaved".to_owned(), |claim| claim.id.clone()),
            claim: claim.clone().ok(),
            recorder: Recorder::new(self.store.clone(), claim),
            tool,
            question,
            progress: Progress::default(),
            created_at: jiff::Timestamp::now(),
            spent: Duration::ZERO,
        })
    }

    /// Takes up a task that did not come to its end. What it has paid for is not
    /// asked again.
    async fn earlier_job(
        &self,
        task: TaskRecord,
        max_rounds: Option<u32>,
    ) -> Result<Job, ErrorReport> {
        let mut question = question_of(&task);
        let mut plan = plan_of(&task);
        if let Some(rounds) = max_rounds {
            question.max_rounds = Some(rounds);
            if let Some(plan) = &mut plan {
                plan.rounds = rounds;
            }
        }
        let claim = self.store.reopen_task(&task.id).await.map_err(|error| match error {
            // Someone was quicker than our look at it.
            StoreError::Finished { .. } => {
                ErrorReport::from(error).with_hint("ask for it again to see its result")
            }
            other => ErrorReport::from(other),
        })?;
        let rounds = self.rounds(&task.id).await?;
        let calls = self.store.calls(&task.id).await?;
        let spent = rounds.iter().map(|round| round.duration_ms).sum();
        Ok(Job {
            recorder: Recorder::resumed(self.store.clone(), claim.clone(), calls),
            id: claim.id.clone(),
            claim: Some(claim),
            tool: task.tool.clone(),
            question,
            progress: Progress::resumed(plan, rounds, task.memo.clone()),
            created_at: jiff::Timestamp::from_millisecond(task.created_at).unwrap_or_default(),
            spent: Duration::from_millis(spent),
        })
    }

    /// Works on a task to its end.
    async fn work(&self, job: Job, running: &Arc<Running>) -> Outcome {
        let Job { id, claim, tool, mut question, recorder, mut progress, created_at, spent } = job;
        let started = Instant::now();
        let events = running.events();
        events(Event::Started { id: id.clone() });
        let backends = self.plugins.config().tools.get(&tool).cloned().unwrap_or_default();
        // What can be done is a matter of today's configuration.
        question.extra.retain(|(name, _)| name != STEPS);
        question.extra.push((STEPS.to_owned(), research::steps(&backends)));

        let run = Run {
            plugins: &self.plugins,
            backends: &backends,
            prompts: &self.prompts,
            recorder: &recorder,
            events: &events,
            configuration: &self.configuration,
            date: created_at.strftime("%Y-%m-%d").to_string(),
        };
        let ended = tokio::select! {
            biased;
            () = running.cancel.cancelled() => None,
            result = research::run(&run, &question, &mut progress) => Some(result),
        };
        let (status, error) = match ended {
            None => (TaskStatus::Cancelled, None),
            Some(Ok(())) => (TaskStatus::Completed, None),
            Some(Err(error)) => (TaskStatus::Failed, Some(ErrorReport::from(&error))),
        };
        let mut outcome = Outcome {
            answer: progress.answer(),
            findings: progress.findings(),
            sources: progress.sources(),
            usage: progress.usage(),
            id,
            tool,
            question,
            status,
            plan: progress.plan,
            rounds: progress.rounds,
            stop_reason: progress.stop_reason,
            note: progress.note,
            model: progress.model,
            created_at: created_at.to_string(),
            finished_at: Some(jiff::Timestamp::now().to_string()),
            duration_ms: (spent + started.elapsed()).as_millis() as u64,
            error,
            saved: true,
        };
        self.finish(claim.as_ref(), &recorder, &mut outcome).await;
        outcome
    }

    /// Saves the end of a task. When it cannot be saved the outcome says so: it
    /// is then the only copy.
    async fn finish(&self, claim: Option<&Claim>, recorder: &Recorder, outcome: &mut Outcome) {
        let saved = match claim {
            Some(claim) => {
                let end = TaskEnd {
                    ending: match outcome.status {
                        TaskStatus::Cancelled => Ending::Cancelled,
                        TaskStatus::Failed => Ending::Failed,
                        _ => Ending::Completed,
                    },
                    stop_reason: outcome
                        .stop_reason
                        .as_ref()
                        .map(|reason| reason.as_str().to_owned()),
                    note: outcome.note.clone(),
                    error: outcome.error.as_ref().map(to_json),
                    result: Some(NewResult {
                        outcome: to_json(outcome),
                        markdown: report::render_markdown(outcome),
                    }),
                };
                self.store.finish_task(claim, end).await.err()
            }
            None => recorder.trouble(),
        };
        if let Some(error) = saved {
            tracing::error!("the result is not saved: {error}");
            outcome.saved = false;
            let warning = format!("this result could not be saved: {error}");
            outcome.note = Some(match outcome.note.take() {
                Some(note) => format!("{}; {warning}", note.trim_end_matches('.')),
                None => warning,
            });
        }
    }

    /// Everything about one task; the id may be cut short.
    pub async fn outcome(&self, id: &str) -> Result<Outcome, ErrorReport> {
        let task = self.store.find_task(id).await?;
        if let Some(result) = self.store.result(&task.id).await? {
            return serde_json::from_str(&result.outcome).map_err(|error| ErrorReport {
                code: "STORE_ERROR".to_owned(),
                message: format!("the result of task {} cannot be read: {error}", task.id),
                hint: None,
            });
        }
        let rounds = self.rounds(&task.id).await?;
        Ok(unfinished(task, rounds))
    }

    async fn rounds(&self, id: &str) -> Result<Vec<Round>, ErrorReport> {
        let rounds = self.store.rounds(id).await?;
        Ok(rounds.iter().filter_map(|round| serde_json::from_str(&round.round).ok()).collect())
    }

    /// Newest first.
    pub async fn history(
        &self,
        limit: u32,
        status: Option<TaskStatus>,
    ) -> Result<Vec<TaskSummary>, ErrorReport> {
        let filter = TaskFilter { status: status.map(Into::into), limit };
        let tasks = self.store.tasks(filter).await?;
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
        let name = self
            .plugins
            .config()
            .tools
            .get("search")
            .and_then(|tool| tool.search.clone())
            .ok_or_else(|| {
            ErrorReport::from(&CallError::Load(
                LoadError::new("search", "no search backend serves the tool `search`")
                    .with_hint("pass --docs DIR, or name one in [tools.search] of plugins.toml"),
            ))
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
    Outcome {
        answer: progress.answer(),
        findings: progress.findings(),
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
        duration_ms: u64::try_from(task.updated_at - task.created_at).unwrap_or_default(),
        error: task.error.as_deref().and_then(|error| serde_json::from_str(error).ok()),
        saved: true,
        id: task.id,
    }
}
