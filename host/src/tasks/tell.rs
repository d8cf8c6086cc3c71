//! Telling the user of the end of a task: once, whichever process is first, and
//! even if the one that worked on it is killed.
//!
//! When a task has ended, a herald is started (see [`gates::notify::Herald`]), which
//! claims the notification in the database and then tells it. A server that dies
//! before it has started one leaves the task untold, and the next server finds it;
//! of two heralds one gets the claim. A herald that is itself killed in the moment
//! between the claim and the telling takes the notification with it: the other way
//! round, it would be told twice.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::{ErrorReport, Tasks, notice, unfinished};
use crate::gates;
use crate::gates::notify::{Herald, Places};

/// Heralds at the same time; further ones wait.
const HERALDS: usize = 8;

/// After an attempt that came to nothing. What kept it from it, such as a database
/// that is locked, takes a while to pass.
const RETRY: Duration = Duration::from_secs(30);

/// A herald has told within this, or goes on by itself.
const FAREWELL: Duration = Duration::from_secs(3);

/// What this process has started to tell.
pub(super) struct Heralds {
    /// None where this program cannot be started again: it is then told from here.
    herald: Option<Herald>,
    tried: Mutex<HashMap<String, Attempt>>,
    room: Semaphore,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    UnderWay,
    OverSince(Instant),
}

impl Default for Heralds {
    fn default() -> Self {
        Self { herald: None, tried: Mutex::default(), room: Semaphore::new(HERALDS) }
    }
}

impl Heralds {
    /// Those of `untold` that nobody here is about to tell. They are under way from
    /// now on. What is not among the untold any more is forgotten.
    fn begin(&self, untold: Vec<String>, now: Instant) -> Vec<String> {
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        tried.retain(|id, attempt| *attempt == Attempt::UnderWay || untold.contains(id));
        let due = |id: &String| match tried.get(id) {
            None => true,
            Some(Attempt::UnderWay) => false,
            Some(Attempt::OverSince(then)) => now.duration_since(*then) >= RETRY,
        };
        let due: Vec<String> = untold.into_iter().filter(due).collect();
        tried.extend(due.iter().map(|id| (id.clone(), Attempt::UnderWay)));
        due
    }

    fn are_under_way(&self) -> bool {
        let tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        tried.values().any(|attempt| *attempt == Attempt::UnderWay)
    }

    fn end(&self, id: &str, now: Instant) {
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        tried.insert(id.to_owned(), Attempt::OverSince(now));
    }
}

impl Tasks {
    /// From now on heralds are sent, who see what this process sees.
    #[must_use]
    pub fn with_herald(mut self, herald: Herald) -> Self {
        self.heralds.herald = Some(herald);
        self
    }

    /// Tells the user of the end of this task, unless that was done, or there is
    /// nothing to tell. The id is the whole id.
    pub async fn tell(&self, id: &str) -> Result<bool, ErrorReport> {
        // All that can fail comes before the claim: what is claimed is told.
        let task = self.store.find_task(id).await?;
        let outcome = match self.outcome(&task.id).await {
            Ok(outcome) => outcome,
            Err(error) => {
                tracing::warn!("{}", error.message);
                unfinished(task.clone(), Vec::new())
            }
        };
        if !self.store.claim_notice(&task.id).await? {
            return Ok(false);
        }
        let home = self.heralds.herald.as_ref().and_then(|herald| herald.home.as_deref());
        let data = self.store.path().parent().unwrap_or(Path::new("."));
        let config = &self.plugins.config().notify;
        gates::notify::send(&notice::notice(&outcome), config, Places { data, home }).await;
        Ok(true)
    }

    /// Sends a herald for every task that has ended and was not told of. Returns as
    /// soon as they are on their way.
    pub async fn send_heralds(self: &Arc<Self>) {
        let untold = match self.store.tasks_to_tell().await {
            Ok(untold) => untold,
            Err(error) => {
                tracing::debug!("nobody can be told of the end of tasks: {error}");
                return;
            }
        };
        for id in self.heralds.begin(untold, Instant::now()) {
            let tasks = self.clone();
            tokio::spawn(async move {
                // Never closed.
                let _room = tasks.heralds.room.acquire().await;
                tasks.send_herald(&id).await;
                tasks.heralds.end(&id, Instant::now());
            });
        }
    }

    /// Before this process ends: heralds that are about to be sent are, but are not
    /// waited for for long.
    pub async fn wait_for_heralds(self: &Arc<Self>) {
        self.send_heralds().await;
        let begun = Instant::now();
        while self.heralds.are_under_way() && begun.elapsed() < FAREWELL {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn send_herald(&self, id: &str) {
        if let Some(herald) = &self.heralds.herald {
            match herald.send(id).await {
                Ok(()) => return,
                Err(error) => tracing::debug!("no herald for task {id}: {error}"),
            }
        }
        // Our own configuration is still the one we started with, and we are there.
        if let Err(error) = self.tell(id).await {
            tracing::warn!("the end of task {id} was not told: {}", error.message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_is_slow_is_not_sent_again_and_one_that_failed_is_after_a_while() {
        let heralds = Heralds::default();
        let now = Instant::now();
        assert_eq!(heralds.begin(ids(&["a", "b"]), now), ids(&["a", "b"]));
        assert_eq!(heralds.begin(ids(&["a", "b", "c"]), now), ids(&["c"]));
        assert_eq!(heralds.begin(ids(&["a"]), now + RETRY * 100), ids(&[]), "still under way");
        heralds.end("a", now);
        assert_eq!(heralds.begin(ids(&["a"]), now + RETRY / 2), ids(&[]));
        assert_eq!(heralds.begin(ids(&["a"]), now + RETRY), ids(&["a"]));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_told_is_forgotten() {
        let heralds = Heralds::default();
        let now = Instant::now();
        heralds.begin(ids(&["a", "b"]), now);
        heralds.end("a", now);
        heralds.begin(ids(&[]), now);
        let tried = heralds.tried.lock().unwrap();
        assert_eq!(tried.keys().collect::<Vec<_>>(), ["b"]);
    }
}
