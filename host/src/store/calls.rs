//! Calls: one request to a backend, written down before it is sent and again
//! after it returned. One that has only the first half was sent, and nobody knows
//! what became of it: it may have been paid for.

use rusqlite::{Row, Transaction, params};

use super::error::{Result, StoreError};
use super::{Claim, Store, tasks};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCall {
    /// The round it is made for; 0 before the first.
    pub round: u32,
    pub plugin: String,
    pub function: String,
    /// Tells whether a later request is the same one.
    pub request_hash: String,
}

/// How a call came back.
#[derive(Debug, Clone, PartialEq)]
pub struct CallEnd {
    /// The answer, or else the error, as JSON.
    pub outcome: Result<String, String>,
    /// JSON.
    pub usage: Option<String>,
    pub cost_usd: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallState {
    /// No answer is known.
    Sent,
    Answered,
    Failed,
}

impl CallState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Answered => "answered",
            Self::Failed => "failed",
        }
    }

    fn from_column(row: &Row<'_>, column: &str) -> rusqlite::Result<Self> {
        let word: String = row.get(column)?;
        [Self::Sent, Self::Answered, Self::Failed]
            .into_iter()
            .find(|state| state.as_str() == word)
            .ok_or_else(|| tasks::unknown_word(row, column, &word))
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct CallRecord {
    /// From 1, within the task.
    pub number: u32,
    pub round: u32,
    pub plugin: String,
    pub function: String,
    pub request_hash: String,
    pub state: CallState,
    pub sent_at: i64,
    pub returned_at: Option<i64>,
    /// JSON: the answer of an answered call, the error of a failed one.
    pub outcome: Option<String>,
    /// JSON.
    pub usage: Option<String>,
    pub cost_usd: Option<f64>,
}

impl Store {
    /// Writes down what is about to be sent, and returns its number. Send only
    /// after this has returned.
    pub async fn begin_call(&self, claim: &Claim, call: NewCall) -> Result<u32> {
        let claim = claim.clone();
        self.write(move |transaction| begin(transaction, &claim, &call)).await
    }

    /// Writes down what came back. A call comes back once.
    pub async fn finish_call(&self, claim: &Claim, number: u32, end: CallEnd) -> Result<()> {
        let claim = claim.clone();
        self.write(move |transaction| {
            let now = tasks::touch(transaction, &claim)?;
            finish(transaction, &claim.id, number, end, now)
        })
        .await
    }

    /// What an answered call has cost in the end, where the answer could not say.
    pub async fn settle_call(
        &self,
        claim: &Claim,
        number: u32,
        usage: String,
        cost_usd: Option<f64>,
    ) -> Result<()> {
        let claim = claim.clone();
        self.write(move |transaction| {
            tasks::touch(transaction, &claim)?;
            settle(transaction, &claim.id, number, &usage, cost_usd)
        })
        .await
    }

    /// In the order they were sent; none where there is no such task.
    pub async fn calls(&self, task: &str) -> Result<Vec<CallRecord>> {
        let task = task.to_owned();
        self.read(move |reading| {
            let mut statement = reading.connection.prepare_cached(
                "SELECT number, round, plugin, function, request_hash, state, sent_at, returned_at,
                        outcome, usage, cost_usd
                 FROM calls WHERE task_id = ?1 ORDER BY number",
            )?;
            let calls = statement.query_map([task], record)?.collect::<rusqlite::Result<_>>()?;
            Ok(calls)
        })
        .await
    }
}

/// Part of a transaction that decides whether it may be sent at all.
pub(super) fn begin(transaction: &Transaction<'_>, claim: &Claim, call: &NewCall) -> Result<u32> {
    let now = tasks::touch(transaction, claim)?;
    let number = transaction
        .prepare_cached(
            "INSERT INTO calls (task_id, number, round, plugin, function, request_hash, state, sent_at)
             SELECT ?1, 1 + coalesce(max(number), 0), ?2, ?3, ?4, ?5, 'sent', ?6
             FROM calls WHERE task_id = ?1
             RETURNING number",
        )?
        .query_row(
            params![claim.id, call.round, call.plugin, call.function, call.request_hash, now],
            |row| row.get(0),
        )?;
    Ok(number)
}

pub(super) fn finish(
    transaction: &Transaction<'_>,
    task: &str,
    number: u32,
    end: CallEnd,
    now: i64,
) -> Result<()> {
    let (state, outcome) = match end.outcome {
        Ok(answer) => (CallState::Answered, answer),
        Err(error) => (CallState::Failed, error),
    };
    let changed = transaction
        .prepare_cached(
            "UPDATE calls SET state = ?3, returned_at = ?4, outcome = ?5, usage = ?6, cost_usd = ?7
             WHERE task_id = ?1 AND number = ?2 AND state = 'sent'",
        )?
        .execute(params![task, number, state.as_str(), now, outcome, end.usage, end.cost_usd])?;
    if changed == 0 {
        return Err(StoreError::NoOpenCall { task: task.to_owned(), number });
    }
    Ok(())
}

pub(super) fn settle(
    transaction: &Transaction<'_>,
    task: &str,
    number: u32,
    usage: &str,
    cost_usd: Option<f64>,
) -> Result<()> {
    transaction
        .prepare_cached(
            "UPDATE calls SET usage = ?3, cost_usd = ?4 WHERE task_id = ?1 AND number = ?2",
        )?
        .execute(params![task, number, usage, cost_usd])?;
    Ok(())
}

fn record(row: &Row<'_>) -> rusqlite::Result<CallRecord> {
    Ok(CallRecord {
        number: row.get("number")?,
        round: row.get("round")?,
        plugin: row.get("plugin")?,
        function: row.get("function")?,
        request_hash: row.get("request_hash")?,
        state: CallState::from_column(row, "state")?,
        sent_at: row.get("sent_at")?,
        returned_at: row.get("returned_at")?,
        outcome: row.get("outcome")?,
        usage: row.get("usage")?,
        cost_usd: row.get("cost_usd")?,
    })
}
