//! Where the house is put together: the flags become a configuration, plugins and
//! a store, each made when first needed, and the command line gets its desk.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use crate::cli::desk::{Checkup, ConfigListing, Desk, DocumentSet, PluginSummary, Setup};
use crate::config::{
    self, Config, ConfigError, Directories, LoadOptions, LoadedConfig, ToolBackends,
};
use crate::gates::secrets::Secrets;
use crate::mcp;
use crate::plugins::contract::Passage;
use crate::plugins::{CallError, PluginStatus, Plugins, builtin};
use crate::prompts::Prompts;
use crate::store::Store;
use crate::tasks::{
    ErrorReport, Event, EventSink, Outcome, TaskRequest, TaskStatus, TaskSummary, Tasks,
};

/// The database's name in the data directory.
const DATABASE: &str = "bathysphere.sqlite3";

/// The desk that the flags ask for. Nothing is read yet.
pub fn open(setup: Setup) -> Arc<dyn Desk> {
    Arc::new(Engine { setup, parts: OnceLock::new() })
}

struct Engine {
    setup: Setup,
    parts: OnceLock<Result<Parts, ErrorReport>>,
}

/// What a sound configuration gives.
struct Parts {
    loaded: LoadedConfig,
    tasks: Arc<Tasks>,
}

impl Engine {
    fn parts(&self) -> Result<&Parts, ErrorReport> {
        self.parts.get_or_init(|| self.assemble()).as_ref().map_err(Clone::clone)
    }

    fn assemble(&self) -> Result<Parts, ErrorReport> {
        let directories = self.directories()?;
        let loaded = self.load(&directories)?;
        for warning in &loaded.warnings {
            tracing::warn!("{warning}");
        }
        let config = Arc::new(loaded.config.clone());
        let secrets = Arc::new(Secrets::from_environment(secret_names(&config)));
        let plugins = Arc::new(Plugins::new(config, secrets, directories.cache.clone()));
        let store = Store::open(directories.data.join(DATABASE));
        let prompts = Prompts::load(&directories.config).map_err(ErrorReport::from);
        for warning in prompts.iter().flat_map(Prompts::warnings) {
            tracing::warn!("{warning}");
        }
        let tasks = Tasks::new(plugins, store, prompts, directories.config.clone());
        Ok(Parts { loaded, tasks: Arc::new(tasks) })
    }

    fn directories(&self) -> Result<Directories, ErrorReport> {
        Ok(Directories::find(self.setup.home.as_deref(), &variable)?)
    }

    fn load(&self, directories: &Directories) -> Result<LoadedConfig, ErrorReport> {
        let working_directory = std::env::current_dir().map_err(|error| ErrorReport {
            code: "CONFIG_ERROR".to_owned(),
            message: format!("the working directory cannot be used: {error}"),
            hint: Some("change to a directory that exists".to_owned()),
        })?;
        Ok(config::load(&LoadOptions {
            config_file: self.setup.config.clone(),
            docs: self.setup.documents.clone(),
            working_directory,
            directories,
            environment: &variable,
            builtins: &builtin::names(),
        })?)
    }
}

fn variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}

fn secret_names(config: &Config) -> Vec<String> {
    let grants = config.plugins.values().map(|plugin| &plugin.grants);
    grants.flat_map(|grants| grants.secrets.iter().map(|secret| secret.name.clone())).collect()
}

impl From<ConfigError> for ErrorReport {
    fn from(error: ConfigError) -> Self {
        Self { code: "CONFIG_ERROR".to_owned(), message: error.to_string(), hint: None }
    }
}

/// Events into a channel; a listener that is gone is no reason to stop.
fn sink(events: UnboundedSender<Event>) -> EventSink {
    Arc::new(move |event| {
        let _ = events.send(event);
    })
}

#[async_trait]
impl Desk for Engine {
    async fn run(
        &self,
        request: TaskRequest,
        events: UnboundedSender<Event>,
        cancel: CancellationToken,
    ) -> Result<Outcome, ErrorReport> {
        self.parts()?.tasks.run(request, sink(events), cancel).await
    }

