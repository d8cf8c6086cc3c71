//! What can go wrong with the store, in terms of what the user can do about it.
//! Every trouble of the file itself names the file.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use super::Status;

pub type Result<T, E = StoreError> = std::result::Result<T, E>;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StoreError {
    /// The file or the disk below it.
    #[error("{}", fault.describe(path, detail))]
    Database { fault: Fault, path: PathBuf, detail: String },
    /// A directory of the store could not be made or used.
    #[error("the directory {} cannot be used: {detail}", path.display())]
    Directory { path: PathBuf, detail: String },
    /// No task has this id, nor one that begins with it.
    #[error("there is no task `{given}`")]
    NoSuchTask {
        given: String,
        /// There are no tasks at all.
        empty: bool,
    },
    /// Several tasks begin with this.
    #[error("`{given}` is the beginning of {} task ids: {}", matches.len(), list(matches))]
    AmbiguousTask { given: String, matches: Vec<String> },
    /// Another process has taken the task over: this one must stop working on it.
    #[error("task {task} has been taken over by another process")]
    LostOwnership { task: String },
    /// The database no longer knows the task that is being worked on.
    #[error(
        "task {task} is no longer in the database: the file was removed or replaced while the task ran"
    )]
    Vanished { task: String },
    /// The process that works on the task is alive.
    #[error("task {task} is being worked on by another process")]
    Owned { task: String },
    /// What is finished stays as it is.
    #[error("task {task} is {} already", status.as_str())]
    Finished { task: String, status: Status },
    /// Only a task whose call has an unknown fate can be adopted or tried again.
    #[error("task {task} is {}, and waits for no decision", status.as_str())]
    NotParked { task: String, status: Status },
    #[error("round {number} of task {task} is saved already")]
    RoundSaved { task: String, number: u32 },
    /// The call was never begun, or has an outcome already.
    #[error("task {task} has no open call {number}")]
    NoOpenCall { task: String, number: u32 },
    /// The call was not written down, and must not be sent.
    #[error("{}", over_budget(*limit, *spent, *reserved, *wanted))]
    OverBudget {
        /// All in US dollars.
        limit: f64,
        spent: f64,
        /// What other tasks that run may still spend.
        reserved: f64,
        /// What this task may still spend.
        wanted: f64,
    },
    /// `Store::close` was called.
    #[error("the store is closed")]
    Closed,
}

/// What is wrong with the database file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    NotADatabase,
    /// A database of another program.
    Foreign,
    /// Written by a later version of this program.
    NewerSchema,
    Corrupt,
    ReadOnly,
    /// The disk is full or failing: what was to be written is not.
    Full,
    /// Another process kept it locked for longer than we wait.
    Locked,
    CannotOpen,
    /// Another file, or none, has its name by now: what was written is lost.
    Replaced,
    Other,
}

impl Fault {
    fn describe(self, path: &Path, detail: &str) -> String {
        let path = path.display();
        match self {
            Self::NotADatabase => format!("{path} is not a database"),
            Self::Foreign => format!("{path} is a database of another program"),
            Self::NewerSchema => {
                format!("the database {path} was written by a newer version: {detail}")
            }
            Self::Corrupt => format!("the database {path} is damaged: {detail}"),
            Self::ReadOnly => format!("the database {path} cannot be written: {detail}"),
            Self::Full => {
                format!("the disk is full or failing, {path} could not be written: {detail}")
            }
            // SQLite only says the same in other words.
            Self::Locked => format!("the database {path} is locked by another process"),
            Self::CannotOpen => format!("the database {path} cannot be opened: {detail}"),
            Self::Replaced => {
                format!("the database {path} was removed or replaced while it was being written")
            }
            Self::Other => format!("the database {path}: {detail}"),
        }
    }
}

impl StoreError {
    pub(crate) fn database(fault: Fault, path: &Path, detail: impl Into<String>) -> Self {
        Self::Database { fault, path: path.to_owned(), detail: detail.into() }
    }

    pub(crate) fn directory(path: &Path, error: &std::io::Error) -> Self {
        Self::Directory { path: path.to_owned(), detail: error.to_string() }
    }

    /// What is wrong with the file, where it is the file.
    pub fn fault(&self) -> Option<Fault> {
        match self {
            Self::Database { fault, .. } => Some(*fault),
            _ => None,
        }
    }

    /// Names the file, which the code that met the error does not know.
    pub(crate) fn at(mut self, file: &Path) -> Self {
        if let Self::Database { path, .. } = &mut self
            && path.as_os_str().is_empty()
        {
            file.clone_into(path);
        }
        self
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Database { fault, .. } => match fault {
                Fault::NotADatabase | Fault::Foreign => {
                    "move the file away, or choose another data directory"
                }
                Fault::NewerSchema => {
                    "update bathysphere, or choose another data directory for this version"
                }
                Fault::Corrupt => {
                    "move the file and its -wal and -shm files away to start afresh; \
                     `sqlite3 FILE .recover` may save what it holds"
                }
                Fault::ReadOnly => {
                    "make the file and its directory writable, or choose another data directory"
                }
                Fault::Full => "free some space, then try again",
                Fault::Locked => {
                    "end the program that holds it (a backup, a database browser, a stopped process), \
                     then try again"
                }
                Fault::CannotOpen => "check that the path is a file you may read and write",
                Fault::Replaced => "try again: the file is opened or made anew",
                Fault::Other => return None,
            },
            Self::Directory { .. } => {
                "make it a directory you may write to, or choose another data directory"
            }
            Self::NoSuchTask { empty: true, .. } => "no task has been saved yet",
            Self::NoSuchTask { .. } => "`bathysphere history` lists the tasks",
            Self::AmbiguousTask { .. } => "give more of the id",
            Self::Vanished { .. } => {
                "keep the answer shown: it is the only copy; leave the data directory alone \
                 while a server runs"
            }
            Self::OverBudget { .. } => {
                "raise `usd_per_day` in [budget] of plugins.toml, or wait for tomorrow; \
                 `bathysphere costs` shows what was spent"
            }
            Self::Owned { .. } => "wait for it to end, or cancel it where it runs",
            Self::LostOwnership { .. }
            | Self::Finished { .. }
            | Self::NotParked { .. }
            | Self::RoundSaved { .. }
            | Self::NoOpenCall { .. }
            | Self::Closed => return None,
        };
        Some(hint.to_owned())
    }
}

