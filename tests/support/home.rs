//! A user of the program: a home directory that nobody else has, and a working
//! directory in it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::client::Client;
use super::program::{self, Finished};

pub struct Home {
    directory: TempDir,
    /// The plugins.toml that this user names.
    config: Option<PathBuf>,
}

impl Home {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for name in ["work", "config", "config/bathysphere", "data"] {
            fs::create_dir(directory.path().join(name)).expect("a fresh directory");
        }
        Self { directory, config: None }
    }

    /// A user who names a plugins.toml with this text. One that is merely found in
    /// the working directory could not bring a component along.
    pub fn with_config(text: &str) -> Self {
        let mut home = Self::new();
        let path = home.path().join("plugins.toml");
        fs::write(&path, text).expect("a writable directory");
        home.config = Some(path);
        home
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The working directory of every command.
    pub fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    pub fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// The program as this user would start it.
    ///
    /// Configuration and data are this home's own. The cache of compiled plugins
    /// is shared by all tests, as it is by all processes of a user: compiling
    /// every plugin anew would be most of the time the tests take.
    pub fn command<I, S>(&self, arguments: I) -> Command
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let mut command = Command::new(program::binary());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let of_ours = ["BATHYSPHERE_", "XDG_", "GEMINI_", "GOOGLE_"];
            if of_ours.iter().any(|prefix| text.starts_with(prefix))
                || ["RUST_LOG", "DEEP_SEARCH_MAX_ITERATIONS"].contains(&&*text)
            {
                command.env_remove(&name);
            }
        }
        command.args(arguments).current_dir(self.work()).envs(self.environment());
        command
    }

    /// What makes a process this user's.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let mut environment = vec![
            ("HOME", self.path().into()),
            ("XDG_CONFIG_HOME", self.path().join("config").into()),
            ("XDG_DATA_HOME", self.data().into()),
            ("XDG_STATE_HOME", self.data().into()),
            ("XDG_CACHE_HOME", shared_cache().into()),
        ];
        if let Some(path) = &self.config {
            environment.push(("BATHYSPHERE_CONFIG", path.into()));
        }
        environment
    }

    #[track_caller]
    pub fn run<I, S>(&self, arguments: I) -> Finished
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        program::run(&mut self.command(arguments))
    }

    /// `bathysphere serve` on these documents.
    pub fn serve_command(&self, documents: &Path) -> Command {
        let mut command = self.command(["serve", "--docs"]);
        command.arg(documents);
        command
    }

    /// The same, connected but not yet greeted.
    pub fn serve(&self, documents: &Path) -> Client {
        Client::start(self.serve_command(documents))
    }
}

fn shared_cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}
