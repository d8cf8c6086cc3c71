//! Who is still to be told of the end of a task, and who tells it.
//!
//! These are the only writes to a task without a [`Claim`](super::Claim): a task
//! that has ended has no owner any more, and whoever is first may tell of it.

use rusqlite::params;

use super::error::Result;
use super::{Store, now};

/// Who cancelled a task knows it, and one that waits for the user or for its next
/// process has not ended. The plus keeps SQLite from looking through every task of
/// these two kinds, where the index has only those that are to be told of.
macro_rules! to_be_told {
    () => {
        "notify = 1 AND notified_at IS NULL AND +status IN ('completed', 'failed')"
    };
}

pub(super) const TO_TELL: &str =
    concat!("SELECT id FROM tasks WHERE ", to_be_told!(), " ORDER BY finished_at, id");

const CLAIM: &str = concat!("UPDATE tasks SET notified_at = ?2 WHERE id = ?1 AND ", to_be_told!());

impl Store {
    /// The tasks that have ended, whose user wants to know, and of which nobody has
    /// told yet; the first to end comes first.
    pub async fn tasks_to_tell(&self) -> Result<Vec<String>> {
        self.read(|reading| {
            let mut statement = reading.connection.prepare_cached(TO_TELL)?;
            let ids =
                statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            Ok(ids)
        })
        .await
    }

    /// Takes it upon the caller to tell of the end of this task. True for one caller
    /// alone, of all processes and for all time; false as well where there is
    /// nothing to tell.
    pub async fn claim_notice(&self, id: &str) -> Result<bool> {
        let id = id.to_owned();
        self.write(move |transaction| {
            let changed = transaction.prepare_cached(CLAIM)?.execute(params![id, now()])?;
            Ok(changed == 1)
        })
        .await
    }
}
