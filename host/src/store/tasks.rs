//! Tasks: made, taken over, finished, found and listed.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, Row, Transaction, named_params, params};
use uuid::Uuid;

use super::error::{Result, StoreError};
use super::{NewResult, Reading, Store, jobs, now, owner, results, words};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewTask {
    pub tool: String,
    /// What was asked, in the asker's words: what history shows.
    pub text: String,
    /// The whole question as JSON.
    pub question: String,
    /// It goes on without anybody who waits, in whichever process takes it up.
    pub background: bool,
    /// Whether the user wants to be told of its end.
    pub notify: bool,
    /// When it is ended; milliseconds since 1970.
    pub deadline: Option<i64>,
}

/// The right to write to a task, until another process takes it over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Of the task.
    pub id: String,
    pub(super) epoch: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    Running,
    Completed,
    Failed,
    Cancelled,
    /// Said to be running, but its process is gone. Never written: found out
    /// when it is read.
    Interrupted,
    /// A call was sent, and nobody knows what became of it: nothing more is done
    /// until the user says what.
    NeedsAttention,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
            Self::NeedsAttention => "needs_attention",
        }
    }

    pub(super) fn from_column(row: &Row<'_>, column: &str) -> rusqlite::Result<Self> {
        let word: String = row.get(column)?;
        [Self::Running, Self::Completed, Self::Failed, Self::Cancelled, Self::NeedsAttention]
            .into_iter()
            .find(|status| status.as_str() == word)
            .ok_or_else(|| unknown_word(row, column, &word))
    }
}

/// A column holds a word that this version does not know.
pub(super) fn unknown_word(row: &Row<'_>, column: &str, word: &str) -> rusqlite::Error {
    let index = row.as_ref().column_index(column).unwrap_or_default();
    rusqlite::Error::FromSqlConversionFailure(
        index,
        rusqlite::types::Type::Text,
        format!("unknown {column} `{word}`").into(),
    )
}

/// How a task ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Completed,
    Failed,
    Cancelled,
}

impl From<Ending> for Status {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Completed => Self::Completed,
            Ending::Failed => Self::Failed,
            Ending::Cancelled => Self::Cancelled,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskEnd {
    pub ending: Ending,
    pub stop_reason: Option<String>,
    pub note: Option<String>,
    /// JSON.
    pub error: Option<String>,
    pub result: Option<NewResult>,
    /// The vendor is still to be told that its job is not wanted any more.
    pub cancel_job: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TaskRecord {
    pub id: String,
    pub tool: String,
    pub text: String,
    /// JSON.
    pub question: String,
    pub status: Status,
    /// JSON.
    pub plan: Option<String>,
    pub memo: String,
    pub created_at: i64,
    /// When anything about it was last written.
    pub updated_at: i64,
    pub finished_at: Option<i64>,
    pub stop_reason: Option<String>,
    pub note: Option<String>,
    /// JSON.
    pub error: Option<String>,
    /// How many rounds are saved.
    pub rounds: u32,
    pub background: bool,
    pub notify: bool,
    pub deadline: Option<i64>,
    /// Of all its calls, as far as it is known.
    pub cost_usd: Option<f64>,
}

/// Which tasks to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskFilter {
    pub status: Option<Status>,
    pub limit: u32,
}

impl Store {
    /// Makes a running task that this process owns.
    pub async fn create_task(&self, task: NewTask) -> Result<Claim> {
        self.write_as_owner(move |transaction, owner| {
            let id = Uuid::new_v4().to_string();
            let now = now();
            transaction
                .prepare_cached(
                    "INSERT INTO tasks (id, tool, text, question, status, owner, epoch, created_at,
                                        updated_at, background, notify, deadline)
                     VALUES (?1, ?2, ?3, ?4, 'running', ?5, 1, ?6, ?6, ?7, ?8, ?9)",
                )?
                .execute(params![
                    id,
                    task.tool,
                    task.text,
                    task.question,
                    owner.id(),
                    now,
                    task.background,
                    task.notify,
                    task.deadline
                ])?;
            words::index_question(transaction, &id, &task.text)?;
            Ok(Claim { id, epoch: 1 })
        })
        .await
    }

    /// Takes over a task whose process is gone. Whatever the former owner may
    /// still try to write is refused from now on.
    pub async fn claim_task(&self, id: &str) -> Result<Claim> {
        self.take_task(id, false).await
    }

