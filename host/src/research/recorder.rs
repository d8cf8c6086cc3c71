//! Writes a run down as it happens. When the database fails the run goes on in
//! memory, the user is told once, and what could not be written is written when the
//! database is sound again; but nothing that may cost money is sent unless it was
//! written down first, and what was answered before a run was interrupted is read
//! from the record instead of being paid for again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::billed::{Billed, bill};
use super::budget::Allowance;
use super::unwritten::{Entry, Unwritten};
use crate::digest;
use crate::plugins::CallError;
use crate::plugins::contract::{ErrorKind, Plan, PluginError, Round, Usage};
use crate::prices::Prices;
use crate::store::{
    CallEnd, CallRecord, CallState, Claim, JobRecord, NewCall, NewRound, Store, StoreError,
};

pub struct Recorder {
    pub(super) store: Store,
    /// What it costs is written down too.
    prices: Arc<Prices>,
    allowance: Allowance,
    /// None when the task could not be written at all.
    pub(super) claim: Option<Claim>,
    trouble: Mutex<Option<StoreError>>,
    /// What earlier attempts at this task have had answered, oldest first.
    answered: Mutex<Vec<CallRecord>>,
    /// The job that an earlier attempt has started.
    pub(super) job: Option<JobRecord>,
    pub(super) unwritten: Unwritten,
    /// What the calls of this task have cost, and the dearest of them.
    spent: Mutex<(f64, f64)>,
    /// A job is being started just now.
    pub(super) starting: watch::Sender<bool>,
}

/// A call as it is written down.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    pub round: u32,
    pub plugin: &'a str,
    pub function: &'a str,
    /// What is asked, so that the same request can be told from another.
    pub request: &'a str,
    /// Whether it may cost something: whoever reaches neither a host nor a
    /// command costs nothing, and is not written down.
    pub may_cost: bool,
}

impl Recorder {
    pub fn new(store: Store, prices: Arc<Prices>, claim: Result<Claim, StoreError>) -> Self {
        let (claim, trouble) = match claim {
            Ok(claim) => (Some(claim), None),
            Err(error) => (None, Some(error)),
        };
        Self {
            store,
            prices,
            allowance: Allowance::default(),
            claim,
            trouble: Mutex::new(trouble),
            answered: Mutex::default(),
            job: None,
            unwritten: Unwritten::default(),
            spent: Mutex::default(),
            starting: watch::Sender::default(),
        }
    }

    /// For a task that is taken up again, with the calls it has made and the job
    /// that it waits for.
    pub fn resumed(
        store: Store,
        prices: Arc<Prices>,
        claim: Claim,
        mut calls: Vec<CallRecord>,
        job: Option<JobRecord>,
    ) -> Self {
        let spent = calls.iter().filter_map(|call| call.cost_usd);
        let spent =
            spent.fold((0.0, 0.0), |(sum, most): (f64, f64), cost| (sum + cost, most.max(cost)));
        calls.retain(|call| call.state == CallState::Answered);
        Self {
            spent: Mutex::new(spent),
            answered: Mutex::new(calls),
            job,
            ..Self::new(store, prices, Ok(claim))
        }
    }

    /// What would go beyond this is not sent.
    pub fn within(mut self, allowance: Allowance) -> Self {
        self.allowance = allowance;
        self
    }

    pub fn prices(&self) -> &Prices {
        &self.prices
    }

    /// What kept the run from being saved, if anything did.
    pub fn trouble(&self) -> Option<StoreError> {
        guard(&self.trouble).clone()
    }

    pub async fn save_plan(&self, plan: &Plan) {
        self.write_or_note(Entry::Plan(to_json(plan))).await;
    }

    pub async fn save_round(&self, round: &Round, memo: &str) {
        let new = NewRound { number: round.number, round: to_json(round), memo: memo.to_owned() };
        self.write_or_note(Entry::Round(new)).await;
    }

    /// Makes a call: from the record, if this very request was answered before;
    /// otherwise written down, sent, priced, and written down again.
    pub async fn call<T: Serialize + DeserializeOwned + Billed>(
        &self,
        call: Call<'_>,
        send: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        if !call.may_cost {
            return send.await;
        }
        let request_hash = digest::hexadecimal(call.request.as_bytes());
        if let Some(answer) = self.recall(&call, &request_hash) {
            return Ok(answer);
        }
        let number = self
            .begin(&call, request_hash)
            .await
            .map_err(|error| unrecorded(call.plugin, &error))?;
        let mut answer = send.await;
        if let Ok(answer) = &mut answer {
            bill(&self.prices, answer);
        }
        let (outcome, usage) = match &answer {
            Ok(answer) => (Ok(to_json(answer)), Some(answer.usage())),
            Err(error) => (Err(to_json(&error.to_string())), None),
        };
        self.end(number, outcome, usage).await;
        answer
    }