/// Without the path, which [`StoreError::at`] adds.
impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let fault = match error.sqlite_error() {
            Some(failure) => fault_of(*failure),
            // A column that does not hold what the schema says it does.
            None => Fault::Other,
        };
        Self::Database { fault, path: PathBuf::new(), detail: error.to_string() }
    }
}

pub(super) fn fault_of(failure: rusqlite::ffi::Error) -> Fault {
    use rusqlite::ffi;
    match failure.code {
        ErrorCode::NotADatabase => Fault::NotADatabase,
        ErrorCode::DatabaseCorrupt => Fault::Corrupt,
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => Fault::ReadOnly,
        ErrorCode::DiskFull => Fault::Full,
        ErrorCode::DatabaseBusy
        | ErrorCode::DatabaseLocked
        | ErrorCode::FileLockingProtocolFailed => Fault::Locked,
        ErrorCode::CannotOpen => Fault::CannotOpen,
        ErrorCode::SystemIoFailure => match failure.extended_code {
            // A full disk, a quota or a file-size limit may come as any of these.
            ffi::SQLITE_IOERR_WRITE
            | ffi::SQLITE_IOERR_FSYNC
            | ffi::SQLITE_IOERR_DIR_FSYNC
            | ffi::SQLITE_IOERR_TRUNCATE
            | ffi::SQLITE_IOERR_SHMSIZE => Fault::Full,
            _ => Fault::Other,
        },
        _ => Fault::Other,
    }
}

fn over_budget(limit: f64, spent: f64, reserved: f64, wanted: f64) -> String {
    let dollars = |amount: f64| format!("${amount:.2}");
    let held = if reserved > 0.0 {
        format!(", {} held for tasks that run", dollars(reserved))
    } else {
        String::new()
    };
    let asked = if wanted > 0.0 {
        format!(", and this may cost up to {}", dollars(wanted))
    } else {
        String::new()
    };
    format!(
        "the day's budget of {} is used up: {} spent{held}{asked}",
        dollars(limit),
        dollars(spent)
    )
}

fn list(ids: &[String]) -> String {
    const SHOWN: usize = 5;
    let mut text = ids.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if ids.len() > SHOWN {
        text.push_str(", …");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_code(code: std::ffi::c_int) -> StoreError {
        rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), Some("said so".to_owned()))
            .into()
    }

    #[test]
    fn each_trouble_of_the_file_has_its_own_fault() {
        use rusqlite::ffi;
        for (code, fault) in [
            (ffi::SQLITE_NOTADB, Fault::NotADatabase),
            (ffi::SQLITE_CORRUPT_INDEX, Fault::Corrupt),
            (ffi::SQLITE_READONLY_DBMOVED, Fault::ReadOnly),
            (ffi::SQLITE_FULL, Fault::Full),
            (ffi::SQLITE_IOERR_WRITE, Fault::Full),
            (ffi::SQLITE_IOERR_FSYNC, Fault::Full),
            (ffi::SQLITE_IOERR_READ, Fault::Other),
            (ffi::SQLITE_BUSY_RECOVERY, Fault::Locked),
            (ffi::SQLITE_CANTOPEN_ISDIR, Fault::CannotOpen),
        ] {
            assert_eq!(from_code(code).fault(), Some(fault), "code {code}");
        }
    }

    #[test]
    fn the_message_names_the_file_once_it_is_known() {
        let error = from_code(rusqlite::ffi::SQLITE_FULL).at(Path::new("data/tasks.db"));
        assert_eq!(
            error.to_string(),
            "the disk is full or failing, data/tasks.db could not be written: said so"
        );
        assert_eq!(error.hint().as_deref(), Some("free some space, then try again"));
        let named_before = error.clone().at(Path::new("elsewhere"));
        assert_eq!(named_before, error);
    }

    #[test]
    fn a_budget_that_would_be_exceeded_is_told_in_dollars() {
        let error = StoreError::OverBudget { limit: 5.0, spent: 1.5, reserved: 2.0, wanted: 3.0 };
        assert_eq!(
            error.to_string(),
            "the day's budget of $5.00 is used up: $1.50 spent, $2.00 held for tasks that run, \
             and this may cost up to $3.00"
        );
        assert!(error.hint().unwrap().contains("usd_per_day"));
    }

    #[test]
    fn a_long_list_of_matches_is_cut() {
        let matches = (0..7).map(|number| format!("a{number}")).collect();
        let error = StoreError::AmbiguousTask { given: "a".to_owned(), matches };
        assert_eq!(error.to_string(), "`a` is the beginning of 7 task ids: a0, a1, a2, a3, a4, …");
    }
}
