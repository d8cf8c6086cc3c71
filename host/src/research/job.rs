//! Writing down the job of a task: the intent before it is started, the vendor's
//! name for it the moment it is known, and how it stands whenever that changes.
//! Whoever takes the task up later goes on from there, and starts nothing twice.

use std::time::Duration;

use tokio::sync::watch;

use super::recorder::{Call, Recorder, to_json, unrecorded};
use super::unwritten::Entry;
use crate::digest;
use crate::plugins::CallError;
use crate::plugins::contract::{ErrorKind, Job, Usage};
use crate::store::{CallState, NewJob, Status, StoreError};

/// Why there is no job to wait for.
#[derive(Debug)]
pub enum NotStarted {
    /// The vendor did not take it: nothing was started, and nothing is to be paid.
    Refused(CallError),
    /// It may have been started, or not. Nobody starts it again without being told.
    Unknown(CallError),
    /// Another process has the task now, or it was cancelled.
    Lost,
}

/// How writing it down went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// On the disk, or at least still ours.
    Ours,
    /// The task is another's now, or has ended.
    Lost,
}

impl Recorder {
    /// The job that an earlier process has started for this task.
    pub fn job(&self) -> Option<Job> {
        let job = self.job.as_ref()?;
        let known = serde_json::from_str(&job.state).ok();
        Some(known.unwrap_or_else(|| Job::unseen(&job.job_id)))
    }

    /// Whether a job is being started: whoever breaks that off loses its name.
    pub fn starting(&self) -> watch::Receiver<bool> {
        self.starting.subscribe()
    }

    /// Starts a job: the intent is on the disk before anything is sent, and the
    /// job's name before anything else is done.
    pub async fn start_job(
        &self,
        call: Call<'_>,
        send: impl Future<Output = Result<Job, CallError>>,
    ) -> Result<(u32, Job), NotStarted> {
        let _starting = Starting::new(&self.starting);
        let request_hash = digest::hexadecimal(call.request.as_bytes());
        let number = match self.begin(&call, request_hash).await {
            Ok(number) => number,
            Err(error) if is_lost(&error) => return Err(NotStarted::Lost),
            Err(error) => return Err(NotStarted::Refused(unrecorded(call.plugin, &error))),
        };
        let job = match send.await {
            Ok(job) => job,
            Err(error) if was_not_taken(&error) => {
                self.end(number, Err(to_json(&error.to_string())), None).await;
                return Err(NotStarted::Refused(error));
            }
            // The row stays as it is: sent, and nothing known of it.
            Err(error) => return Err(NotStarted::Unknown(error)),
        };
        let started = NewJob {
            call: number,
            plugin: call.plugin.to_owned(),
            job_id: job.id.clone(),
            state: to_json(&job),
        };
        match self.keep_started(started).await {
            Kept::Ours => Ok((number, job)),
            Kept::Lost => Err(NotStarted::Lost),
        }
    }

    async fn keep_started(&self, job: NewJob) -> Kept {
        let Some(claim) = &self.claim else { return Kept::Ours };
        match self.write_down(Entry::JobStarted(job.clone())).await {
            Ok(()) => Kept::Ours,
            Err(error) if is_lost(&error) => {
                self.hand_over(job).await;
                Kept::Lost
            }
            Err(error) => {
                // Nothing but this log and the memory of this process knows of it.
                tracing::error!(
                    "task {}: the job {} was started, and could not be written down: {error}; \
                     should this process end before that is mended, `bathysphere task adopt {} {}` \
                     saves it",
                    claim.id,
                    job.job_id,
                    claim.id,
                    job.job_id,
                );
                self.note(Err(error));
                Kept::Ours
            }
        }
    }

