//! When the database fails at the end of a task: the result becomes a file at once,
//! stays in memory for whoever asks for it here, and goes into the database when
//! that is sound again. Should this process end first, the next one that looks after
//! tasks takes it in from a second file, which then goes.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::work::end_of;
use super::{ErrorReport, Outcome, Tasks};
use crate::report;
use crate::research::{Recorder, is_lost, to_json};
use crate::store::{Claim, NewTask, Restored, Store, StoreError};

/// The first attempt to save it after all comes this soon; later ones less often.
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);

/// In the data directory, or else in the directory for temporary files.
const DIRECTORY: &str = "unsaved";

/// The results that the database does not have yet, by the ids of their tasks.
#[derive(Default)]
pub(super) struct Unsaved(Mutex<HashMap<String, Outcome>>);

impl Unsaved {
    pub fn get(&self, id: &str) -> Option<Outcome> {
        self.all().get(id).cloned()
    }

    /// By an id that may be cut short: for when the database cannot be asked.
    pub fn find(&self, given: &str) -> Option<Outcome> {
        let prefix = given.trim().to_ascii_lowercase();
        let all = self.all();
        let mut found = all.iter().filter(|(id, _)| !prefix.is_empty() && id.starts_with(&prefix));
        let (_, outcome) = found.next()?;
        found.next().is_none().then(|| outcome.clone())
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Outcome>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What came to its end, and who is to know of it.
pub(super) struct Unfinished {
    pub claim: Claim,
    pub recorder: Recorder,
    pub background: bool,
    pub notify: bool,
    pub deadline: Option<i64>,
    /// The vendor is still to be told that its job is not wanted.
    pub cancel_job: bool,
}

/// A result as it waits in a file for a database that can be written.
#[derive(Debug, Serialize, Deserialize)]
struct Waiting {
    /// The directory for temporary files is shared by all databases of a user.
    database: PathBuf,
    outcome: Outcome,
    background: bool,
    notify: bool,
    deadline: Option<i64>,
    cancel_job: bool,
}

impl Waiting {
    fn restored(&self) -> Restored {
        let outcome = &self.outcome;
        let milliseconds =
            |time: &str| time.parse::<jiff::Timestamp>().map_or(0, jiff::Timestamp::as_millisecond);
        let created_at = milliseconds(&outcome.created_at);
        Restored {
            id: outcome.id.clone(),
            task: NewTask {
                tool: outcome.tool.clone(),
                text: outcome.question.text.clone(),
                question: to_json(&outcome.question),
                background: self.background,
                notify: self.notify,
                deadline: self.deadline,
            },
            created_at,
            finished_at: outcome.finished_at.as_deref().map_or(created_at, milliseconds),
            end: end_of(outcome, self.cancel_job),
            rounds: outcome.rounds.iter().map(|round| (round.number, to_json(round))).collect(),
            usage: to_json(&outcome.usage),
            cost_usd: outcome.usage.cost_usd,
        }
    }
}

impl Tasks {
    /// Writes the report to a file of its own, and returns where it is.
    pub(super) fn rescue(&self, outcome: &Outcome, trouble: &StoreError) -> Option<PathBuf> {
        let report = self.write_beside(outcome, "md", &report::render_markdown(outcome));
        if let Some(path) = &report {
            let path = path.display();
            tracing::warn!("the result of task {} is in {path}, because {trouble}", outcome.id);
        } else {
            tracing::error!("the result of task {} is not saved: {trouble}", outcome.id);
        }
        report
    }

    /// The disk that holds the database may be the one that is full, so there are two
    /// places to try.
    fn write_beside(&self, outcome: &Outcome, ending: &str, text: &str) -> Option<PathBuf> {
        let stamp = jiff::Timestamp::now().strftime("%Y%m%d_%H%M%S%3f");
        let name = format!("{}_{stamp}.{ending}", outcome.id);
        for directory in directories(&self.store) {
            let path = directory.join(&name);
            match make_private(&directory).and_then(|()| write_private(&path, text)) {
                Ok(()) => return Some(path),
                Err(error) => tracing::error!("cannot write {}: {error}", path.display()),
            }
        }
        None
    }

    /// Tries again until the database has it, the task has another end, or this
    /// process ends: then whoever finds the file does. Until then it is `shown` to
    /// those who ask for it here.
    pub(super) fn save_later(
        self: &Arc<Self>,
        unfinished: Unfinished,
        outcome: Outcome,
        shown: Outcome,
    ) {
        let waiting = Waiting {
            database: self.store.path().to_owned(),
            outcome,
            background: unfinished.background,
            notify: unfinished.notify,
            deadline: unfinished.deadline,
            cancel_job: unfinished.cancel_job,
        };
        let file = self.write_beside(&waiting.outcome, "json", &to_json(&waiting));
        self.unsaved.all().insert(shown.id.clone(), shown);
        let tasks = self.clone();
        tokio::spawn(async move {
            let id = &unfinished.claim.id;
            let mut pauses = Pauses(FIRST);
            let saved = loop {
                pauses.pause().await;
                match save(&tasks.store, &unfinished, &waiting).await {
                    Err(error) if may_pass(&error) => {}
                    saved => break saved,
                }
            };
            match saved {
                Ok(()) => {
                    tracing::info!("the result of task {id} is saved in the database after all");
                }
                // The file is for the next process.
                Err(StoreError::Closed) => return,
                Err(error) => tracing::warn!("the result of task {id} is not saved: {error}"),
            }
            tasks.unsaved.all().remove(id);
            file.as_deref().map(remove);
            tasks.send_heralds().await;
        });
    }

    /// The same for a task that waits for the user. Should this process end first,
    /// whoever takes the task up finds the call without an answer.
    pub(super) fn park_later(self: &Arc<Self>, claim: Claim, error: &ErrorReport, shown: Outcome) {
        self.unsaved.all().insert(shown.id.clone(), shown);
        let (note, json) = (error.message.clone(), to_json(error));
        let tasks = self.clone();
        tokio::spawn(async move {
            let mut pauses = Pauses(FIRST);
            let parked = loop {
                pauses.pause().await;
                match tasks.store.park_task(&claim, note.clone(), json.clone()).await {
                    Err(error) if may_pass(&error) => {}
                    parked => break parked,
                }
            };
            if let Err(error) = parked {
                tracing::warn!("task {}: {error}", claim.id);
            }
            tasks.unsaved.all().remove(&claim.id);
        });
    }

    /// Takes in the results that processes which ended meanwhile could not save.
    pub(super) async fn take_in_rescued(&self) {
        for path in directories(&self.store).iter().flat_map(|directory| waiting_in(directory)) {
            let Ok(text) = std::fs::read(&path) else { continue };
            let waiting: Waiting = match serde_json::from_slice(&text) {
                Ok(waiting) => waiting,
                Err(error) => {
                    tracing::debug!("{} is not understood: {error}", path.display());
                    continue;
                }
            };
            let id = &waiting.outcome.id;
            // Another database's, or one that this process is about to save.
            if waiting.database != self.store.path() || self.unsaved.get(id).is_some() {
                continue;
            }
            match self.store.restore_end(waiting.restored()).await {
                Ok(true) => {
                    tracing::info!(
                        "the result of task {id}, which could not be saved before, is in the \
                         database now"
                    );
                    if let Some(running) = self.running.get(id) {
                        running.lost.cancel();
                    }
                }
                // It has come to its end without this.
                Ok(false) => {}
                Err(error) => {
                    tracing::debug!("{} has to wait: {error}", path.display());
                    continue;
                }
            }
            remove(&path);
        }
    }
}

/// Between two attempts, ever longer.
struct Pauses(Duration);

impl Pauses {
    async fn pause(&mut self) {
        tokio::time::sleep(self.0).await;
        self.0 = (self.0 * 2).min(LONGEST);
    }
}

/// Whether another attempt is any use.
fn may_pass(error: &StoreError) -> bool {
    !is_lost(error) && *error != StoreError::Closed
}

async fn save(store: &Store, unfinished: &Unfinished, waiting: &Waiting) -> Result<(), StoreError> {
    let saved = async {
        unfinished.recorder.catch_up().await?;
        store.finish_task(&unfinished.claim, end_of(&waiting.outcome, waiting.cancel_job)).await
    };
    match saved.await {
        // There is a new database, which is to know of it too.
        Err(StoreError::Vanished { .. }) => store.restore_end(waiting.restored()).await.map(drop),
        saved => saved,
    }
}

fn directories(store: &Store) -> Vec<PathBuf> {
    let beside = store.path().parent().map(|data| data.join(DIRECTORY));
    #[cfg(unix)]
    let name = format!("bathysphere-{DIRECTORY}-{}", rustix::process::geteuid().as_raw());
    #[cfg(not(unix))]
    let name = format!("bathysphere-{DIRECTORY}");
    beside.into_iter().chain([std::env::temp_dir().join(name)]).collect()
}

fn waiting_in(directory: &Path) -> Vec<PathBuf> {
    if check_private(directory).is_err() {
        return Vec::new();
    }
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    paths.sort();
    paths
}

fn remove(path: &Path) {
    if let Err(error) = std::fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::debug!("{} stays: {error}", path.display());
    }
}

fn make_private(directory: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)?;
    check_private(directory)
}