    /// Takes up a task again, even one that has ended, or that this process has
    /// given up without being able to say so: for when the user asks for it by
    /// name, and it is known that this process does not work on it. Its rounds and
    /// calls stay, and its result until there is another.
    pub async fn reopen_task(&self, id: &str) -> Result<Claim> {
        self.take_task(id, true).await
    }

    async fn take_task(&self, id: &str, reopen: bool) -> Result<Claim> {
        let id = id.to_owned();
        let owners = self.shared.owners.clone();
        self.write_as_owner(move |transaction, owner| {
            let task = transaction
                .prepare_cached("SELECT status, owner, epoch FROM tasks WHERE id = ?1")?
                .query_row([&id], |row| {
                    let status = Status::from_column(row, "status")?;
                    Ok((status, row.get::<_, String>("owner")?, row.get::<_, i64>("epoch")?))
                })
                .optional()?;
            let Some((status, former, epoch)) = task else {
                return Err(StoreError::NoSuchTask { given: id, empty: false });
            };
            if status == Status::NeedsAttention || (status != Status::Running && !reopen) {
                return Err(StoreError::Finished { task: id, status });
            }
            let ours = reopen && former == owner.id();
            if status == Status::Running && !ours && owner::is_alive(&owners, &former) {
                return Err(StoreError::Owned { task: id });
            }
            transaction
                .prepare_cached(
                    "UPDATE tasks SET owner = ?2, epoch = ?3 + 1, updated_at = ?4, status = 'running',
                            stop_reason = NULL, note = NULL, error = NULL, finished_at = NULL
                     WHERE id = ?1 AND epoch = ?3",
                )?
                .execute(params![id, owner.id(), epoch, now()])?;
            Ok(Claim { id, epoch: epoch + 1 })
        })
        .await
    }

    /// What the strategy decided once, as JSON.
    pub async fn save_plan(&self, claim: &Claim, plan: String) -> Result<()> {
        let claim = claim.clone();
        self.write(move |transaction| {
            touch(transaction, &claim)?;
            transaction
                .prepare_cached("UPDATE tasks SET plan = ?2 WHERE id = ?1")?
                .execute(params![claim.id, plan])?;
            Ok(())
        })
        .await
    }

    /// Ends the task together with its result. A task ends once: what is
    /// completed, failed or cancelled stays so.
    pub async fn finish_task(&self, claim: &Claim, end: TaskEnd) -> Result<()> {
        let claim = claim.clone();
        self.write(move |transaction| {
            let now = touch(transaction, &claim)?;
            transaction
                .prepare_cached(
                    "UPDATE tasks SET status = ?2, stop_reason = ?3, note = ?4, error = ?5, finished_at = ?6,
                            reserved_usd = NULL
                     WHERE id = ?1",
                )?
                .execute(params![
                    claim.id,
                    Status::from(end.ending).as_str(),
                    end.stop_reason,
                    end.note,
                    end.error,
                    now
                ])?;
            if let Some(result) = end.result {
                results::insert(transaction, &claim.id, &result, now)?;
            }
            if end.cancel_job {
                jobs::want_cancel(transaction, &claim.id)?;
            }
            Ok(())
        })
        .await
    }

    /// The task of exactly this id.
    pub async fn task(&self, id: &str) -> Result<Option<TaskRecord>> {
        let id = id.to_owned();
        self.read(move |reading| reading.task(&id)).await
    }

    /// The task of this id, or the only one whose id begins so.
    pub async fn find_task(&self, given: &str) -> Result<TaskRecord> {
        let given = given.trim().to_owned();
        self.read(move |reading| {
            let prefix = given.to_ascii_lowercase();
            let mut matches = reading.ids_beginning_with(&prefix)?;
            let task = match matches.len() {
                1 => reading.task(&matches.remove(0))?,
                0 => None,
                _ => return Err(StoreError::AmbiguousTask { given, matches }),
            };
            match task {
                Some(task) => Ok(task),
                None => Err(StoreError::NoSuchTask { given, empty: reading.is_empty()? }),
            }
        })
        .await
    }

    /// Newest first.
    pub async fn tasks(&self, filter: TaskFilter) -> Result<Vec<TaskRecord>> {
        self.read(move |reading| reading.tasks(filter)).await
    }
}

