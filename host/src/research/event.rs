//! What a run tells while it runs.

use std::sync::Arc;

use crate::plugins::contract::{Plan, Preparation, Progress, ProgressSink, Round};

/// What happened, as it happens; never an invented percentage.
#[derive(Debug, Clone)]
pub enum Event {
    Started {
        id: String,
    },
    /// A search backend brings itself up to date, or a plugin tells what it does.
    Progress {
        message: String,
        done: u64,
        total: Option<u64>,
    },
    Prepared {
        plugin: String,
        preparation: Preparation,
    },
    Planned {
        plan: Plan,
    },
    RoundStarted {
        number: u32,
        of: u32,
        step: String,
        reason: String,
    },
    RoundEnded {
        round: Box<Round>,
        of: u32,
    },
}

/// Where a run's events go.
pub type EventSink = Arc<dyn Fn(Event) + Send + Sync>;

/// Passes a plugin's progress on as events.
pub fn progress_of(events: &EventSink) -> ProgressSink {
    let events = events.clone();
    Arc::new(move |progress: Progress| {
        events(Event::Progress {
            message: progress.message,
            done: progress.done,
            total: progress.total,
        });
    })
}