    /// An answer counts once: a request that was made twice had two answers.
    fn recall<T: DeserializeOwned>(&self, call: &Call<'_>, request_hash: &str) -> Option<T> {
        let mut answered = guard(&self.answered);
        let position = answered.iter().position(|earlier| {
            earlier.round == call.round
                && earlier.plugin == call.plugin
                && earlier.function == call.function
                && earlier.request_hash == request_hash
        })?;
        let earlier = answered.remove(position);
        let answer = serde_json::from_str(earlier.outcome.as_deref()?).ok()?;
        tracing::debug!("call {} was answered before, and is not made again", earlier.number);
        Some(answer)
    }

    pub(super) async fn begin(
        &self,
        call: &Call<'_>,
        request_hash: String,
    ) -> Result<u32, StoreError> {
        let Some(claim) = &self.claim else {
            return Err(self.trouble().unwrap_or(StoreError::Closed));
        };
        let call = NewCall {
            round: call.round,
            plugin: call.plugin.to_owned(),
            function: call.function.to_owned(),
            request_hash,
        };
        self.store.begin_paid_call(claim, call, self.allowance.budget(self.may_have_spent())).await
    }

    /// What this task will have cost when the next call has come back: the dearest
    /// so far tells what one may cost.
    fn may_have_spent(&self) -> f64 {
        let (spent, dearest) = *guard(&self.spent);
        spent + dearest
    }

    pub(super) async fn end(
        &self,
        number: u32,
        outcome: Result<String, String>,
        usage: Option<&Usage>,
    ) {
        if let Some(cost) = usage.and_then(|usage| usage.cost_usd) {
            let mut spent = guard(&self.spent);
            *spent = (spent.0 + cost, spent.1.max(cost));
        }
        let end = CallEnd {
            outcome,
            cost_usd: usage.and_then(|usage| usage.cost_usd),
            usage: usage.map(to_json),
        };
        self.write_or_note(Entry::CallEnd(number, end)).await;
    }

    pub(super) async fn write_or_note(&self, entry: Entry) {
        let written = self.write_down(entry).await;
        self.note(written);
    }

    /// Writes this down after all that is still to be written.
    pub(super) async fn write_down(&self, entry: Entry) -> Result<(), StoreError> {
        // Nothing of a task that could not be made is ever written.
        let Some(claim) = &self.claim else { return Ok(()) };
        self.unwritten.add(entry).await;
        self.unwritten.write(&self.store, claim).await
    }

    /// Whether there is something that could not be written yet.
    pub fn is_behind(&self) -> bool {
        self.unwritten.is_behind()
    }

    /// Writes what could not be written yet.
    pub async fn catch_up(&self) -> Result<(), StoreError> {
        match &self.claim {
            Some(claim) => self.unwritten.write(&self.store, claim).await,
            None => Ok(()),
        }
    }

    /// Trouble is told once, and that it is over.
    pub(super) fn note(&self, result: Result<(), StoreError>) {
        let Some(claim) = &self.claim else { return };
        let mut trouble = guard(&self.trouble);
        match (result, trouble.is_some()) {
            (Err(error), false) => {
                let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
                tracing::error!(
                    "task {} goes on, but is not saved just now: {error}{hint}",
                    claim.id
                );
                *trouble = Some(error);
            }
            (Ok(()), true) => {
                tracing::info!("task {} is saved again", claim.id);
                *trouble = None;
            }
            _ => {}
        }
    }
}

/// A call that may cost money and could not be written down is not made.
pub(super) fn unrecorded(plugin: &str, error: &StoreError) -> CallError {
    let (kind, message) = match error {
        StoreError::OverBudget { .. } => ("over-budget", format!("not asked, because {error}")),
        _ => (
            "store-error",
            format!("not asked, because the call cannot be written down first: {error}"),
        ),
    };
    CallError::Failed {
        plugin: plugin.to_owned(),
        error: PluginError { kind: ErrorKind::Other(kind.to_owned()), message, hint: error.hint() },
    }
}

fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn to_json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("plain data is JSON")
}
