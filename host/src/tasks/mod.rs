//! Durable tasks: one question being researched, from start to result. What is
//! asked is checked here, once, for the command line and MCP alike.

mod question;
mod request;

use std::sync::Arc;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

pub use crate::report::{ErrorReport, Outcome, TaskStatus};
pub use crate::research::{Event, EventSink, RESULTS};
pub use question::LONGEST_QUESTION;
pub use request::{TaskRequest, TaskSummary};

use crate::plugins::contract::{Hit, Plan, Question, Round, SearchDepth, SearchQuery, StopReason};
use crate::plugins::{CallError, LoadError, Plugins};
use crate::report::{self, timestamp};
use crate::research::{self, Progress, Recorder, Run, to_json};
use crate::store::{Ending, NewResult, NewTask, Store, TaskEnd, TaskFilter, TaskRecord};

/// Everything that can be done with tasks.
pub struct Tasks {
    plugins: Arc<Plugins>,
    store: Store,
}

impl Tasks {
    pub fn new(plugins: Arc<Plugins>, store: Store) -> Self {
        Self { plugins, store }
    }

    pub fn plugins(&self) -> &Arc<Plugins> {
        &self.plugins
    }

    /// Researches a question to its end. An error means that there was no task;
    /// a task that failed or was cancelled is an outcome that says so, with all
    /// that was done.
    pub async fn run(
        &self,
        request: TaskRequest,
        events: EventSink,
        cancel: CancellationToken,
    ) -> Result<Outcome, ErrorReport> {
        question::check(&request.question.text)?;
        let mut question = request.question;
        question.extra.push(("tool".to_owned(), request.tool.clone()));
        let backends = self.plugins.config().tools.get(&request.tool).cloned().unwrap_or_default();

        let started = Instant::now();
        let created_at = jiff::Timestamp::now();
        let claim = self
            .store
            .create_task(NewTask {
                tool: request.tool.clone(),
                text: question.text.clone(),
                question: to_json(&question),
            })
            .await;
        let id = claim.as_ref().map_or_else(|_| "unsaved".to_owned(), |claim| claim.id.clone());
        let recorder = Recorder::new(self.store.clone(), claim.clone());
        events(Event::Started { id: id.clone() });

        let run = Run {
            plugins: &self.plugins,
            backends: &backends,
            recorder: &recorder,
            events: &events,
        };
        let mut progress = Progress::default();
        let ended = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
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
            tool: request.tool,
            question,
            status,
            plan: progress.plan,
            rounds: progress.rounds,
            stop_reason: progress.stop_reason,
            note: progress.note,
            model: progress.model,
            created_at: created_at.to_string(),
            finished_at: Some(jiff::Timestamp::now().to_string()),
            duration_ms: started.elapsed().as_millis() as u64,
            error,
            saved: true,
        };
        self.finish(claim.as_ref().ok(), &recorder, &mut outcome).await;
        Ok(outcome)
    }

    /// Saves the end of a task. When it cannot be saved the outcome says so: it
    /// is then the only copy.
    async fn finish(
        &self,
        claim: Option<&crate::store::Claim>,
        recorder: &Recorder,
        outcome: &mut Outcome,
    ) {
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
        let rounds = self.store.rounds(&task.id).await?;
        let rounds: Vec<Round> =
            rounds.iter().filter_map(|round| serde_json::from_str(&round.round).ok()).collect();
        Ok(unfinished(task, rounds))
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
                    .with_hint("name one in [tools.search] of plugins.toml"),
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

/// What is known of a task that has no result: running, or interrupted.
fn unfinished(task: TaskRecord, rounds: Vec<Round>) -> Outcome {
    let progress = Progress::of_rounds(rounds);
    Outcome {
        answer: progress.answer(),
        findings: progress.findings(),
        sources: progress.sources(),
        usage: progress.usage(),
        tool: task.tool.clone(),
        question: serde_json::from_str(&task.question)
            .unwrap_or_else(|_| Question { text: task.text.clone(), ..Question::default() }),
        status: task.status.into(),
        plan: task.plan.as_deref().and_then(|plan| serde_json::from_str::<Plan>(plan).ok()),
        rounds: progress.rounds,
        stop_reason: task.stop_reason.as_deref().map(|reason| StopReason::Other(reason.to_owned())),
        note: task.note.clone(),
        model: None,
        created_at: timestamp(task.created_at),
        finished_at: task.finished_at.map(timestamp),
        duration_ms: u64::try_from(task.updated_at - task.created_at).unwrap_or_default(),
        error: task.error.as_deref().and_then(|error| serde_json::from_str(error).ok()),
        saved: true,
        id: task.id,
    }
}
