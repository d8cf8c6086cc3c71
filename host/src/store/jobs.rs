//! Jobs: the long work at a vendor that a background task waits for. The vendor's
//! name for it is written in the same transaction that closes the call that
//! started it; with that, any process can go on.

use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::error::Result;
use super::{CallEnd, Claim, Store, calls, now, tasks};

/// How long a process that tells the vendor to stop is left alone before another
/// tries.
const CANCELLING: i64 = 30_000;

/// A job that a call has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// The number of that call.
    pub call: u32,
    pub plugin: String,
    /// The vendor's name for it.
    pub job_id: String,
    /// JSON.
    pub state: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRecord {
    pub task_id: String,
    pub call: u32,
    pub plugin: String,
    pub job_id: String,
    /// As it was last seen; JSON.
    pub state: String,
    pub started_at: i64,
    pub updated_at: i64,
    /// The vendor is still to be told to stop.
    pub cancel_wanted: bool,
}

impl Store {
    /// The call has come back with a job.
    pub async fn job_started(&self, claim: &Claim, job: NewJob, answer: CallEnd) -> Result<()> {
        let claim = claim.clone();
        self.write(move |transaction| {
            let now = tasks::touch(transaction, &claim)?;
            calls::finish(transaction, &claim.id, job.call, answer, now)?;
            insert(transaction, &claim.id, &job, now)
        })
        .await
    }

    /// The same for a task that has been cancelled while the call was under way:
    /// nobody waits for the job, but the vendor is to be told.
    pub async fn job_started_too_late(&self, task: &str, job: NewJob) -> Result<()> {
        let task = task.to_owned();
        self.write(move |transaction| {
            let now = now();
            transaction
                .prepare_cached(
                    "UPDATE calls SET state = 'answered', returned_at = ?3, outcome = ?4
                     WHERE task_id = ?1 AND number = ?2 AND state = 'sent'",
                )?
                .execute(params![task, job.call, now, job.state])?;
            insert(transaction, &task, &job, now)?;
            want_cancel(transaction, &task)
        })
        .await
    }

    /// How it stands with the job, as JSON.
    pub async fn save_job(&self, claim: &Claim, state: String) -> Result<()> {
        let claim = claim.clone();
        self.write(move |transaction| {
            let now = tasks::touch(transaction, &claim)?;
            transaction
                .prepare_cached("UPDATE jobs SET state = ?2, updated_at = ?3 WHERE task_id = ?1")?
                .execute(params![claim.id, state, now])?;
            Ok(())
        })
        .await
    }

    pub async fn job(&self, task: &str) -> Result<Option<JobRecord>> {
        let task = task.to_owned();
        self.read(move |reading| {
            let job = reading
                .connection
                .prepare_cached("SELECT * FROM jobs WHERE task_id = ?1")?
                .query_row([task], record)
                .optional()?;
            Ok(job)
        })
        .await
    }

    /// The jobs that a vendor is still to be told to stop, for whoever asks first:
    /// nobody else gets them for a while.
    /// Only those of these plugins.
    pub async fn take_cancels(&self, plugins: Vec<String>) -> Result<Vec<JobRecord>> {
        // Looking takes no lock, and almost always there is nothing.
        let any: bool = self
            .read(|reading| {
                let query = "SELECT EXISTS (SELECT 1 FROM jobs WHERE cancel = 'wanted')";
                Ok(reading.connection.prepare_cached(query)?.query_row([], |row| row.get(0))?)
            })
            .await?;
        if !any {
            return Ok(Vec::new());
        }
        self.write(move |transaction| take_cancels(transaction, None, &plugins)).await
    }

    /// The same for the job of one task, however lately another has tried.
    pub async fn take_cancel(&self, task: &str) -> Result<Option<JobRecord>> {
        let task = task.to_owned();
        self.write(move |transaction| {
            Ok(take_cancels(transaction, Some(&task), &[])?.into_iter().next())
        })
        .await
    }

    /// The vendor has been told, or has nothing to be told about; this is how the
    /// job stands, and what it has cost.
    pub async fn job_cancelled(
        &self,
        task: &str,
        state: Option<String>,
        usage: Option<String>,
        cost_usd: Option<f64>,
    ) -> Result<()> {
        let task = task.to_owned();
        self.write(move |transaction| {
            let call: Option<u32> = transaction
                .prepare_cached(
                    "UPDATE jobs SET cancel = 'done', state = coalesce(?2, state), updated_at = ?3
                     WHERE task_id = ?1 AND cancel = 'wanted' RETURNING call",
                )?
                .query_row(params![task, state, now()], |row| row.get(0))
                .optional()?;
            if let (Some(call), Some(usage)) = (call, usage) {
                calls::settle(transaction, &task, call, &usage, cost_usd)?;
            }
            Ok(())
        })
        .await
    }
}

pub(super) fn insert(
    transaction: &Transaction<'_>,
    task: &str,
    job: &NewJob,
    now: i64,
) -> Result<()> {
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO jobs
                    (task_id, call, plugin, job_id, state, started_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
        )?
        .execute(params![task, job.call, job.plugin, job.job_id, job.state, now])?;
    Ok(())
}

/// Nobody wants the job of this task any more, if it has one.
pub(super) fn want_cancel(transaction: &Transaction<'_>, task: &str) -> Result<()> {
    // As if nobody had tried for long: whoever comes first may.
    transaction
        .prepare_cached(
            "UPDATE jobs SET cancel = 'wanted', updated_at = 0 WHERE task_id = ?1 AND cancel IS NULL",
        )?
        .execute([task])?;
    Ok(())
}

fn take_cancels(
    transaction: &Transaction<'_>,
    task: Option<&str>,
    plugins: &[String],
) -> Result<Vec<JobRecord>> {
    let now = now();
    let plugins = serde_json::to_string(plugins).unwrap_or_default();
    let mut statement = transaction.prepare_cached(
        "UPDATE jobs SET updated_at = ?1
         WHERE cancel = 'wanted'
           AND (task_id = ?2
                OR (?2 IS NULL AND updated_at <= ?3
                    AND plugin IN (SELECT value FROM json_each(?4))))
         RETURNING *",
    )?;
    let jobs = statement
        .query_map(params![now, task, now - CANCELLING, plugins], record)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(jobs)
}

fn record(row: &Row<'_>) -> rusqlite::Result<JobRecord> {
    let cancel: Option<String> = row.get("cancel")?;
    Ok(JobRecord {
        task_id: row.get("task_id")?,
        call: row.get("call")?,
        plugin: row.get("plugin")?,
        job_id: row.get("job_id")?,
        state: row.get("state")?,
        started_at: row.get("started_at")?,
        updated_at: row.get("updated_at")?,
        cancel_wanted: cancel.as_deref() == Some("wanted"),
    })
}
