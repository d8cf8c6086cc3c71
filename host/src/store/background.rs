//! Tasks that go on without anybody who waits: found when their process is gone,
//! cancelled from any process, parked when nobody knows whether something was
//! paid for, and let go on when the user has said.

use rusqlite::{OptionalExtension, Transaction, params};

use super::error::{Result, StoreError};
use super::{Claim, NewJob, NewResult, Status, Store, jobs, notices, now, owner, results, tasks};

/// What cancelling a task has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// It is cancelled from now on.
    Now,
    /// It had been cancelled before.
    Before,
}

impl Store {
    /// The background tasks that nobody works on, oldest first.
    pub async fn left_tasks(&self) -> Result<Vec<String>> {
        self.read(|reading| {
            let mut statement = reading.connection.prepare_cached(
                "SELECT id, owner FROM tasks WHERE status = 'running' AND background = 1
                 ORDER BY created_at",
            )?;
            let mut alive = std::collections::HashMap::new();
            let mut left = Vec::new();
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let lives = alive
                    .entry(row.get::<_, String>("owner")?)
                    .or_insert_with_key(|owner| owner::is_alive(reading.owners, owner));
                if !*lives {
                    left.push(row.get("id")?);
                }
            }
            Ok(left)
        })
        .await
    }

    /// Whether there is anything left to do in the background, whoever does it: a
    /// task that has not come to its end, a vendor to be told, or a user.
    pub async fn any_in_background(&self) -> Result<bool> {
        self.read(|reading| {
            let queries = [
                "SELECT 1 FROM tasks WHERE status = 'running' AND background = 1",
                "SELECT 1 FROM jobs WHERE cancel = 'wanted'",
                notices::TO_TELL,
            ];
            for query in queries {
                if reading.connection.prepare_cached(query)?.exists([])? {
                    return Ok(true);
                }
            }
            Ok(false)
        })
        .await
    }

    /// Those of the claims that do not hold any more: the tasks were cancelled, or
    /// taken over. A task that the database does not know was not: its file was
    /// removed or replaced, and whoever works on it has the only copy.
    pub async fn lost_claims(&self, claims: Vec<Claim>) -> Result<Vec<String>> {
        self.read(move |reading| {
            let mut statement = reading.connection.prepare_cached(
                "SELECT 1 FROM tasks WHERE id = ?1 AND (epoch <> ?2 OR status <> 'running')",
            )?;
            let mut lost = Vec::new();
            for claim in claims {
                if statement.exists(params![claim.id, claim.epoch])? {
                    lost.push(claim.id);
                }
            }
            Ok(lost)
        })
        .await
    }

    /// Cancels a task, whoever works on it: what its owner still writes is refused
    /// from now on. The vendor is to be told.
    pub async fn cancel_task(&self, id: &str, result: Option<NewResult>) -> Result<Cancelled> {
        let id = id.to_owned();
        self.write(move |transaction| {
            match status(transaction, &id)? {
                Status::Running | Status::Interrupted | Status::NeedsAttention => {}
                Status::Cancelled => return Ok(Cancelled::Before),
                status => return Err(StoreError::Finished { task: id, status }),
            }
            let now = now();
            transaction
                .prepare_cached(
                    "UPDATE tasks SET status = 'cancelled', epoch = epoch + 1, updated_at = ?2,
                            finished_at = ?2, note = NULL, reserved_usd = NULL
                     WHERE id = ?1",
                )?
                .execute(params![id, now])?;
            if let Some(result) = result {
                results::insert(transaction, &id, &result, now)?;
            }
            jobs::want_cancel(transaction, &id)?;
            Ok(Cancelled::Now)
        })
        .await
    }

    /// Gives a task up again that cannot be worked on just now: whoever looks for tasks
    /// that were left finds it.
    pub async fn leave_task(&self, claim: &Claim) -> Result<()> {
        let claim = claim.clone();
        self.write(move |transaction| {
            tasks::touch(transaction, &claim)?;
            transaction
                .prepare_cached("UPDATE tasks SET owner = '' WHERE id = ?1")?
                .execute([&claim.id])?;
            Ok(())
        })
        .await
    }

    /// What is known better of a task that was cancelled.
    pub async fn replace_cancelled_result(&self, id: &str, result: NewResult) -> Result<()> {
        let id = id.to_owned();
        self.write(move |transaction| {
            if status(transaction, &id)? == Status::Cancelled {
                results::insert(transaction, &id, &result, now())?;
            }
            Ok(())
        })
        .await
    }

    /// Stops the task until the user says what is to become of it.
    pub async fn park_task(&self, claim: &Claim, note: String, error: String) -> Result<()> {
        let claim = claim.clone();
        self.write(move |transaction| {
            tasks::touch(transaction, &claim)?;
            transaction
                .prepare_cached(
                    "UPDATE tasks SET status = 'needs_attention', note = ?2, error = ?3 WHERE id = ?1",
                )?
                .execute(params![claim.id, note, error])?;
            Ok(())
        })
        .await
    }

    /// The user says which job the call of unknown fate has started, or that one which
    /// was taken for gone is there. Whoever takes up tasks goes on with it.
    pub async fn adopt_job(&self, id: &str, job_id: &str, state: String) -> Result<()> {
        let (id, job_id) = (id.to_owned(), job_id.to_owned());
        self.write(move |transaction| {
            match status(transaction, &id)? {
                Status::NeedsAttention | Status::Failed => {}
                status => return Err(StoreError::NotParked { task: id, status }),
            }
            let open: Option<(u32, String)> = transaction
                .prepare_cached(
                    "SELECT number, plugin FROM calls
                     WHERE task_id = ?1
                       AND (state = 'sent'
                            OR number = (SELECT call FROM jobs WHERE task_id = ?1))
                     ORDER BY number DESC LIMIT 1",
                )?
                .query_row([&id], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            let Some((call, plugin)) = open else {
                return Err(StoreError::NoOpenCall { task: id, number: 0 });
            };
            let now = now();
            transaction
                .prepare_cached(
                    "UPDATE calls SET state = 'answered', returned_at = ?3, outcome = ?4
                     WHERE task_id = ?1 AND number = ?2",
                )?
                .execute(params![id, call, now, state])?;
            jobs::insert(transaction, &id, &NewJob { call, plugin, job_id, state }, now)?;
            let_go_on(transaction, &id, now)
        })
        .await
    }

    /// The user takes it upon themselves that the call of unknown fate may have been
    /// paid for. Whoever takes up tasks starts again.
    pub async fn retry_task(&self, id: &str) -> Result<()> {
        let id = id.to_owned();
        self.write(move |transaction| {
            needs_attention(transaction, &id)?;
            let now = now();
            transaction
                .prepare_cached(
                    "UPDATE calls SET state = 'failed', returned_at = ?2,
                            outcome = '\"given up by the user: its fate is unknown\"'
                     WHERE task_id = ?1 AND state = 'sent'",
                )?
                .execute(params![id, now])?;
            let_go_on(transaction, &id, now)
        })
        .await
    }
}

fn status(transaction: &Transaction<'_>, id: &str) -> Result<Status> {
    transaction
        .prepare_cached("SELECT status FROM tasks WHERE id = ?1")?
        .query_row([id], |row| Status::from_column(row, "status"))
        .optional()?
        .ok_or_else(|| StoreError::NoSuchTask { given: id.to_owned(), empty: false })
}

fn needs_attention(transaction: &Transaction<'_>, id: &str) -> Result<()> {
    match status(transaction, id)? {
        Status::NeedsAttention => Ok(()),
        status => Err(StoreError::NotParked { task: id.to_owned(), status }),
    }
}

/// The task has no owner: whoever looks for tasks that were left takes it up. It has
/// as much time as it was given at first.
fn let_go_on(transaction: &Transaction<'_>, id: &str, now: i64) -> Result<()> {
    transaction
        .prepare_cached(
            "UPDATE tasks SET status = 'running', owner = '', epoch = epoch + 1, updated_at = ?2,
                    note = NULL, error = NULL, stop_reason = NULL, finished_at = NULL,
                    deadline = ?2 + (deadline - created_at)
             WHERE id = ?1",
        )?
        .execute(params![id, now])?;
    Ok(())
}
