//! What the server says of a deep search on standard error: the lines that people
//! and scripts look for, whether or not anyone waits for the task.

use crate::report::words::one_line;
use crate::tasks::{DEEP_SEARCH, Event};

pub fn log(tool: &str, event: &Event) {
    let Some(line) = event.deep_search_line().filter(|_| tool == DEEP_SEARCH) else { return };
    let line = one_line(&line);
    if event.is_trouble() {
        tracing::warn!("{line}");
    } else {
        tracing::info!("{line}");
    }
}
