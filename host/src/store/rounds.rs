//! Rounds: each is saved, with what the strategy wants to be handed back, before
//! the next begins. A saved round never changes.

use rusqlite::params;

use super::error::{Result, StoreError};
use super::{Claim, Store, tasks};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRound {
    /// From 1.
    pub number: u32,
    /// JSON.
    pub round: String,
    /// In place of the task's.
    pub memo: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundRecord {
    pub number: u32,
    /// JSON.
    pub round: String,
    pub saved_at: i64,
}

impl Store {
    /// Saves the round and the memo together.
    pub async fn save_round(&self, claim: &Claim, round: NewRound) -> Result<()> {
        let claim = claim.clone();
        self.write(move |transaction| {
            let now = tasks::touch(transaction, &claim)?;
            let saved = transaction
                .prepare_cached(
                    "INSERT INTO rounds (task_id, number, round, saved_at) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT DO NOTHING",
                )?
                .execute(params![claim.id, round.number, round.round, now])?;
            if saved == 0 {
                return Err(StoreError::RoundSaved { task: claim.id, number: round.number });
            }
            transaction
                .prepare_cached("UPDATE tasks SET memo = ?2 WHERE id = ?1")?
                .execute(params![claim.id, round.memo])?;
            Ok(())
        })
        .await
    }

    /// In order; none where there is no such task.
    pub async fn rounds(&self, task: &str) -> Result<Vec<RoundRecord>> {
        let task = task.to_owned();
        self.read(move |reading| {
            let mut statement = reading.connection.prepare_cached(
                "SELECT number, round, saved_at FROM rounds WHERE task_id = ?1 ORDER BY number",
            )?;
            let rounds = statement
                .query_map([task], |row| {
                    Ok(RoundRecord {
                        number: row.get("number")?,
                        round: row.get("round")?,
                        saved_at: row.get("saved_at")?,
                    })
                })?
                .collect::<rusqlite::Result<_>>()?;
            Ok(rounds)
        })
        .await
    }
}
