//! A research backend called as the host calls it: the built-in component, its grants,
//! its limits and the real http gate, without a task around it.

use std::path::Path;
use std::sync::Arc;

use bathysphere::config::{self, Directories, LoadOptions};
use bathysphere::gates::secrets::Secrets;
use bathysphere::plugins::contract::{ErrorKind, Job, Research, ResearchRequest};
use bathysphere::plugins::{CallError, Plugins, builtin};
use tempfile::TempDir;

const PLUGIN: &str = "research-gemini";

pub struct ResearchBackend {
    plugins: Plugins,
    _home: TempDir,
}

impl ResearchBackend {
    /// `research-gemini`, told by the environment where the service is. `settings`
    /// are lines of its settings table.
    pub fn gemini(url: &str, key: Option<&str>, settings: &str) -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        let file = home.path().join("plugins.toml");
        let text = format!("[plugins.{PLUGIN}.settings]\n{settings}\n");
        std::fs::write(&file, text).expect("a writable directory");
        let directories = Directories::beneath(home.path());
        let loaded = config::load(&LoadOptions {
            config_file: Some(file),
            docs: Vec::new(),
            working_directory: home.path().to_owned(),
            directories: &directories,
            environment: &|name| (name == "GOOGLE_GEMINI_BASE_URL").then(|| url.into()),
            builtins: &builtin::names(),
        })
        .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(loaded.warnings, [""; 0]);
        let key = key.map(str::to_owned);
        let secrets = Secrets::new(["GEMINI_API_KEY"], |_| key.clone());
        // Compiled once for all tests, as for all processes of a user.
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache/bathysphere");
        let plugins = Plugins::new(Arc::new(loaded.config), Arc::new(secrets), cache);
        Self { plugins, _home: home }
    }

    async fn research(&self) -> Arc<dyn Research> {
        self.plugins.research(PLUGIN).await.unwrap_or_else(|error| panic!("{error}"))
    }

    pub async fn start(&self, input: &str) -> Result<Job, CallError> {
        let request = ResearchRequest { input: input.to_owned(), model: None, extra: Vec::new() };
        self.research().await.start(&request).await
    }

    pub async fn poll(&self, id: &str) -> Result<Job, CallError> {
        self.research().await.poll(id).await
    }

    pub async fn cancel(&self, id: &str) -> Result<Job, CallError> {
        self.research().await.cancel(id).await
    }

    pub async fn delete(&self, id: &str) -> Result<(), CallError> {
        self.research().await.delete(id).await
    }
}

/// The kind of the error that the plugin itself gives.
#[track_caller]
pub fn kind<T: std::fmt::Debug>(outcome: Result<T, CallError>) -> ErrorKind {
    match outcome {
        Err(CallError::Failed { error, .. }) => error.kind,
        other => panic!("not an error of the plugin: {other:?}"),
    }
}