    /// Whoever has the task now is given the job's name: nobody else knows it.
    async fn hand_over(&self, job: NewJob) {
        let Some(claim) = &self.claim else { return };
        for pause in HANDING_OVER {
            let handed = match self.store.task(&claim.id).await {
                Ok(Some(task)) if task.status == Status::NeedsAttention => {
                    self.store.adopt_job(&claim.id, &job.job_id, job.state.clone()).await
                }
                Ok(Some(task)) if task.status == Status::Cancelled => {
                    self.store.job_started_too_late(&claim.id, job.clone()).await
                }
                // Whoever has it is about to find out that it was being started.
                Ok(Some(task)) if task.status == Status::Running => {
                    Err(StoreError::Owned { task: task.id })
                }
                Ok(_) => break,
                Err(error) => Err(error),
            };
            match handed {
                Ok(()) => return,
                Err(error) => tracing::warn!(
                    "task {}: its job {} could not be handed over: {error}",
                    claim.id,
                    job.job_id
                ),
            }
            tokio::time::sleep(pause).await;
        }
        tracing::error!(
            "task {}: another process has it, and does not know of its job {}",
            claim.id,
            job.job_id
        );
    }

    /// The task is not this process's any more: a job that could not be written down
    /// is handed to whoever has it.
    pub async fn give_away(&self) {
        if let Some(job) = self.unwritten.take_job().await {
            self.hand_over(job).await;
        }
    }

    /// How it stands with the job.
    pub async fn save_job(&self, job: &Job) -> Kept {
        match self.write_down(Entry::JobState(to_json(job))).await {
            Err(error) if is_lost(&error) => Kept::Lost,
            result => {
                self.note(result);
                Kept::Ours
            }
        }
    }

    /// What the job has cost in the end.
    pub async fn settle_job(&self, call: u32, usage: &Usage) {
        self.write_or_note(Entry::Settled(call, to_json(usage), usage.cost_usd)).await;
    }

    /// The number of the call that started the job of an earlier process.
    pub fn job_call(&self) -> Option<u32> {
        self.job.as_ref().map(|job| job.call)
    }
}

/// Says so as long as it is there.
struct Starting<'a>(&'a watch::Sender<bool>);

impl<'a> Starting<'a> {
    fn new(starting: &'a watch::Sender<bool>) -> Self {
        starting.send_replace(true);
        Self(starting)
    }
}

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        self.0.send_replace(false);
    }
}

/// Whether a task must not be worked on: something was sent for it, and nobody
/// knows what became of it.
pub fn has_open_start(calls: &[crate::store::CallRecord]) -> bool {
    calls.iter().any(|call| call.function == START && call.state == CallState::Sent)
}

/// Between attempts to tell whoever has the task of its job.
const HANDING_OVER: [Duration; 5] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(3),
    Duration::from_secs(10),
    Duration::from_secs(30),
];

/// The function that starts a job, in the record of calls.
pub const START: &str = "start";

/// The task is not this process's any more. One that the database does not know any
/// more is nobody else's either: its file was removed or replaced.
pub fn is_lost(error: &StoreError) -> bool {
    matches!(error, StoreError::LostOwnership { .. } | StoreError::Finished { .. })
}

/// Whether a failed start was provably not taken by the vendor.
pub fn was_not_taken(error: &CallError) -> bool {
    match error {
        CallError::Failed { error, .. } => match &error.kind {
            ErrorKind::Auth
            | ErrorKind::InvalidInput
            | ErrorKind::Refused
            | ErrorKind::NotFound
            | ErrorKind::RateLimited(_) => true,
            ErrorKind::Unavailable => false,
            ErrorKind::Other(name) => name == NOT_SENT,
        },
        CallError::Load(_) => true,
        // It was ended while it was at it.
        CallError::Limit { .. } | CallError::Crashed { .. } => false,
    }
}

/// No connection could be made.
pub const NOT_SENT: &str = "not-sent";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::contract::PluginError;

    #[test]
    fn only_what_was_provably_not_taken_may_be_sent_again() {
        let failed = |kind| CallError::Failed {
            plugin: "research".to_owned(),
            error: PluginError::new(kind, "no"),
        };
        for kind in [
            ErrorKind::Auth,
            ErrorKind::InvalidInput,
            ErrorKind::Refused,
            ErrorKind::NotFound,
            ErrorKind::RateLimited(None),
            ErrorKind::Other("not-sent".to_owned()),
        ] {
            assert!(was_not_taken(&failed(kind.clone())), "{kind:?}");
        }
        for kind in [
            ErrorKind::Unavailable,
            ErrorKind::Other("timeout".to_owned()),
            ErrorKind::Other("too-large".to_owned()),
        ] {
            assert!(!was_not_taken(&failed(kind.clone())), "{kind:?}");
        }
    }
}
