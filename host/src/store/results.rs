//! Results: what a task came to. Written with the task's end
//! ([`Store::finish_task`]), in one transaction.

use rusqlite::{OptionalExtension, Transaction, params};

use super::error::Result;
use super::{Store, words};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewResult {
    /// JSON.
    pub outcome: String,
    /// The report.
    pub markdown: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultRecord {
    /// JSON.
    pub outcome: String,
    pub markdown: String,
    pub saved_at: i64,
}

pub(super) fn insert(
    transaction: &Transaction<'_>,
    task: &str,
    result: &NewResult,
    now: i64,
) -> Result<()> {
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO results (task_id, outcome, markdown, saved_at) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![task, result.outcome, result.markdown, now])?;
    words::index_report(transaction, task, &result.markdown)
}

impl Store {
    /// None until the task has ended once, and where it ended without one; that of
    /// the earlier attempt while it runs again.
    pub async fn result(&self, task: &str) -> Result<Option<ResultRecord>> {
        let task = task.to_owned();
        self.read(move |reading| {
            let result = reading
                .connection
                .prepare_cached(
                    "SELECT outcome, markdown, saved_at FROM results WHERE task_id = ?1",
                )?
                .query_row([task], |row| {
                    Ok(ResultRecord {
                        outcome: row.get("outcome")?,
                        markdown: row.get("markdown")?,
                        saved_at: row.get("saved_at")?,
                    })
                })
                .optional()?;
            Ok(result)
        })
        .await
    }
}