/// Makes sure that the claim still holds, notes the time, and returns it. Part of
/// every write to a task.
pub(super) fn touch(transaction: &Transaction<'_>, claim: &Claim) -> Result<i64> {
    let now = now();
    let changed = transaction
        .prepare_cached(
            "UPDATE tasks SET updated_at = ?3 WHERE id = ?1 AND epoch = ?2 AND status = 'running'",
        )?
        .execute(params![claim.id, claim.epoch, now])?;
    if changed == 1 {
        return Ok(now);
    }
    let task = transaction
        .prepare_cached("SELECT epoch, status FROM tasks WHERE id = ?1")?
        .query_row([&claim.id], |row| {
            Ok((row.get::<_, i64>("epoch")?, Status::from_column(row, "status")?))
        })
        .optional()?;
    let task_id = claim.id.clone();
    Err(match task {
        None => StoreError::Vanished { task: task_id },
        Some((epoch, _)) if epoch != claim.epoch => StoreError::LostOwnership { task: task_id },
        Some((_, status)) => StoreError::Finished { task: task_id, status },
    })
}

/// The columns of a record, for a query that ends with what it is about.
macro_rules! select_tasks {
    ($rest:literal) => {
        concat!(
            "SELECT id, tool, text, question, status, plan, memo, owner, created_at, updated_at,
                    finished_at, stop_reason, note, error, background, notify, deadline,
                    (SELECT count(*) FROM rounds WHERE task_id = tasks.id) AS rounds,
                    (SELECT sum(cost_usd) FROM calls WHERE task_id = tasks.id) AS cost_usd
             FROM tasks ",
            $rest
        )
    };
}

impl Reading<'_> {
    pub(super) fn task(&self, id: &str) -> Result<Option<TaskRecord>> {
        let task = self
            .connection
            .prepare_cached(select_tasks!("WHERE id = ?1"))?
            .query_row([id], |row| self.record(row, &mut HashMap::new()))
            .optional()?;
        Ok(task)
    }

    fn tasks(&self, filter: TaskFilter) -> Result<Vec<TaskRecord>> {
        // The database knows the interrupted as running ones, so these two are
        // told apart here; few tasks are either.
        let written = filter.status.map(|status| match status {
            Status::Interrupted => Status::Running.as_str(),
            other => other.as_str(),
        });
        let mut alive = HashMap::new();
        let mut statement = self.connection.prepare_cached(match written {
            Some(_) => select_tasks!("WHERE status = :status ORDER BY created_at DESC, rowid DESC"),
            None => select_tasks!("WHERE :status IS NULL ORDER BY created_at DESC, rowid DESC"),
        })?;
        let mut rows = statement.query(named_params! { ":status": written })?;
        let mut tasks = Vec::new();
        while tasks.len() < filter.limit as usize {
            let Some(row) = rows.next()? else { break };
            let task = self.record(row, &mut alive)?;
            if filter.status.is_none_or(|status| status == task.status) {
                tasks.push(task);
            }
        }
        Ok(tasks)
    }

    fn ids_beginning_with(&self, prefix: &str) -> Result<Vec<String>> {
        if prefix.is_empty() {
            return Ok(Vec::new());
        }
        // Every id is longer than none of its beginnings, and less than the
        // beginning followed by the last character there is.
        let mut statement = self.connection.prepare_cached(
            "SELECT id FROM tasks WHERE id >= ?1 AND id < ?1 || char(0x10FFFF) ORDER BY id",
        )?;
        let ids =
            statement.query_map([prefix], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        Ok(ids)
    }

    fn is_empty(&self) -> Result<bool> {
        let found: bool =
            self.connection
                .query_row("SELECT EXISTS (SELECT 1 FROM tasks)", [], |row| row.get(0))?;
        Ok(!found)
    }

    /// `alive` remembers which owners have been looked at.
    fn record(
        &self,
        row: &Row<'_>,
        alive: &mut HashMap<String, bool>,
    ) -> rusqlite::Result<TaskRecord> {
        let mut status = Status::from_column(row, "status")?;
        if status == Status::Running {
            let owner: String = row.get("owner")?;
            let lives =
                *alive.entry(owner).or_insert_with_key(|owner| owner::is_alive(self.owners, owner));
            if !lives {
                status = Status::Interrupted;
            }
        }
        Ok(TaskRecord {
            id: row.get("id")?,
            tool: row.get("tool")?,
            text: row.get("text")?,
            question: row.get("question")?,
            status,
            plan: row.get("plan")?,
            memo: row.get("memo")?,
            created_at: row.get("created_at")?,
            updated_at: row.get("updated_at")?,
            finished_at: row.get("finished_at")?,
            stop_reason: row.get("stop_reason")?,
            note: row.get("note")?,
            error: row.get("error")?,
            rounds: row.get("rounds")?,
            background: row.get("background")?,
            notify: row.get("notify")?,
            deadline: row.get("deadline")?,
            cost_usd: row.get("cost_usd")?,
        })
    }
}
