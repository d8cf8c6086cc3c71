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
    /// The run came to its end by itself.
    Completed {
        rounds: u32,
        verified: bool,
    },
}

impl Event {
    /// The line that `deep_search` says of it, on standard error and as progress:
    /// people and scripts look for these very words.
    pub fn deep_search_line(&self) -> Option<String> {
        match self {
            Self::RoundStarted { number, of, .. } => {
                Some(format!("Deep search round {number}/{of}..."))
            }
            Self::RoundEnded { round, .. } => Some(match &round.error {
                Some(error) => format!("Round {} failed: {}", round.number, error.message),
                None => format!(
                    "Round {} completed, verified: {}",
                    round.number,
                    round.verified.unwrap_or(false)
                ),
            }),
            Self::Completed { rounds, verified } => {
                Some(format!("Deep search completed: {rounds} rounds, verified: {verified}"))
            }
            _ => None,
        }
    }

    /// Whether it tells of something that went wrong.
    pub fn is_trouble(&self) -> bool {
        matches!(self, Self::RoundEnded { round, .. } if round.error.is_some())
    }
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
