//! Where the house is put together: the flags become a configuration, plugins and
//! a store, each made when first needed, and the command line gets its desk.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use crate::cli::desk::{
    Checkup, ConfigListing, Desk, DocumentSet, Notification, PluginSummary, Setup,
};
use crate::config::{
    self, Config, ConfigError, Directories, LoadOptions, LoadedConfig, NotifyConfig, ToolBackends,
};
use crate::gates;
use crate::gates::notify::Herald;
use crate::gates::secrets::Secrets;
use crate::mcp;
use crate::plugins::contract::{Passage, Question};
use crate::plugins::{CallError, PluginStatus, Plugins, builtin};
use crate::prices::Prices;
use crate::prompts::Prompts;
use crate::store::Store;
use crate::tasks::views::{ResearchStatus, Started};
use crate::tasks::{
    Cancellation, Costs, CostsBy, ErrorReport, Estimate, Estimates, Event, EventSink, Outcome,
    TaskRequest, TaskStatus, TaskSummary, Tasks,
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
        let herald = self.herald(&loaded.config);
        let config = Arc::new(loaded.config.clone());
        let secrets = Arc::new(Secrets::from_environment(secret_names(&config)));
        let plugins = Arc::new(Plugins::new(config, secrets, directories.cache.clone()));
        let store = Store::open(directories.data.join(DATABASE));
        // With prices that nobody knows nothing is asked; what is there can be read, and
        // what runs can be ended.
        let (prices, prompts) = match Prices::load(&directories.config) {
            Ok(prices) => (prices, Prompts::load(&directories.config).map_err(ErrorReport::from)),
            Err(error) => (Prices::built_in(), Err(ErrorReport::from(error))),
        };
        let prices = Arc::new(prices);
        for warning in prompts.iter().flat_map(Prompts::warnings) {
            tracing::warn!("{warning}");
        }
        let tasks = Tasks::new(plugins, store, prompts, prices, directories.config.clone())
            .with_herald(herald);
        Ok(Parts { loaded, tasks: Arc::new(tasks) })
    }

    /// This program again, to tell of the end of a task.
    fn herald(&self, config: &Config) -> Herald {
        let Setup { home, config: file, documents } = self.setup.clone();
        let given = config.plugins.values().flat_map(|plugin| plugin.grants.environment.iter());
        let keys = given.filter(|name| gates::process::is_secret(name)).cloned();
        let without = secret_names(config).into_iter().chain(keys).collect();
        Herald { home, config: file, documents, without }
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
        let tasks = &self.parts()?.tasks;
        let in_background = request.background.is_some();
        let outcome = tasks.run(request, sink(events), cancel).await;
        tasks.wait_for_starts().await;
        if in_background {
            tasks.wait_for_heralds().await;
        }
        outcome
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
        words: Option<String>,
        limit: u32,
        status: Option<TaskStatus>,
    ) -> Result<Vec<TaskSummary>, ErrorReport> {
        self.parts()?.tasks.history(words.as_deref(), limit, status).await
    }

    async fn estimate(&self, tool: &str, question: Question) -> Result<Estimate, ErrorReport> {
        self.parts()?.tasks.estimate(tool, &question).await
    }

    async fn costs(
        &self,
        by: CostsBy,
        since: Option<Timestamp>,
        zone: TimeZone,
    ) -> Result<Costs, ErrorReport> {
        self.parts()?.tasks.costs(by, since, &zone).await
    }

    async fn estimates(&self, limit: u32) -> Result<Estimates, ErrorReport> {
        self.parts()?.tasks.estimates(limit).await
    }

    async fn outcome(&self, id: &str) -> Result<Outcome, ErrorReport> {
        self.parts()?.tasks.outcome(id).await
    }

    fn handoff(&self) -> Duration {
        let parts = self.parts();
        parts.map_or_else(|_| Duration::ZERO, |parts| parts.loaded.config.research.handoff)
    }

    fn started(&self, outcome: &Outcome) -> Result<Started, ErrorReport> {
        Ok(self.parts()?.tasks.started(outcome))
    }

    async fn status(&self, id: &str) -> Result<ResearchStatus, ErrorReport> {
        self.parts()?.tasks.status(id).await
    }

    async fn cancel(&self, id: &str, save_partial: bool) -> Result<Cancellation, ErrorReport> {
        self.parts()?.tasks.cancel(id, save_partial).await
    }

    async fn adopt(&self, id: &str, job: &str) -> Result<String, ErrorReport> {
        self.parts()?.tasks.adopt(id, job).await
    }

    async fn retry(&self, id: &str) -> Result<String, ErrorReport> {
        self.parts()?.tasks.retry(id).await
    }

    async fn work(&self, until_done: bool, stop: CancellationToken) -> Result<(), ErrorReport> {
        let tasks = self.parts()?.tasks.clone();
        tasks.check()?;
        tasks.work_alone(until_done, stop).await
    }

    async fn tell(&self, id: &str) -> Result<bool, ErrorReport> {
        self.parts()?.tasks.tell(id).await
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
                notification: notification(&parts.loaded.config.notify).await,
            },
            Err(error) => Checkup {
                configuration: Err(error),
                plugins: Vec::new(),
                directories: places,
                documents: Vec::new(),
                notification: Notification::default(),
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

async fn notification(config: &NotifyConfig) -> Notification {
    let service = gates::notify::service();
    let desktop = if config.desktop { Some(service.await) } else { None };
    Notification { desktop, command: config.command.clone() }
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
