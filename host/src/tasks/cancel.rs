//! Cancelling a task, whichever process works on it: written down first, so that
//! nothing revives it; then told to the vendor, so that nobody pays for it; and
//! told again later if the vendor could not be reached.

use std::sync::Arc;
use std::time::Duration;

use super::work::result_of;
use super::{ErrorReport, Outcome, TaskStatus, Tasks};
use crate::plugins::contract::{Job, JobStatus, Usage};
use crate::report::words::money;
use crate::research::{has_open_start, to_json};
use crate::store::{Cancelled, JobRecord, StoreError};

/// How long whoever cancels is kept waiting for the vendor.
const WAIT: Duration = Duration::from_secs(10);

/// No job of any vendor runs for this long: what could not be told by then is moot.
const MOOT: i64 = 6 * 60 * 60 * 1000;

/// The note of a task whose user did not want what had been found, so that what
/// the vendor tells later does not bring it back.
const DISCARDED: &str = "what had been found when it was cancelled was discarded";

/// What cancelling has come to.
#[derive(Debug, Clone)]
pub struct Cancellation {
    /// As it stands now.
    pub outcome: Outcome,
    /// It had been cancelled before.
    pub before: bool,
    /// What had been found by then is kept.
    pub partial: bool,
    pub vendor: Vendor,
}

/// Whether the vendor knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vendor {
    /// There is nothing at a vendor.
    NotInvolved,
    Told,
    /// It could not be reached, and is told again until it has heard.
    ToldLater,
    /// It may have a job whose name nobody knows.
    Unknown,
}

