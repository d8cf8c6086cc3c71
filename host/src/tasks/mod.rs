//! Durable tasks: one question being researched, from start to result.

mod event;

pub use event::{ErrorReport, Event, Outcome, TaskRequest, TaskStatus};
