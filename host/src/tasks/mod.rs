//! Durable tasks: one question being researched, from start to result. What is
//! asked is checked here, once, for the command line and MCP alike.
//!
//! A task runs by itself (`running`): whoever asked may stop waiting, listen
//! again, or take up a task that an earlier process left unfinished.

mod notice;
mod question;
mod request;
mod resume;
mod running;
mod tell;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

pub use crate::report::{ErrorReport, Outcome, TaskStatus};
pub use crate::research::{Event, EventSink, RESULTS};
pub use question::LONGEST_QUESTION;
pub use request::{Subject, TaskRequest, TaskSummary};

use crate::config::ToolBackends;
use crate::gates;
use crate::plugins::contract::{Hit, Plan, Question, Round, SearchDepth, SearchQuery, StopReason};
use crate::plugins::{CallError, Plugins};
use crate::prompts::Prompts;
use crate::report::{self, timestamp};
use crate::research::{
    self, MAX_ITERATIONS, Progress, Recorder, Run, STEPS, invalid_output, to_json,
};
use crate::store::{
    Claim, Ending, NewResult, NewTask, Status, Store, TaskEnd, TaskFilter, TaskRecord,
};
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
    /// The directory of the user's configuration.
    configuration: PathBuf,
    running: Arc<AllRunning>,
    /// Held while a task is being taken up, so that it is taken up once.
    taking_up: Mutex<()>,
    narrator: OnceLock<Narrator>,
    heralds: tell::Heralds,
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
        prompts: Result<Prompts, ErrorReport>,
        configuration: PathBuf,
    ) -> Self {
        Self {
            plugins,
            store,
            prompts,
            configuration,
            running: Arc::default(),
            taking_up: Mutex::default(),
            narrator: OnceLock::new(),
            heralds: tell::Heralds::default(),
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
        let max_wait = request.max_wait;
        match request.subject {
            Subject::Question(question) => {
                let job = self.new_job(request.tool, question).await?;
                let (running, listening) = self.start(job, events);
                // Only what is saved can be found again, so only that can be left.
                let max_wait = max_wait.filter(|_| running.id != UNSAVED);
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
            let (running, listening) = match self.take_up(id, max_rounds).await? {
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
    fn start(self: &Arc<Self>, job: Job, events: EventSink) -> (Arc<Running>, Listening) {
        let (running, end) = Running::new(job.id.clone());
        let listening = running.listen(events);
        let listed = self.running.list(&running);
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

    async fn new_job(&self, tool: String, mut question: Question) -> Result<Job, ErrorReport> {
        question::check(&question.text)?;
        question.extra.push(("tool".to_owned(), tool.clone()));
        let config = self.plugins.config();
        if [DEEP_SEARCH, RESEARCH].contains(&&*tool) {
            let most = config.research.max_iterations;
            question.extra.push((MAX_ITERATIONS.to_owned(), most.to_string()));
        }
        question.extra.extend(config.tools.get(&tool).map(resume::remembered));
        let claim = self
            .store
            .create_task(NewTask {
                tool: tool.clone(),
                text: question.text.clone(),
                question: to_json(&question),
            })
            .await;
        Ok(Job {
            id: claim.as_ref().map_or_else(|_| UNSAVED.to_owned(), |claim| claim.id.clone()),
            claim: claim.clone().ok(),
            recorder: Recorder::new(self.store.clone(), claim),
            tool,
            question,
            progress: Progress::default(),
            created_at: jiff::Timestamp::now(),
            spent: Duration::ZERO,
        })
    }

    /// Works on a task to its end.
    async fn work(&self, job: Job, running: &Arc<Running>) -> Outcome {
        let Job { id, claim, tool, mut question, recorder, mut progress, created_at, spent } = job;
        let started = Instant::now();
        let prompts = self.prompts.as_ref().expect("checked before it was started");
        let events = running.events();
        events(Event::Started { id: id.clone() });
        let backends = self.plugins.config().tools.get(&tool).cloned().unwrap_or_default();
        // What can be done is a matter of today's configuration.
        question.extra.retain(|(name, _)| name != STEPS);
        question.extra.push((STEPS.to_owned(), research::steps(&backends)));
        progress.model = self.configured_model(&backends).or(progress.model.take());

        let run = Run {
            plugins: &self.plugins,
            backends: &backends,
            prompts,
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
            citations: progress.citations(),
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

    /// The model that the user wants the tool's agent to use.
    fn configured_model(&self, backends: &ToolBackends) -> Option<String> {
        let agent = self.plugins.config().plugins.get(backends.agent.as_ref()?)?;
        let model = agent.settings.get("model")?.as_str()?.trim();
        (!model.is_empty()).then(|| model.to_owned())
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
        // One that runs again still has the result of the attempt before.
        let ended = !matches!(task.status, Status::Running | Status::Interrupted);
        if ended && let Some(result) = self.store.result(&task.id).await? {
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
        saved: true,
        id: task.id,
    }
}
