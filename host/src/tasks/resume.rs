//! Taking up a task that was left: by a crash, a cancelled call, a failure, or a
//! limit. What it has paid for is not asked again.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::running::Running;
use super::work::{self, unknown_fate, was_left_starting};
use super::{DEEP_SEARCH, ErrorReport, Outcome, RESEARCH, TaskStatus, Tasks, plan_of, question_of};
use crate::config::ToolBackends;
use crate::plugins::contract::Round;
use crate::research::{Allowance, Progress, Recorder};
use crate::store::{Status, StoreError, TaskRecord};

/// The name in a question's `extra` for the backends that served it.
const BACKENDS: &str = "backends";

/// How often a task of another process is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// What is to be done about a task that is asked for by its id.
pub(super) enum TakenUp {
    /// Nothing: this is what it came to.
    Ended(Box<Outcome>),
    /// This process works on it.
    Here(Arc<Running>),
    /// Another process works on the task of this id.
    Elsewhere(String),
    Left(Box<work::Job>),
}

impl Tasks {
    /// Finds out what is to be done, and takes the task if it was left; one that has
    /// ended only if the user has asked for it. One at a time: the caller holds
    /// `taking_up` until the task is listed as running.
    pub(super) async fn take_up(
        &self,
        id: &str,
        max_rounds: Option<u32>,
        asked_for: bool,
    ) -> Result<TakenUp, ErrorReport> {
        let task = self.store.find_task(id).await?;
        if let Some(running) = self.running.get(&task.id) {
            return Ok(TakenUp::Here(running));
        }
        // Since it was seen to be left, it may have been cancelled.
        if !asked_for && task.status != Status::Interrupted {
            return Ok(TakenUp::Ended(Box::new(self.outcome(&task.id).await?)));
        }
        if let Some(outcome) = self.unsaved.get(&task.id) {
            return Ok(TakenUp::Ended(Box::new(outcome)));
        }
        if task.status == Status::NeedsAttention {
            let known = task.error.as_deref().and_then(|error| serde_json::from_str(error).ok());
            return Err(known.unwrap_or_else(|| unknown_fate(&task.id, "its record is damaged")));
        }
        // Its job is over: there is nothing to go on with.
        if task.background && matches!(task.status, Status::Cancelled | Status::Failed) {
            return Err(ErrorReport {
                code: "ALREADY_ENDED".to_owned(),
                message: format!("task {} is {}, and stays so", task.id, task.status.as_str()),
                hint: Some(
                    "get_research_results, or `bathysphere show`, has what was found; \
                     start_deep_research, or `bathysphere start`, asks anew"
                        .to_owned(),
                ),
            });
        }
        // Only these have rounds that the asker can count.
        let max_rounds = max_rounds.filter(|_| [DEEP_SEARCH, RESEARCH].contains(&&*task.tool));
        let rounds = self.rounds(&task.id).await?;
        if task.status == Status::Completed && !may_go_on(&task, &rounds, max_rounds) {
            return Ok(TakenUp::Ended(Box::new(self.outcome(&task.id).await?)));
        }
        self.check_backends(&task)?;
        let taken = if task.background && task.status == Status::Interrupted {
            self.check_reach(&task)?;
            self.store.claim_task(&task.id).await
        } else {
            self.store.reopen_task(&task.id).await
        };
        match taken {
            Ok(claim) => {
                let record = async {
                    let calls = self.store.calls(&task.id).await?;
                    let job = self.store.job(&task.id).await?;
                    let forecast = self.store.forecast(&task.id).await?;
                    Ok::<_, StoreError>((calls, job, forecast))
                };
                let (calls, job, forecast) = match record.await {
                    Ok(record) => record,
                    Err(error) => {
                        // Whoever can read it takes it up, this process too.
                        let _ = self.store.leave_task(&claim).await;
                        return Err(error.into());
                    }
                };
                let spent = rounds.iter().map(|round| round.duration_ms).sum();
                let mut question = question_of(&task);
                let mut plan = plan_of(&task);
                if let Some(most) = max_rounds {
                    question.max_rounds = Some(most);
                    if let Some(plan) = &mut plan {
                        plan.rounds = most;
                    }
                }
                let mut allowance = Allowance::new(&self.plugins.config().budget, &question);
                if let Some(forecast) = forecast {
                    allowance.usd_per_task = Some(forecast.cost_usd.1);
                }
                Ok(TakenUp::Left(Box::new(work::Job {
                    open_start: was_left_starting(&calls, job.is_some()),
                    recorder: Recorder::resumed(
                        self.store.clone(),
                        self.prices.clone(),
                        claim.clone(),
                        calls,
                        job,
                    )
                    .within(allowance),
                    id: claim.id.clone(),
                    claim: Some(claim),
                    question,
                    progress: Progress::resumed(plan, rounds, task.memo.clone()),
                    created_at: jiff::Timestamp::from_millisecond(task.created_at)
                        .unwrap_or_default(),
                    spent: Duration::from_millis(spent),
                    tool: task.tool,
                    background: task.background,
                    notify: task.notify,
                    deadline: task
                        .deadline
                        .and_then(|deadline| jiff::Timestamp::from_millisecond(deadline).ok()),
                })))
            }
            Err(StoreError::Owned { task }) => Ok(TakenUp::Elsewhere(task)),
            // Another process was quicker.
            Err(StoreError::Finished { task, .. }) => {
                Ok(TakenUp::Ended(Box::new(self.outcome(&task).await?)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A question that was asked of one's own documents is not sent to a vendor
    /// because the documents are not named this time.
    fn check_backends(&self, task: &TaskRecord) -> Result<(), ErrorReport> {
        let question = question_of(task);
        let Some((_, then)) = question.extra.iter().find(|(name, _)| name == BACKENDS) else {
            return Ok(());
        };
        let now = self.plugins.config().tools.get(&task.tool).map(named).unwrap_or_default();
        if *then == now {
            return Ok(());
        }
        Err(ErrorReport {
            code: "INVALID_INPUT".to_owned(),
            message: format!("task {} was served by {then}, and would now be by {now}", task.id),
            hint: Some(
                "start with the same --docs and plugins.toml as before, or ask anew".to_owned(),
            ),
        })
    }

    /// Whether this process has all that it takes to go on with a task.
    pub(super) async fn can_take_up(&self, id: &str) -> Result<(), ErrorReport> {
        let task = self.store.find_task(id).await?;
        self.check_backends(&task)?;
        self.check_reach(&task)
    }

    /// A task is better left alone than taken by a process that cannot see to it.
    fn check_reach(&self, task: &TaskRecord) -> Result<(), ErrorReport> {
        let backends = self.plugins.config().tools.get(&task.tool);
        match backends.and_then(|backends| backends.research.as_ref()) {
            Some(plugin) if !self.can_reach(plugin) => Err(ErrorReport {
                code: "AUTH_ERROR".to_owned(),
                message: format!("the key that {plugin} needs is not set here"),
                hint: Some("set it, and start again".to_owned()),
            }),
            _ => Ok(()),
        }
    }

    /// Waits for a task that another process works on. None when that process has
    /// left it.
    pub(super) async fn watch(
        &self,
        id: &str,
        cancel: &CancellationToken,
        until: Option<Instant>,
    ) -> Result<Option<Outcome>, ErrorReport> {
        loop {
            let outcome = self.outcome(id).await?;
            let time_is_over = until.is_some_and(|until| Instant::now() >= until);
            match outcome.status {
                TaskStatus::Interrupted => return Ok(None),
                TaskStatus::Running if !time_is_over && !cancel.is_cancelled() => {}
                _ => return Ok(Some(outcome)),
            }
            tokio::select! {
                () = cancel.cancelled() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }
}

/// What a task remembers of its backends.
pub(super) fn remembered(backends: &ToolBackends) -> (String, String) {
    (BACKENDS.to_owned(), named(backends))
}

fn named(backends: &ToolBackends) -> String {
    let ToolBackends { agent, search, pages, research } = backends;
    let names: Vec<&str> =
        [agent, search, pages, research].into_iter().flatten().map(String::as_str).collect();
    names.join(" and ")
}

/// Whether a task that has come to its end can go on: it was cut short by a round
/// that failed for good, or by a limit that is higher now.
fn may_go_on(task: &TaskRecord, rounds: &[Round], max_rounds: Option<u32>) -> bool {
    let done = rounds.iter().filter(|round| round.error.is_none()).count();
    match task.stop_reason.as_deref() {
        Some("round-failed") => true,
        Some("limit") => max_rounds.is_some_and(|most| most as usize > done),
        _ => false,
    }
}
