//! Working on a task: from the moment it is written down to the moment its end is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::request::Background;
use super::rescue::Unfinished;
use super::running::Running;
use super::{
    DEEP_SEARCH, ErrorReport, Event, Outcome, RESEARCH, TaskStatus, Tasks, UNSAVED, question,
    resume,
};
use crate::config::ToolBackends;
use crate::plugins::contract::{Forecast, Question};
use crate::report;
use crate::report::words::money;
use crate::research::{
    self, Allowance, MAX_ITERATIONS, Progress, Recorder, Run, STEPS, has_open_start, is_lost,
    to_json,
};
use crate::store::{Claim, Ending, NewResult, NewTask, StoreError, TaskEnd};

/// A task about to run.
pub(super) struct Job {
    pub id: String,
    pub claim: Option<Claim>,
    pub tool: String,
    pub question: Question,
    pub recorder: Recorder,
    pub progress: Progress,
    pub created_at: jiff::Timestamp,
    /// What earlier attempts took.
    pub spent: Duration,
    /// It goes on without anybody who waits.
    pub background: bool,
    /// The user wants to be told of its end.
    pub notify: bool,
    pub deadline: Option<jiff::Timestamp>,
    /// A call whose fate is unknown was made for it: it is parked, not worked on.
    pub open_start: bool,
}

/// How the work on a task came to an end.
enum Ended {
    By(Result<(), crate::plugins::CallError>),
    Cancelled,
    /// It is another's now, or has an end already.
    Lost,
}

impl Tasks {
    pub(super) async fn new_job(
        &self,
        tool: String,
        mut question: Question,
        background: Option<Background>,
    ) -> Result<Job, ErrorReport> {
        question::check(&question.text)?;
        question.extra.push(("tool".to_owned(), tool.clone()));
        let config = self.plugins.config();
        if [DEEP_SEARCH, RESEARCH].contains(&&*tool) {
            let most = config.research.max_iterations;
            question.extra.push((MAX_ITERATIONS.to_owned(), most.to_string()));
        }
        question.extra.extend(config.tools.get(&tool).map(resume::remembered));
        let mut allowance = Allowance::new(&config.budget, &question);
        question.max_cost_usd = allowance.usd_per_task;
        let forecast = if background.is_some() {
            // The limit must not make the estimate fit: the vendor is not told of it.
            let unlimited = Question { max_cost_usd: None, ..question.clone() };
            let forecast = self.forecast(&tool, &unlimited).await?;
            check_cost(&forecast, question.max_cost_usd)?;
            allowance.usd_per_task = Some(forecast.cost_usd.1);
            Some(forecast)
        } else {
            None
        };
        let created_at = jiff::Timestamp::now();
        let deadline = background.map(|background| created_at + background.max_wait);
        let claim = self
            .store
            .create_task(NewTask {
                tool: tool.clone(),
                text: question.text.clone(),
                question: to_json(&question),
                background: background.is_some(),
                notify: background.is_some_and(|background| background.notify),
                deadline: deadline.map(jiff::Timestamp::as_millisecond),
            })
            .await;
        // What cannot be written down cannot be found again, and is not paid for.
        if let (Some(_), Err(error)) = (background, &claim) {
            return Err(ErrorReport::from(error.clone()));
        }
        if let (Some(forecast), Ok(claim)) = (forecast, &claim) {
            self.remember_forecast(claim, forecast).await;
        }
        let recorder =
            Recorder::new(self.store.clone(), self.prices.clone(), claim.clone()).within(allowance);
        Ok(Job {
            id: claim.as_ref().map_or_else(|_| UNSAVED.to_owned(), |claim| claim.id.clone()),
            claim: claim.ok(),
            recorder,
            tool,
            question,
            progress: Progress::default(),
            created_at,
            spent: Duration::ZERO,
            background: background.is_some(),
            notify: background.is_some_and(|background| background.notify),
            deadline,
            open_start: false,
        })
    }