    async fn passages(
        &self,
        query: String,
        limit: u32,
        events: UnboundedSender<Event>,
        cancel: CancellationToken,
    ) -> Result<Vec<Passage>, ErrorReport> {
        let tasks = &self.parts()?.tasks;
        let events = sink(events);
        let found = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(ErrorReport {
                code: "CANCELLED".to_owned(),
                message: "cancelled".to_owned(),
                hint: None,
            }),
            found = tasks.passages(&query, limit, &events) => found?,
        };
        Ok(found.into_iter().map(|hit| hit.passage).collect())
    }

    async fn history(
        &self,
        limit: u32,
        status: Option<TaskStatus>,
    ) -> Result<Vec<TaskSummary>, ErrorReport> {
        self.parts()?.tasks.history(limit, status).await
    }

    async fn outcome(&self, id: &str) -> Result<Outcome, ErrorReport> {
        self.parts()?.tasks.outcome(id).await
    }

    fn config_directory(&self) -> Result<PathBuf, ErrorReport> {
        Ok(self.directories()?.config)
    }

    async fn plugins(&self) -> Result<Vec<PluginSummary>, ErrorReport> {
        Ok(plugin_summaries(&self.parts()?.tasks).await)
    }

    async fn config(&self) -> Result<ConfigListing, ErrorReport> {
        let loaded = &self.parts()?.loaded;
        Ok(ConfigListing { text: config::explain_text(loaded), json: config::explain_json(loaded) })
    }

    async fn checkup(&self) -> Checkup {
        let directories = self.directories();
        let places = directories.as_ref().map_or_else(
            |_| Vec::new(),
            |found| {
                vec![
                    ("configuration".to_owned(), found.config.clone()),
                    ("data".to_owned(), found.data.clone()),
                    ("cache".to_owned(), found.cache.clone()),
                ]
            },
        );
        match self.parts() {
            Ok(parts) => Checkup {
                configuration: parts.tasks.check().map(|()| files(&parts.loaded)),
                plugins: plugin_summaries(&parts.tasks).await,
                directories: places,
                documents: documents(&parts.loaded.config),
            },
            Err(error) => Checkup {
                configuration: Err(error),
                plugins: Vec::new(),
                directories: places,
                documents: Vec::new(),
            },
        }
    }

    async fn serve(&self, stop: CancellationToken) -> Result<(), ErrorReport> {
        let tasks = self.parts()?.tasks.clone();
        tasks.check()?;
        mcp::serve(tasks, stop).await.map_err(|error| ErrorReport {
            code: "MCP_ERROR".to_owned(),
            message: format!("the conversation with the client failed: {error}"),
            hint: None,
        })
    }
}

async fn plugin_summaries(tasks: &Tasks) -> Vec<PluginSummary> {
    let plugins = tasks.plugins();
    let statuses = plugins.statuses().await;
    statuses.into_iter().map(|status| summary(status, plugins.config())).collect()
}

fn summary(status: PluginStatus, config: &Config) -> PluginSummary {
    let name = status.config.name;
    let (identity, problem) = match status.loaded {
        Ok(identity) => (Some(identity), None),
        Err(error) => (None, Some(ErrorReport::from(&CallError::Load(error)))),
    };
    PluginSummary {
        kind: identity.as_ref().map(|identity| identity.kind.to_string()),
        version: identity.as_ref().map(|identity| identity.version.clone()),
        summary: identity.as_ref().map(|identity| identity.summary.clone()),
        sha256: identity.map(|identity| identity.digest),
        source: status.config.source,
        grants: status.config.grants,
        settings: status.config.settings,
        used_by: used_by(&name, config),
        name,
        problem,
    }
}

/// The tools that a plugin serves.
fn used_by(name: &str, config: &Config) -> Vec<String> {
    let decides = [Some(&config.strategy), Some(&config.extractor), config.estimator.as_ref()];
    if decides.into_iter().flatten().any(|used| used == name) {
        return vec!["every tool".to_owned()];
    }
    let serves = |tool: &ToolBackends| {
        [&tool.agent, &tool.search, &tool.pages, &tool.research]
            .into_iter()
            .flatten()
            .any(|used| used == name)
    };
    config.tools.iter().filter(|(_, tool)| serves(tool)).map(|(tool, _)| tool.clone()).collect()
}

/// What the configuration is made of, strongest first.
fn files(loaded: &LoadedConfig) -> Vec<String> {
    let mut files: Vec<String> =
        loaded.files.iter().map(|file| file.display().to_string()).collect();
    files.push("built-in defaults".to_owned());
    files
}

/// Every directory that some plugin is granted, once.
fn documents(config: &Config) -> Vec<DocumentSet> {
    let mut paths: Vec<PathBuf> = config
        .plugins
        .values()
        .flat_map(|plugin| plugin.grants.directories.iter().map(|directory| directory.path.clone()))
        .collect();
    paths.sort();
    paths.dedup();
    paths
        .into_iter()
        .map(|path| {
            let problem = std::fs::read_dir(&path).err().map(|error| ErrorReport {
                code: "NOT_FOUND".to_owned(),
                message: format!("{} cannot be read: {error}", path.display()),
                hint: None,
            });
            DocumentSet { path, files: None, problem }
        })
        .collect()
}
