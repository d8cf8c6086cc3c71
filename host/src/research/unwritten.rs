//! What is still to be written of a run, oldest first: everything passes through
//! here, and what the database does not take waits until it does.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Mutex;

use super::job::is_lost;
use crate::store::{CallEnd, Claim, NewJob, NewRound, Store, StoreError};

#[derive(Debug, Clone)]
pub enum Entry {
    /// JSON.
    Plan(String),
    Round(NewRound),
    /// The call of this number has come back.
    CallEnd(u32, CallEnd),
    /// A call has come back with a job.
    JobStarted(NewJob),
    /// How it stands with the job; JSON.
    JobState(String),
    /// What the call of this number has used, as JSON, and cost in the end.
    Settled(u32, String, Option<f64>),
}

#[derive(Default)]
pub struct Unwritten {
    entries: Mutex<VecDeque<Entry>>,
    behind: AtomicBool,
}

impl Unwritten {
    pub async fn add(&self, entry: Entry) {
        let mut entries = self.entries.lock().await;
        if matches!(entry, Entry::JobState(_)) {
            // Only how it stands now matters.
            entries.retain(|earlier| !matches!(earlier, Entry::JobState(_)));
        }
        entries.push_back(entry);
    }

    pub fn is_behind(&self) -> bool {
        self.behind.load(Ordering::Acquire)
    }

    /// Writes until nothing is left, or something cannot be written.
    pub async fn write(&self, store: &Store, claim: &Claim) -> Result<(), StoreError> {
        let mut entries = self.entries.lock().await;
        while let Some(entry) = entries.front() {
            match write(store, claim, entry.clone()).await {
                // Whoever wrote it may have been stopped before the answer came.
                Ok(()) | Err(StoreError::RoundSaved { .. } | StoreError::NoOpenCall { .. }) => {
                    entries.pop_front();
                }
                Err(error) => {
                    if is_lost(&error) {
                        // Whoever has the task now can use nothing of it but this.
                        entries.retain(|entry| matches!(entry, Entry::JobStarted(_)));
                    }
                    self.behind.store(!entries.is_empty(), Ordering::Release);
                    return Err(error);
                }
            }
        }
        self.behind.store(false, Ordering::Release);
        Ok(())
    }
}

impl Unwritten {
    /// A job that is started, of which nobody else knows.
    pub async fn take_job(&self) -> Option<NewJob> {
        let mut entries = self.entries.lock().await;
        let position = entries.iter().position(|entry| matches!(entry, Entry::JobStarted(_)))?;
        match entries.remove(position) {
            Some(Entry::JobStarted(job)) => Some(job),
            _ => None,
        }
    }
}

async fn write(store: &Store, claim: &Claim, entry: Entry) -> Result<(), StoreError> {
    match entry {
        Entry::Plan(plan) => store.save_plan(claim, plan).await,
        Entry::Round(round) => store.save_round(claim, round).await,
        Entry::CallEnd(number, end) => store.finish_call(claim, number, end).await,
        Entry::JobStarted(job) => {
            let answer = CallEnd { outcome: Ok(job.state.clone()), usage: None, cost_usd: None };
            store.job_started(claim, job, answer).await
        }
        Entry::JobState(state) => store.save_job(claim, state).await,
        Entry::Settled(number, usage, cost) => store.settle_call(claim, number, usage, cost).await,
    }
}
