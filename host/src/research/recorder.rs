//! Writes a run down as it happens. When the database fails the run goes on in
//! memory and the user is told once; but nothing that may cost money is sent
//! unless it was written down first.

use std::sync::Mutex;

use crate::digest;
use crate::plugins::contract::{Plan, Round, Usage};
use crate::store::{CallEnd, Claim, NewCall, NewRound, Store, StoreError};

pub struct Recorder {
    store: Store,
    /// None when the task could not be written at all.
    claim: Option<Claim>,
    trouble: Mutex<Option<StoreError>>,
}

impl Recorder {
    pub fn new(store: Store, claim: Result<Claim, StoreError>) -> Self {
        let (claim, trouble) = match claim {
            Ok(claim) => (Some(claim), None),
            Err(error) => (None, Some(error)),
        };
        Self { store, claim, trouble: Mutex::new(trouble) }
    }

    /// What kept the run from being saved, if anything did.
    pub fn trouble(&self) -> Option<StoreError> {
        self.trouble.lock().expect("no holder panics").clone()
    }

    pub async fn save_plan(&self, plan: &Plan) {
        let Some(claim) = &self.claim else { return };
        let json = to_json(plan);
        self.note(self.store.save_plan(claim, json).await);
    }

    pub async fn save_round(&self, round: &Round, memo: &str) {
        let Some(claim) = &self.claim else { return };
        let new = NewRound { number: round.number, round: to_json(round), memo: memo.to_owned() };
        self.note(self.store.save_round(claim, new).await);
    }

    /// Writes down a request that may cost something, before it is sent.
    pub async fn begin_call(
        &self,
        round: u32,
        plugin: &str,
        function: &str,
        request: &str,
    ) -> Result<u32, StoreError> {
        let Some(claim) = &self.claim else {
            return Err(self.trouble().unwrap_or(StoreError::Closed));
        };
        let request_hash = digest::hexadecimal(request.as_bytes());
        let call = NewCall {
            round,
            plugin: plugin.to_owned(),
            function: function.to_owned(),
            request_hash,
        };
        self.store.begin_call(claim, call).await
    }

    pub async fn finish_call(
        &self,
        number: u32,
        outcome: Result<String, String>,
        usage: Option<&Usage>,
    ) {
        let Some(claim) = &self.claim else { return };
        let end = CallEnd {
            outcome,
            cost_usd: usage.and_then(|usage| usage.cost_usd),
            usage: usage.map(to_json),
        };
        self.note(self.store.finish_call(claim, number, end).await);
    }

    fn note(&self, result: Result<(), StoreError>) {
        let Err(error) = result else { return };
        let mut trouble = self.trouble.lock().expect("no holder panics");
        if trouble.is_none() {
            tracing::error!("the run goes on, but is not saved: {error}");
            *trouble = Some(error);
        }
    }
}

pub fn to_json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("plain data is JSON")
}