    /// Works on a task to its end.
    pub(super) async fn work(self: &Arc<Self>, job: Job, running: &Arc<Running>) -> Outcome {
        let started = Instant::now();
        let Job { id, claim, tool, mut question, recorder, mut progress, .. } = job;
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
            date: job.created_at.strftime("%Y-%m-%d").to_string(),
            poll: self.plugins.config().research.poll,
            deadline: job.deadline,
        };
        let ended = if job.open_start {
            progress.parked = Some("the process that started it was ended meanwhile".to_owned());
            Ended::Lost
        } else {
            running.tell_of_starts(recorder.starting());
            let researching = research::run(&run, &question, &mut progress);
            tokio::pin!(researching);
            let ended = tokio::select! {
                biased;
                () = running.lost.cancelled() => Ended::Lost,
                () = running.cancel.cancelled() => Ended::Cancelled,
                result = &mut researching => Ended::By(result),
            };
            if !matches!(ended, Ended::By(_)) {
                // What is being started gets its name written down, so that the
                // vendor can be told.
                tokio::select! {
                    biased;
                    () = running.started() => {}
                    _ = &mut researching => {}
                }
            }
            ended
        };
        // What was cancelled or taken over meanwhile is not for this process to park.
        let ours = job.open_start || matches!(ended, Ended::By(_));
        let parked = progress.parked.take().filter(|_| ours);
        let unsaved = recorder.trouble();
        let lost = parked.is_none() && (progress.lost || matches!(ended, Ended::Lost));
        if lost {
            recorder.give_away().await;
            // What became of it is in the database.
            match self.outcome(&id).await {
                Ok(outcome) => return outcome,
                Err(error) => tracing::error!("task {id}: {}", error.message),
            }
        }
        let (status, error) = match (&parked, ended) {
            (Some(why), _) => (TaskStatus::NeedsAttention, Some(unknown_fate(&id, why))),
            (None, Ended::Cancelled | Ended::Lost) => (TaskStatus::Cancelled, None),
            (None, Ended::By(Ok(()))) => (TaskStatus::Completed, None),
            (None, Ended::By(Err(error))) => (TaskStatus::Failed, Some(ErrorReport::from(&error))),
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
            created_at: job.created_at.to_string(),
            finished_at: Some(jiff::Timestamp::now().to_string()),
            duration_ms: if job.background {
                let since =
                    jiff::Timestamp::now().as_millisecond() - job.created_at.as_millisecond();
                u64::try_from(since).unwrap_or_default()
            } else {
                (job.spent + started.elapsed()).as_millis() as u64
            },
            error,
            job: None,
            saved: true,
        };
        if status == TaskStatus::NeedsAttention {
            outcome.finished_at = None;
            self.park(claim, &outcome).await;
        } else if !lost {
            let unfinished = claim.map(|claim| Unfinished {
                claim,
                recorder,
                background: job.background,
                notify: job.notify,
                deadline: job.deadline.map(jiff::Timestamp::as_millisecond),
                cancel_job: progress.cancel_job || status == TaskStatus::Cancelled,
            });
            self.finish(unfinished, unsaved, &mut outcome).await;
        }
        outcome
    }

    /// The model that the user wants the tool's agent to use.
    pub(super) fn configured_model(&self, backends: &ToolBackends) -> Option<String> {
        let agent = self.plugins.config().plugins.get(backends.agent.as_ref()?)?;
        let model = agent.settings.get("model")?.as_str()?.trim();
        (!model.is_empty()).then(|| model.to_owned())
    }

    /// Where this cannot be written the task stays open, and whoever takes it up
    /// finds the call without an answer, and parks it then.
    async fn park(self: &Arc<Self>, claim: Option<Claim>, outcome: &Outcome) {
        let (Some(claim), Some(error)) = (claim, &outcome.error) else { return };
        match self.store.park_task(&claim, error.message.clone(), to_json(error)).await {
            Ok(()) => {}
            Err(trouble) => {
                tracing::error!("task {}: {trouble}", claim.id);
                if !is_lost(&trouble) {
                    self.park_later(claim, error, outcome.clone());
                }
            }
        }
    }

    /// Saves the end of a task. When it cannot be saved the outcome says so, and
    /// where a copy is. `unsaved` is why a task that was never written was not.
    async fn finish(
        self: &Arc<Self>,
        unfinished: Option<Unfinished>,
        unsaved: Option<StoreError>,
        outcome: &mut Outcome,
    ) {
        let trouble = match &unfinished {
            Some(Unfinished { claim, recorder, cancel_job, .. }) => {
                let end = end_of(outcome, *cancel_job);
                let saved = async {
                    recorder.catch_up().await?;
                    self.store.finish_task(claim, end).await
                };
                saved.await.err()
            }
            None => unsaved,
        };
        let Some(error) = trouble else {
            if unfinished.is_some_and(|unfinished| unfinished.cancel_job) {
                self.tell_vendor_of(&outcome.id).await;
            }
            return;
        };
        if is_lost(&error)
            && let Ok(known) = self.outcome(&outcome.id).await
        {
            *outcome = known;
            return;
        }
        let unmarked = outcome.clone();
        let copy = self.rescue(outcome, &error);
        outcome.saved = false;
        let mut warning = match &copy {
            Some(path) => format!(
                "this result could not be saved in the database: {error}; a copy is in {}",
                path.display()
            ),
            None => format!("this result could not be saved: {error}"),
        };
        if unfinished.is_some() {
            warning.push_str("; it goes into the database as soon as that can be written");
        }
        outcome.note = Some(match outcome.note.take() {
            Some(note) => format!("{}; {warning}", note.trim_end_matches('.')),
            None => warning,
        });
        if let Some(unfinished) = unfinished {
            self.save_later(unfinished, unmarked, outcome.clone());
        }
    }
}