impl Tasks {
    pub async fn cancel(
        self: &Arc<Self>,
        id: &str,
        save_partial: bool,
    ) -> Result<Cancellation, ErrorReport> {
        let task = self.store.find_task(id).await?;
        let before = self.outcome_of(task.clone()).await?;
        if matches!(before.status, TaskStatus::Completed | TaskStatus::Failed) {
            return Err(has_ended(&before));
        }
        let mut partial = before.clone();
        partial.status = TaskStatus::Cancelled;
        partial.error = None;
        partial.note = None;
        partial.finished_at = Some(jiff::Timestamp::now().to_string());
        if !save_partial {
            drop_partial(&mut partial);
        }
        let cancelled = match self.store.cancel_task(&task.id, Some(result_of(&partial))).await {
            Ok(cancelled) => cancelled,
            Err(StoreError::Finished { .. }) => {
                return Err(has_ended(&self.outcome(&task.id).await?));
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(running) = self.running.get(&task.id) {
            running.lost.cancel();
        }
        let vendor = match self.store.take_cancel(&task.id).await? {
            Some(job) => self.tell_vendor_now(job, save_partial).await,
            None if self.store.job(&task.id).await?.is_some() => Vendor::Told,
            None if !has_open_start(&self.store.calls(&task.id).await?) => Vendor::NotInvolved,
            // Whoever starts it just now tells the vendor as soon as its name is known.
            None if before.status == TaskStatus::Running => Vendor::ToldLater,
            None => Vendor::Unknown,
        };
        let outcome = self.outcome(&task.id).await?;
        Ok(Cancellation {
            partial: !outcome.answer.is_empty()
                || !outcome.rounds.is_empty()
                || !outcome.sources.is_empty(),
            before: cancelled == Cancelled::Before,
            outcome,
            vendor,
        })
    }

    /// What was ended here is ended at the vendor, now if it can be reached.
    pub(super) async fn tell_vendor_of(self: &Arc<Self>, task: &str) {
        if let Ok(Some(job)) = self.store.take_cancel(task).await {
            self.tell_vendor_now(job, true).await;
        }
    }

    /// Waits for the vendor, but not for long; who is not waited for goes on.
    async fn tell_vendor_now(self: &Arc<Self>, job: JobRecord, keep_report: bool) -> Vendor {
        let tasks = self.clone();
        let telling = tokio::spawn(async move { tasks.tell_vendor(&job, keep_report).await });
        match tokio::time::timeout(WAIT, telling).await {
            Ok(Ok(true)) => Vendor::Told,
            _ => Vendor::ToldLater,
        }
    }

    /// Tells vendors of the jobs that nobody wants, where that was not done or did
    /// not succeed.
    pub(super) async fn send_cancels(self: &Arc<Self>) -> Result<(), StoreError> {
        let names = self.plugins.config().plugins.keys();
        let reachable = names.filter(|name| self.can_reach(name)).cloned().collect();
        for job in self.store.take_cancels(reachable).await? {
            let tasks = self.clone();
            tokio::spawn(async move { tasks.tell_vendor(&job, true).await });
        }
        Ok(())
    }

    /// Whether the vendor has heard, or need not any more.
    async fn tell_vendor(&self, job: &JobRecord, keep_report: bool) -> bool {
        let told = async { self.plugins.research(&job.plugin).await?.cancel(&job.job_id).await };
        let ended = match told.await {
            Ok(ended) => Some(ended),
            Err(error) if jiff::Timestamp::now().as_millisecond() - job.started_at > MOOT => {
                tracing::warn!("{} was not told to stop {}: {error}", job.plugin, job.job_id);
                None
            }
            Err(error) => {
                tracing::warn!(
                    "{} could not be told to stop {}, and is told again: {error}",
                    job.plugin,
                    job.job_id
                );
                return false;
            }
        };
        let saved = self.settle(job, ended, keep_report).await;
        if let Err(error) = &saved {
            tracing::error!("task {}: {error}", job.task_id);
        }
        saved.is_ok()
    }

    async fn settle(
        &self,
        job: &JobRecord,
        ended: Option<Job>,
        keep_report: bool,
    ) -> Result<(), StoreError> {
        // A vendor that tells nothing at the end may have told it before.
        let before = serde_json::from_str::<Job>(&job.state).ok();
        let mut told = ended.clone().or_else(|| before.clone());
        if let (Some(told), Some(before)) = (&mut told, &before) {
            told.keep_from(before);
        }
        let usage = told.as_ref().map(|job| self.priced(job)).filter(has_used);
        let known = usage.as_ref();
        let state = ended.as_ref().filter(|ended| ended.status != JobStatus::Expired).map(to_json);
        self.store
            .job_cancelled(
                &job.task_id,
                state,
                known.map(to_json),
                known.and_then(|usage| usage.cost_usd),
            )
            .await?;
        // What the vendor told at the end is more than was known before.
        let Ok(mut outcome) = self.outcome(&job.task_id).await else { return Ok(()) };
        if outcome.status != TaskStatus::Cancelled {
            return Ok(());
        }
        if let Some(usage) = known {
            outcome.usage.clone_from(usage);
        }
        let keep_report = keep_report && outcome.note.as_deref() != Some(DISCARDED);
        if let Some(ended) = ended.filter(|_| keep_report) {
            if let Some(report) = ended.report.filter(|report| report.len() > outcome.answer.len())
            {
                outcome.answer = report;
                outcome.citations = ended.citations;
            }
            if ended.sources.len() > outcome.sources.len() {
                outcome.sources = ended.sources;
            }
        }
        self.store.replace_cancelled_result(&job.task_id, result_of(&outcome)).await
    }
}

fn has_used(usage: &Usage) -> bool {
    *usage != Usage::default() && *usage != Usage { cost_usd: Some(0.0), ..Usage::default() }
}

fn has_ended(outcome: &Outcome) -> ErrorReport {
    let status = outcome.status.as_str();
    let cost = outcome.usage.cost_usd.map(|cost| format!(" It cost {}.", money(cost)));
    ErrorReport {
        code: "ALREADY_ENDED".to_owned(),
        message: format!("task {} is {status} already: there is nothing to cancel", outcome.id),
        hint: Some(format!(
            "get_research_results, or `bathysphere show {}`, has what it came to.{}",
            crate::report::short_id(&outcome.id),
            cost.unwrap_or_default()
        )),
    }
}

fn drop_partial(outcome: &mut Outcome) {
    outcome.answer.clear();
    outcome.citations.clear();
    outcome.findings.clear();
    outcome.sources.clear();
    outcome.rounds.clear();
    outcome.note = Some(DISCARDED.to_owned());
}
