//! What users meet: broken files (`tests/config/invalid`, each with what is said
//! of it; `INSTA_UPDATE=always` blesses), layers, variables, trust, and what is
//! explained.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::*;

mod endpoint;
mod environment;
mod explain;
mod invalid;
mod layers;
mod routes;
mod settings;
mod spending;
mod trust;

const BUILTINS: &[&str] = &[
    "strategy-adaptive",
    "extractor-json",
    "estimator-history",
    "agent-extractive",
    "agent-gemini-cli",
    "research-gemini",
    "search-documents",
];

/// A file of the user's own, with a plugin that may reach something.
const OWN: &str = "\
[plugins.own]
source = \"own.wasm\"
[plugins.own.grants]
hosts = [\"api.example.com\"]
commands = [\"gemini\"]
[plugins.own.grants.secrets.KEY]
host = \"api.example.com\"
";

/// A home, a working directory, flags and variables, for one load.
struct World {
    root: tempfile::TempDir,
    config_file: Option<PathBuf>,
    docs: Vec<PathBuf>,
    variables: Vec<(&'static str, OsString)>,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for directory in ["here/docs", "home/config", "home/notes"] {
            std::fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        Self { root, config_file: None, docs: Vec::new(), variables: Vec::new() }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn file(self, path: &str, text: impl AsRef<[u8]>) -> Self {
        std::fs::write(self.path(path), text).unwrap();
        self
    }

    /// The working directory's plugins.toml.
    fn here(self, text: &str) -> Self {
        self.file("here/plugins.toml", text)
    }

    /// The user's own.
    fn own(self, text: &str) -> Self {
        self.file("home/config/plugins.toml", text)
    }

    fn flag(mut self, path: &str) -> Self {
        self.config_file = Some(PathBuf::from(path));
        self
    }

    fn docs(mut self, paths: &[&str]) -> Self {
        self.docs = paths.iter().map(PathBuf::from).collect();
        self
    }

    fn variable(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    fn load(&self) -> Result<LoadedConfig, ConfigError> {
        let home = self.path("home");
        let environment = |name: &str| {
            let found = self.variables.iter().find(|(known, _)| *known == name);
            found
                .map(|(_, value)| value.clone())
                .or_else(|| (name == "HOME").then(|| home.clone().into()))
        };
        load(&LoadOptions {
            config_file: self.config_file.clone(),
            docs: self.docs.clone(),
            working_directory: self.path("here"),
            directories: &Directories::beneath(&home),
            environment: &environment,
            builtins: BUILTINS,
        })
    }

    fn loaded(&self) -> LoadedConfig {
        self.load().unwrap_or_else(|error| panic!("{error}"))
    }

    fn error(&self) -> String {
        let root = self.root.path().display().to_string();
        self.load().expect_err("a mistake was not noticed").to_string().replace(&root, "ROOT")
    }

    fn text(&self) -> String {
        let root = self.root.path().display().to_string();
        explain_text(&self.loaded()).replace(&root, "ROOT")
    }
}

fn directories(loaded: &LoadedConfig, plugin: &str) -> Vec<(PathBuf, String)> {
    let grants = &loaded.config.plugins[plugin].grants;
    grants
        .directories
        .iter()
        .map(|granted| (granted.path.clone(), granted.prefix.clone()))
        .collect()
}

/// Compares with a snapshot at the root of the repository.
fn assert_shown(directory: &str, name: &str, text: impl std::fmt::Display) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(format!("../../../../tests/config/{directory}"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// Not a test of anything but speed: `cargo test -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
#[expect(clippy::print_stderr, reason = "a measurement is for reading")]
fn loading_takes_well_under_a_millisecond() {
    let world = World::new();
    let mut times: Vec<_> = (0..1000)
        .map(|_| {
            let start = std::time::Instant::now();
            world.loaded();
            start.elapsed()
        })
        .collect();
    times.sort();
    eprintln!("first half under {:?}, 99 of 100 under {:?}", times[500], times[990]);
    assert!(times[500] < std::time::Duration::from_millis(1));
}
