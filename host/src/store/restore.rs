//! The end of a task that was kept outside while the database could not be written:
//! it is taken in when that has passed, whoever works on the task by then.

use rusqlite::{OptionalExtension, Transaction, params};

use super::error::Result;
use super::{NewTask, Status, Store, TaskEnd, now, results, words};

/// A task as whoever worked on it remembers it.
#[derive(Debug, Clone, PartialEq)]
pub struct Restored {
    pub id: String,
    /// For a database that does not know the task any more.
    pub task: NewTask,
    pub created_at: i64,
    pub finished_at: i64,
    pub end: TaskEnd,
    /// Each a number and JSON: those that are missing are added.
    pub rounds: Vec<(u32, String)>,
    /// JSON: what the job that the task handed its question to has used, where that
    /// was not written down.
    pub usage: String,
    pub cost_usd: Option<f64>,
}

impl Store {
    /// Ends the task so, unless it has come to an end already: then false. What its
    /// present owner writes is refused from now on.
    pub async fn restore_end(&self, restored: Restored) -> Result<bool> {
        self.write(move |transaction| {
            let id = &restored.id;
            match status(transaction, id)? {
                None => insert(transaction, &restored)?,
                Some(Status::Running | Status::NeedsAttention) => {}
                Some(_) => return Ok(false),
            }
            let now = now();
            let ending = Status::from(restored.end.ending).as_str();
            transaction
                .prepare_cached(
                    "UPDATE tasks SET status = ?2, stop_reason = ?3, note = ?4, error = ?5,
                            finished_at = ?6, updated_at = ?7, epoch = epoch + 1, reserved_usd = NULL
                     WHERE id = ?1",
                )?
                .execute(params![
                    id,
                    ending,
                    restored.end.stop_reason,
                    restored.end.note,
                    restored.end.error,
                    restored.finished_at,
                    now
                ])?;
            let mut add_round = transaction.prepare_cached(
                "INSERT INTO rounds (task_id, number, round, saved_at) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO NOTHING",
            )?;
            for (number, round) in &restored.rounds {
                add_round.execute(params![id, number, round, now])?;
            }
            // Whatever was sent has come back, and the result tells what it was.
            transaction
                .prepare_cached(
                    "UPDATE calls SET state = 'answered', returned_at = ?2, outcome = 'null'
                     WHERE task_id = ?1 AND state = 'sent'",
                )?
                .execute(params![id, now])?;
            transaction
                .prepare_cached(
                    "UPDATE calls SET usage = ?2, cost_usd = ?3
                     WHERE task_id = ?1 AND function = 'start' AND state = 'answered'
                           AND usage IS NULL",
                )?
                .execute(params![id, restored.usage, restored.cost_usd])?;
            if let Some(result) = &restored.end.result {
                results::insert(transaction, id, result, now)?;
            }
            if restored.end.cancel_job {
                super::jobs::want_cancel(transaction, id)?;
            }
            Ok(true)
        })
        .await
    }
}

fn status(transaction: &Transaction<'_>, id: &str) -> Result<Option<Status>> {
    let status = transaction
        .prepare_cached("SELECT status FROM tasks WHERE id = ?1")?
        .query_row([id], |row| Status::from_column(row, "status"))
        .optional()?;
    Ok(status)
}

fn insert(transaction: &Transaction<'_>, restored: &Restored) -> Result<()> {
    let task = &restored.task;
    transaction
        .prepare_cached(
            "INSERT INTO tasks (id, tool, text, question, status, owner, epoch, created_at, updated_at,
                                background, notify, deadline)
             VALUES (?1, ?2, ?3, ?4, 'running', '', 1, ?5, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            restored.id,
            task.tool,
            task.text,
            task.question,
            restored.created_at,
            task.background,
            task.notify,
            task.deadline
        ])?;
    words::index_question(transaction, &restored.id, &task.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::{call, create, end, scratch, task};
    use crate::store::{CallState, Ending, StoreError};

    fn restored(id: &str) -> Restored {
        Restored {
            id: id.to_owned(),
            task: NewTask { background: true, notify: true, ..task("question") },
            created_at: 1000,
            finished_at: 2000,
            end: end(Ending::Completed),
            rounds: vec![(1, "{\"number\":1}".to_owned())],
            usage: "{}".to_owned(),
            cost_usd: Some(2.5),
        }
    }

    #[tokio::test]
    async fn an_end_that_was_kept_outside_is_taken_in_once() {
        let (_directory, store) = scratch();
        let claim = create(&store, "question").await;
        store.begin_call(&claim, call("start")).await.unwrap();
        assert!(store.restore_end(restored(&claim.id)).await.unwrap());
        assert!(!store.restore_end(restored(&claim.id)).await.unwrap(), "it has its end");

        let task = store.task(&claim.id).await.unwrap().unwrap();
        assert_eq!(
            (task.status, task.rounds, task.finished_at),
            (Status::Completed, 1, Some(2000))
        );
        let calls = store.calls(&claim.id).await.unwrap();
        assert_eq!((calls[0].state, calls[0].cost_usd), (CallState::Answered, Some(2.5)));
        assert!(store.result(&claim.id).await.unwrap().is_some());
        // Whoever still works on it finds out.
        let lost = store.finish_task(&claim, end(Ending::Failed)).await;
        assert!(matches!(lost, Err(StoreError::LostOwnership { .. })), "{lost:?}");
    }

    #[tokio::test]
    async fn a_cancelled_task_stays_cancelled() {
        let (_directory, store) = scratch();
        let claim = create(&store, "question").await;
        store.cancel_task(&claim.id, None).await.unwrap();
        assert!(!store.restore_end(restored(&claim.id)).await.unwrap());
        let task = store.task(&claim.id).await.unwrap().unwrap();
        assert_eq!(task.status, Status::Cancelled);
        assert_eq!(store.result(&claim.id).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_database_that_does_not_know_the_task_learns_of_it() {
        let (_directory, store) = scratch();
        assert!(store.restore_end(restored("0b0e")).await.unwrap());
        let task = store.task("0b0e").await.unwrap().unwrap();
        assert_eq!((task.status, task.created_at), (Status::Completed, 1000));
        assert!(task.background && task.notify);
        assert_eq!(store.tasks_to_tell().await.unwrap(), ["0b0e"]);
        let all = crate::store::TaskFilter { status: None, limit: 10 };
        assert_eq!(store.find_tasks("question", all).await.unwrap().len(), 1);
    }
}
