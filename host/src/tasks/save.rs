//! Saving the report of a task as a file that is kept for good. Only what is
//! completed is saved; anything else is refused with the status it has.

use super::{ErrorReport, Tasks};
use crate::report::{SaveOptions, SavedReport, require_completed, save_report};

impl Tasks {
    /// The id may be cut short. What went wrong is in the result.
    pub async fn save_report(&self, id: &str, options: SaveOptions) -> SavedReport {
        let outcome = match self.outcome(id).await {
            Ok(outcome) => outcome,
            Err(error) => return SavedReport::of_error(&error, None),
        };
        let configuration = self.configuration.clone();
        // Waiting for a disk keeps nobody else waiting.
        let saving = tokio::task::spawn_blocking(move || {
            let saved = require_completed(&outcome)
                .and_then(|()| save_report(&outcome, &options, &configuration));
            saved.unwrap_or_else(|error| SavedReport::of_error(&error, Some(&outcome)))
        });
        saving.await.unwrap_or_else(|error| {
            let error = ErrorReport {
                code: "SAVE_FAILED".to_owned(),
                message: format!("saving the report broke off: {error}"),
                hint: None,
            };
            SavedReport::of_error(&error, None)
        })
    }
}