/// A vendor cannot be told a limit: what may become dearer is not started.
fn check_cost(forecast: &Forecast, most: Option<f64>) -> Result<(), ErrorReport> {
    let (low, high) = forecast.cost_usd;
    match most {
        Some(most) if high > most => Err(ErrorReport {
            code: "BUDGET_EXCEEDED".to_owned(),
            message: format!(
                "the research was not started: it is expected to cost {} to {}, and may cost {} at \
                 the most",
                money(low),
                money(high),
                money(most)
            ),
            hint: Some(
                "allow more with max_cost_usd (--max-cost), or with usd_per_task in [budget] of plugins.toml; \
                 deep_search costs less"
                    .to_owned(),
            ),
        }),
        _ => Ok(()),
    }
}

/// The end of a task as the database keeps it.
pub(super) fn end_of(outcome: &Outcome, cancel_job: bool) -> TaskEnd {
    TaskEnd {
        ending: match outcome.status {
            TaskStatus::Cancelled => Ending::Cancelled,
            TaskStatus::Failed => Ending::Failed,
            _ => Ending::Completed,
        },
        stop_reason: outcome.stop_reason.as_ref().map(|reason| reason.as_str().to_owned()),
        note: outcome.note.clone(),
        error: outcome.error.as_ref().map(to_json),
        result: Some(result_of(outcome)),
        cancel_job,
    }
}

pub(super) fn result_of(outcome: &Outcome) -> NewResult {
    NewResult { outcome: to_json(outcome), markdown: report::render_markdown(outcome) }
}

/// Something may have been paid for, and the user has to say what is to become of it.
pub(super) fn unknown_fate(id: &str, why: &str) -> ErrorReport {
    let id = report::short_id(id);
    ErrorReport {
        code: "NEEDS_ATTENTION".to_owned(),
        message: format!(
            "the research may have been started at the vendor, and may have been paid for, but \
             nobody knows: {why}"
        ),
        hint: Some(format!(
            "look at the vendor's console; if it is there, `bathysphere task adopt {id} \
             INTERACTION` goes on with it; if it is not, `bathysphere task retry {id}` starts it \
             again; `bathysphere cancel {id}` gives it up"
        )),
    }
}

/// Whether a task that is taken up was left in the middle of a paid start.
pub(super) fn was_left_starting(calls: &[crate::store::CallRecord], has_job: bool) -> bool {
    !has_job && has_open_start(calls)
}
