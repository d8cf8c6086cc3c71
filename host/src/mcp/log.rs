//! What the server says of a deep search on standard error, once for each task,
//! however many calls listen to it, and also when none does any more.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::report::words::one_line;
use crate::tasks::Event;

/// The tasks that somebody logs.
#[derive(Default)]
pub struct Logged(Mutex<HashSet<String>>);

/// Logs one task, unless somebody else does.
pub struct Logger {
    logged: Arc<Logged>,
    /// The task that this one logs, once it is known.
    task: Mutex<Option<String>>,
}

impl Logged {
    fn tasks(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Logger {
    /// For a task that is about to be made: its id is heard with its first event.
    pub fn of_new(logged: &Arc<Logged>) -> Self {
        Self { logged: logged.clone(), task: Mutex::new(None) }
    }

    /// For a task that is known; none where somebody logs it already.
    pub fn of_task(logged: &Arc<Logged>, id: &str) -> Option<Self> {
        let is_first = logged.tasks().insert(id.to_owned());
        is_first.then(|| Self { logged: logged.clone(), task: Mutex::new(Some(id.to_owned())) })
    }

    pub fn hear(&self, event: &Event) {
        if let Event::Started { id } = event {
            let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
            if task.is_none() {
                self.logged.tasks().insert(id.clone());
                *task = Some(id.clone());
            }
        }
        let Some(line) = event.deep_search_line() else { return };
        let line = one_line(&line);
        if event.is_trouble() {
            tracing::warn!("{line}");
        } else {
            tracing::info!("{line}");
        }
    }
}

impl Drop for Logger {
    fn drop(&mut self) {
        let task = self.task.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(id) = task {
            self.logged.tasks().remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_has_one_logger_at_a_time() {
        let logged = Arc::new(Logged::default());
        let first = Logger::of_new(&logged);
        first.hear(&Event::Started { id: "one".to_owned() });
        assert!(Logger::of_task(&logged, "one").is_none());
        assert!(Logger::of_task(&logged, "two").is_some());
        drop(first);
        let second = Logger::of_task(&logged, "one").unwrap();
        assert!(Logger::of_task(&logged, "one").is_none());
        drop(second);
        assert!(logged.tasks().is_empty());
    }
}
