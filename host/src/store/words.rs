//! Finding tasks by the words of their questions and reports.

use rusqlite::{Transaction, params};

use super::error::Result;
use super::{Reading, Store, TaskFilter, TaskRecord};

/// More words than this are no query that a person types.
const MOST_WORDS: usize = 32;

/// From when a task is made it can be found by its question.
pub(super) fn index_question(
    transaction: &Transaction<'_>,
    task: &str,
    question: &str,
) -> Result<()> {
    let number: i64 = transaction
        .prepare_cached("INSERT INTO task_texts (task_id) VALUES (?1) RETURNING number")?
        .query_row([task], |row| row.get(0))?;
    insert(transaction, number, question, "")
}

/// The index keeps no text, so that a row is written anew as a whole.
pub(super) fn index_report(transaction: &Transaction<'_>, task: &str, report: &str) -> Result<()> {
    let (number, question): (i64, String) = transaction
        .prepare_cached(
            "SELECT number, text FROM task_texts JOIN tasks ON tasks.id = task_id WHERE task_id = ?1",
        )?
        .query_row([task], |row| Ok((row.get(0)?, row.get(1)?)))?;
    transaction.prepare_cached("DELETE FROM task_words WHERE rowid = ?1")?.execute([number])?;
    insert(transaction, number, &question, report)
}

fn insert(transaction: &Transaction<'_>, number: i64, question: &str, report: &str) -> Result<()> {
    transaction
        .prepare_cached("INSERT INTO task_words (rowid, question, report) VALUES (?1, ?2, ?3)")?
        .execute(params![number, question, report])?;
    Ok(())
}

impl Store {
    /// The tasks whose question or report has all of these words, or words that
    /// begin so; those that fit best come first. A word in the question counts for
    /// more.
    pub async fn find_tasks(&self, words: &str, filter: TaskFilter) -> Result<Vec<TaskRecord>> {
        let words = expression(words);
        self.read(move |reading| match words {
            Some(words) => reading.found(&words, filter),
            None => Ok(Vec::new()),
        })
        .await
    }
}

impl Reading<'_> {
    fn found(&self, words: &str, filter: TaskFilter) -> Result<Vec<TaskRecord>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT task_id FROM task_words JOIN task_texts ON number = task_words.rowid
             WHERE task_words MATCH ?1 ORDER BY bm25(task_words, 4.0, 1.0), task_words.rowid DESC",
        )?;
        let mut rows = statement.query([words])?;
        let mut tasks = Vec::new();
        while tasks.len() < filter.limit as usize {
            let Some(row) = rows.next()? else { break };
            let Some(task) = self.task(&row.get::<_, String>(0)?)? else { continue };
            if filter.status.is_none_or(|status| status == task.status) {
                tasks.push(task);
            }
        }
        Ok(tasks)
    }
}

/// What was typed as an expression of FTS5 in which nothing of it has a meaning of
/// its own. None where there is no word in it.
fn expression(typed: &str) -> Option<String> {
    let words: Vec<String> = typed
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(MOST_WORDS)
        .map(|word| format!("\"{word}\"*"))
        .collect();
    (!words.is_empty()).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Status;
    use crate::store::tests::{create, end, scratch};
    use crate::store::{Ending, NewResult};

    const ALL: TaskFilter = TaskFilter { status: None, limit: 10 };

    #[test]
    fn what_is_typed_has_no_meaning_of_its_own() {
        assert_eq!(expression("tides").as_deref(), Some("\"tides\"*"));
        assert_eq!(
            expression("NEAR(\"a\" OR b*) -c").as_deref(),
            Some("\"NEAR\"* \"a\"* \"OR\"* \"b\"* \"c\"*")
        );
        assert_eq!(expression(" \"*- "), None);
    }

    #[tokio::test]
    async fn a_task_is_found_by_its_question_and_by_its_report() {
        let (_directory, store) = scratch();
        let tides = create(&store, "when are spring tides?").await;
        let winds = create(&store, "which winds blow in spring?").await;
        let mut ended = end(Ending::Completed);
        ended.result = Some(NewResult {
            outcome: "{}".to_owned(),
            markdown: "# Answer\n\nAt the syzygies, twice a month.".to_owned(),
        });
        store.finish_task(&tides, ended).await.unwrap();

        let found = async |words: &str, filter| -> Vec<String> {
            let tasks = store.find_tasks(words, filter).await.unwrap();
            tasks.into_iter().map(|task| task.id).collect()
        };
        assert_eq!(found("syzygy", ALL).await, [&*tides.id], "words are stemmed");
        assert_eq!(found("spring tide", ALL).await, [&*tides.id]);
        assert_eq!(found("spring", ALL).await.len(), 2);
        let running = TaskFilter { status: Some(Status::Running), limit: 10 };
        assert_eq!(found("spring", running).await, [&*winds.id]);
        assert_eq!(found("volcano", ALL).await, [""; 0]);
        assert_eq!(found("\"*", ALL).await, [""; 0]);
    }
}
