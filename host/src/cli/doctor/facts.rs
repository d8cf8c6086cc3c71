//! What there is to see: programs in PATH, variables, directories. Starts nothing
//! and reads no value of a key.

use std::env;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use crate::cli::desk::Checkup;

/// Programs that backends or plugin authors use, and what for.
const PROGRAMS: &[(&str, &str)] = &[
    ("gemini", "asking Gemini through its command line"),
    ("node", "writing plugins in JavaScript"),
    ("python3", "writing plugins in Python"),
];

/// Keys of the services Bathysphere has backends for.
const KEYS: &[&str] = &["GEMINI_API_KEY", "TAVILY_API_KEY"];

#[derive(Debug, Clone)]
pub struct Facts {
    pub programs: Vec<Program>,
    /// Names of variables, and whether each is set.
    pub keys: Vec<(String, bool)>,
    pub directories: Vec<Directory>,
    /// The program of the user's that is run when a task ends.
    pub hook: Option<Program>,
    pub checkup: Checkup,
}

#[derive(Debug, Clone)]
pub struct Program {
    pub name: String,
    /// What Bathysphere would use it for; empty for a plugin's own.
    pub purpose: String,
    pub path: Option<PathBuf>,
}

#[derive(Debug, Clone)]
pub struct Directory {
    pub purpose: String,
    pub path: PathBuf,
    pub state: DirectoryState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirectoryState {
    Writable,
    /// Not there yet, but it can be made.
    Creatable,
    Unusable(String),
}

pub fn gather(checkup: Checkup) -> Facts {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut programs: Vec<(String, String)> = PROGRAMS
        .iter()
        .map(|(name, purpose)| ((*name).to_owned(), (*purpose).to_owned()))
        .collect();
    let mut keys: Vec<String> = KEYS.iter().map(|name| (*name).to_owned()).collect();
    for plugin in &checkup.plugins {
        for command in &plugin.grants.commands {
            if !programs.iter().any(|(name, _)| name == command) {
                programs.push((command.clone(), String::new()));
            }
        }
        let secrets = plugin.grants.secrets.iter().map(|secret| &secret.name);
        let given = plugin.grants.environment.iter().filter(|name| is_key(name));
        for name in secrets.chain(given) {
            if !keys.contains(name) {
                keys.push(name.clone());
            }
        }
    }
    let hook = checkup.notification.command.first().map(|name| Program {
        path: find_program(name, &path),
        name: name.clone(),
        purpose: String::new(),
    });
    Facts {
        hook,
        programs: programs
            .into_iter()
            .map(|(name, purpose)| Program { path: find_program(&name, &path), name, purpose })
            .collect(),
        keys: keys
            .into_iter()
            .map(|name| {
                let set = env::var_os(&name).is_some_and(|value| !value.is_empty());
                (name, set)
            })
            .collect(),
        directories: checkup
            .directories
            .iter()
            .map(|(purpose, path)| Directory {
                purpose: purpose.clone(),
                path: path.clone(),
                state: writable(path),
            })
            .collect(),
        checkup,
    }
}

/// Whether a variable is a key by its name; what else a program is given need not
/// be set.
pub fn is_key(name: &str) -> bool {
    name.ends_with("_API_KEY")
}

/// Where a command would be found, as a shell finds it.
fn find_program(name: &str, path: &OsStr) -> Option<PathBuf> {
    if Path::new(name).is_absolute() {
        return is_executable(Path::new(name)).then(|| PathBuf::from(name));
    }
    let names = if cfg!(windows) {
        vec![format!("{name}.exe"), format!("{name}.cmd")]
    } else {
        vec![name.to_owned()]
    };
    env::split_paths(path)
        .filter(|directory| directory.is_absolute())
        .flat_map(|directory| {
            names.iter().map(move |name| directory.join(name)).collect::<Vec<_>>()
        })
        .find(|candidate| is_executable(candidate))
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// Tries it, because permission bits do not tell of full or read-only disks. What
/// is not there yet is tried in the nearest directory that is.
fn writable(path: &Path) -> DirectoryState {
    if path.exists() && !path.is_dir() {
        return DirectoryState::Unusable("it is not a directory".to_owned());
    }
    let Some(nearest) = path.ancestors().find(|ancestor| ancestor.is_dir()) else {
        return DirectoryState::Unusable("no directory above it exists".to_owned());
    };
    let probe = nearest.join(format!(".bathysphere-{}", uuid::Uuid::new_v4().simple()));
    if let Err(error) = File::create_new(&probe) {
        return DirectoryState::Unusable(error.to_string());
    }
    // A probe that cannot be removed says as much as one that can.
    let _ = std::fs::remove_file(&probe);
    if nearest == path { DirectoryState::Writable } else { DirectoryState::Creatable }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_tried_and_left_as_they_were() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(writable(directory.path()), DirectoryState::Writable);
        assert_eq!(writable(&directory.path().join("a/b")), DirectoryState::Creatable);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        let file = directory.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(matches!(writable(&file), DirectoryState::Unusable(_)));
    }

    #[cfg(unix)]
    #[test]
    fn programs_are_found_as_a_shell_finds_them() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let tool = directory.path().join("tool");
        std::fs::write(&tool, "").unwrap();
        let path = env::join_paths([Path::new("relative"), directory.path()]).unwrap();
        assert_eq!(find_program("tool", &path), None, "it may not be run yet");
        std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find_program("tool", &path), Some(tool.clone()));
        assert_eq!(find_program(tool.to_str().unwrap(), OsStr::new("")), Some(tool));
        assert_eq!(find_program("other", &path), None);
    }
}
