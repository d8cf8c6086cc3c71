//! An agent backend called as the host calls it: the built-in component, its grants,
//! its limits and the real gates, without a task around it.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bathysphere::config::{self, Directories, LoadOptions};
use bathysphere::gates::secrets::Secrets;
use bathysphere::plugins::contract::{
    AgentReply, AgentRequest, ErrorKind, PluginError, Progress, ProgressSink, Purpose,
};
use bathysphere::plugins::{CallError, Plugins, builtin};
use tempfile::TempDir;

const PLUGIN: &str = "agent-gemini-cli";

pub struct AgentBackend {
    plugins: Plugins,
    progress: Arc<Mutex<Vec<Progress>>>,
    _home: TempDir,
}

impl AgentBackend {
    /// `agent-gemini-cli` over this program. `settings` are lines of its settings
    /// table, `limits` of its limits.
    pub fn gemini(program: &Path, settings: &str, limits: &str) -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        let program = program.display();
        let file = home.path().join("plugins.toml");
        let text = format!(
            "[plugins.{PLUGIN}.settings]\nprogram = '{program}'\n{settings}\n\n\
             [plugins.{PLUGIN}.grants]\ncommands = ['{program}']\n\n\
             [plugins.{PLUGIN}.limits]\n{limits}\n"
        );
        std::fs::write(&file, text).expect("a writable directory");
        let directories = Directories::beneath(home.path());
        let loaded = config::load(&LoadOptions {
            config_file: Some(file),
            docs: Vec::new(),
            working_directory: home.path().to_owned(),
            directories: &directories,
            environment: &|_| None,
            builtins: &builtin::names(),
        })
        .unwrap_or_else(|error| panic!("{error}"));
        // Compiled once for all tests, as for all processes of a user.
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache/bathysphere");
        let plugins = Plugins::new(Arc::new(loaded.config), Arc::new(Secrets::default()), cache);
        Self { plugins, progress: Arc::default(), _home: home }
    }

    /// Asks as the loop does.
    pub async fn answer(&self, request: &AgentRequest) -> Result<AgentReply, CallError> {
        let progress = Arc::clone(&self.progress);
        let sink: ProgressSink = Arc::new(move |told| {
            progress.lock().unwrap_or_else(PoisonError::into_inner).push(told);
        });
        self.plugins.agent(PLUGIN).await?.answer(request, sink).await
    }

    /// The error that the plugin itself gives.
    #[track_caller]
    pub fn failed(outcome: Result<AgentReply, CallError>) -> PluginError {
        match outcome {
            Err(CallError::Failed { error, .. }) => error,
            other => panic!("not an error of the plugin: {other:?}"),
        }
    }

    /// What was told while it ran, so far.
    pub fn progress(&self) -> Vec<String> {
        let progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.iter().map(|told| told.message.clone()).collect()
    }
}

/// A request with nothing but a prompt.
pub fn prompt(text: &str) -> AgentRequest {
    AgentRequest {
        purpose: Purpose::Answer,
        prompt: text.to_owned(),
        question: text.to_owned(),
        passages: Vec::new(),
        schema: None,
        model: None,
        files: Vec::new(),
        extra: Vec::new(),
    }
}

/// A kind that only its name tells.
pub fn other(name: &str) -> ErrorKind {
    ErrorKind::Other(name.to_owned())
}