/// Where everybody may write, another user may have made the directory: what is in it
/// is not to be believed, and nothing is to be left there.
fn check_private(directory: &Path) -> io::Result<()> {
    let metadata = std::fs::symlink_metadata(directory)?;
    #[cfg(unix)]
    let ours =
        std::os::unix::fs::MetadataExt::uid(&metadata) == rustix::process::geteuid().as_raw();
    #[cfg(not(unix))]
    let ours = true;
    if metadata.is_dir() && ours {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "the directory is not this user's own"))
}

/// The file is there whole or not at all, and nobody else may read it.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write;
    let beside = path.with_extension("part");
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&beside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&beside, path)
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests as outcomes;

    fn named(id: &str) -> Outcome {
        Outcome { id: id.to_owned(), ..outcomes::found() }
    }

    #[test]
    fn what_is_not_saved_is_found_by_the_beginning_of_its_id() {
        let unsaved = Unsaved::default();
        for id in ["ab12", "ab34"] {
            unsaved.all().insert(id.to_owned(), named(id));
        }
        assert_eq!(unsaved.find(" AB1 ").map(|found| found.id).as_deref(), Some("ab12"));
        assert!(unsaved.find("ab").is_none(), "there are two");
        assert!(unsaved.find("").is_none() && unsaved.find("ab5").is_none());
        assert!(unsaved.get("ab34").is_some() && unsaved.get("ab3").is_none());
    }

    #[test]
    fn what_waits_in_a_file_comes_back_whole() {
        let waiting = Waiting {
            database: PathBuf::from("data/tasks.db"),
            outcome: named("ab12"),
            background: true,
            notify: true,
            deadline: Some(3),
            cancel_job: false,
        };
        let read: Waiting = serde_json::from_str(&to_json(&waiting)).unwrap();
        assert_eq!(to_json(&read.outcome), to_json(&waiting.outcome));
        assert_eq!(read.restored(), waiting.restored());
        let restored = read.restored();
        assert_eq!(restored.rounds.len(), waiting.outcome.rounds.len());
        assert!(restored.created_at > 0 && restored.task.notify);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_of_ours_is_for_nobody_else() {
        use std::os::unix::fs::PermissionsExt;
        let all = tempfile::tempdir().unwrap();
        let directory = all.path().join("unsaved");
        make_private(&directory).unwrap();
        let path = directory.join("a.json");
        write_private(&path, "{}").unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&directory), mode(&path)), (0o700, 0o600));
        assert_eq!(waiting_in(&directory), [path]);
        // A link may lead anywhere.
        let link = all.path().join("link");
        std::os::unix::fs::symlink(&directory, &link).unwrap();
        assert!(make_private(&link).is_err());
        assert_eq!(waiting_in(&link), [""; 0].map(PathBuf::from));
    }
}
