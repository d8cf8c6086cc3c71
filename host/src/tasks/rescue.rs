//! When the database fails at the end of a task: the result becomes a file at
//! once, and goes into the database when that is sound again.

use std::path::PathBuf;
use std::time::Duration;

use super::work::end_of;
use super::{Outcome, Tasks};
use crate::report;
use crate::research::is_lost;
use crate::store::{Claim, StoreError};

/// The first attempt to save it after all comes this soon; later ones less often.
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);

/// In the data directory, or else in the directory for temporary files.
const DIRECTORY: &str = "unsaved";

impl Tasks {
    /// Writes the report to a file of its own: the disk that holds the database may
    /// be the one that is full, so there are two places to try.
    pub(super) fn rescue(&self, outcome: &Outcome, trouble: &StoreError) -> Option<PathBuf> {
        let beside = self.store.path().parent().map(|data| data.join(DIRECTORY));
        let elsewhere = std::env::temp_dir().join(format!("bathysphere-{DIRECTORY}"));
        let stamp = jiff::Timestamp::now().strftime("%Y%m%d_%H%M%S%3f");
        let name = format!("{}_{stamp}.md", outcome.id);
        let text = report::render_markdown(outcome);
        for directory in beside.into_iter().chain([elsewhere]) {
            let path = directory.join(&name);
            let written = make_private(&directory)
                .map_err(|error| error.to_string())
                .and_then(|()| report::save(&path, &text).map_err(|error| error.to_string()));
            match written {
                Ok(()) => {
                    tracing::warn!(
                        "the result of task {} is in {}, because {trouble}",
                        outcome.id,
                        path.display()
                    );
                    return Some(path);
                }
                Err(error) => tracing::error!("{error}"),
            }
        }
        None
    }

    /// Tries again until the database has it, the task has another owner, or this
    /// process ends.
    pub(super) fn save_later(&self, claim: Claim, mut outcome: Outcome, cancel_job: bool) {
        outcome.saved = true;
        let store = self.store.clone();
        tokio::spawn(async move {
            let mut pause = FIRST;
            loop {
                tokio::time::sleep(pause).await;
                match store.finish_task(&claim, end_of(&outcome, cancel_job)).await {
                    Ok(()) => {
                        tracing::info!("the result of task {} is saved after all", claim.id);
                        return;
                    }
                    Err(StoreError::Closed) => return,
                    Err(error) if is_lost(&error) => return,
                    Err(_) => pause = (pause * 2).min(LONGEST),
                }
            }
        });
    }
}

fn make_private(directory: &std::path::Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}
