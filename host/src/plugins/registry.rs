//! All configured plugins by name, each loaded once, when first asked for or in
//! the background.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tokio::sync::OnceCell;

use super::cache::CompiledCode;
use super::contract::{Agent, Estimator, Extractor, Pages, Research, Search, Strategy};
use super::loader::{Loaded, Loader};
use super::runtime::Runtime;
use super::{Kind, LoadError, v0_1};
use crate::config::{Config, PluginConfig};
use crate::gates::secrets::{Mask, Secrets};

type Slot = Arc<OnceCell<Arc<Loaded>>>;

pub struct Plugins {
    config: Arc<Config>,
    secrets: Arc<Secrets>,
    cache_directory: PathBuf,
    loader: OnceCell<Arc<Loader>>,
    slots: Mutex<HashMap<String, Slot>>,
}

/// A configured plugin and what became of loading it.
#[derive(Debug, Clone)]
pub struct PluginStatus {
    pub config: PluginConfig,
    pub loaded: Result<PluginIdentity, LoadError>,
}

/// What a loaded plugin is.
#[derive(Debug, Clone)]
pub struct PluginIdentity {
    pub kind: Kind,
    pub version: String,
    pub summary: String,
    /// SHA-256 of its bytes, in lower-case hexadecimal.
    pub digest: String,
}

impl Plugins {
    /// Remembers what to load; nothing is read or compiled yet.
    pub fn new(config: Arc<Config>, secrets: Arc<Secrets>, cache_directory: PathBuf) -> Self {
        Self {
            config,
            secrets,
            cache_directory,
            loader: OnceCell::new(),
            slots: Mutex::new(HashMap::new()),
        }
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub async fn strategy(&self) -> Result<Arc<dyn Strategy>, LoadError> {
        Ok(self.of_kind(&self.config.strategy, Kind::Strategy).await?)
    }

    pub async fn extractor(&self) -> Result<Arc<dyn Extractor>, LoadError> {
        Ok(self.of_kind(&self.config.extractor, Kind::Extractor).await?)
    }

    pub async fn estimator(&self) -> Result<Option<Arc<dyn Estimator>>, LoadError> {
        match &self.config.estimator {
            Some(name) => Ok(Some(self.of_kind(name, Kind::Estimator).await?)),
            None => Ok(None),
        }
    }

    pub async fn agent(&self, name: &str) -> Result<Arc<dyn Agent>, LoadError> {
        Ok(self.of_kind(name, Kind::Agent).await?)
    }

    pub async fn search(&self, name: &str) -> Result<Arc<dyn Search>, LoadError> {
        Ok(self.of_kind(name, Kind::Search).await?)
    }

    pub async fn pages(&self, name: &str) -> Result<Arc<dyn Pages>, LoadError> {
        Ok(self.of_kind(name, Kind::Pages).await?)
    }

    pub async fn research(&self, name: &str) -> Result<Arc<dyn Research>, LoadError> {
        Ok(self.of_kind(name, Kind::Research).await?)
    }

    /// What a plugin was given to use and must not tell, for whatever is made of what
    /// it said.
    pub async fn mask(&self, name: &str) -> Result<Mask, LoadError> {
        Ok(self.loaded(name).await?.plugin.mask().clone())
    }

    /// Whether every secret that the plugin is granted is set in this process.
    pub fn has_secrets(&self, name: &str) -> bool {
        self.config.plugins.get(name).is_some_and(|plugin| {
            plugin.grants.secrets.iter().all(|secret| self.secrets.has(&secret.name))
        })
    }

    /// Loads the plugins that are in use, so that the first question finds them
    /// ready. One that cannot be loaded is told of in the log, and again when it is
    /// needed.
    pub async fn warm(&self) {
        for name in in_use(&self.config) {
            if let Err(error) = self.loaded(name).await {
                tracing::warn!("{error}");
            }
        }
    }

    /// Loads every plugin and tells how it went, by name.
    pub async fn statuses(&self) -> Vec<PluginStatus> {
        let mut statuses = Vec::new();
        for (name, config) in &self.config.plugins {
            let loaded = self.loaded(name).await.map(|loaded| PluginIdentity {
                kind: loaded.kind,
                version: loaded.description.version.clone(),
                summary: loaded.description.summary.clone(),
                digest: loaded.digest.clone(),
            });
            statuses.push(PluginStatus { config: config.clone(), loaded });
        }
        statuses
    }

    async fn of_kind(&self, name: &str, kind: Kind) -> Result<Arc<v0_1::Plugin>, LoadError> {
        let loaded = self.loaded(name).await?;
        if loaded.kind != kind {
            return Err(LoadError::new(
                name,
                format!("it is {}, and is used as {}", loaded.kind.described(), kind.described()),
            )
            .with_hint("name a plugin of the right kind in [use] or [tools] of plugins.toml"));
        }
        Ok(loaded.plugin.clone())
    }

    async fn loaded(&self, name: &str) -> Result<Arc<Loaded>, LoadError> {
        let slot: Slot = {
            let mut slots = self.slots.lock().expect("no holder panics");
            slots.entry(name.to_owned()).or_default().clone()
        };
        // A failure is not remembered: what was missing may be there the next time.
        slot.get_or_try_init(async || {
            let config = self.config.plugins.get(name).cloned().ok_or_else(|| {
                LoadError::new(name, "plugins.toml does not define it")
                    .with_hint(format!("add a [plugins.{name}] section with its `source`"))
            })?;
            let loader = self.loader().await.map_err(|error| LoadError::new(name, error))?;
            loader.load(config).await.map(Arc::new)
        })
        .await
        .cloned()
    }

    async fn loader(&self) -> Result<Arc<Loader>, String> {
        self.loader
            .get_or_try_init(async || {
                let compiled = CompiledCode::new(self.cache_directory.join("compiled"));
                let secrets = self.secrets.clone();
                let index_directory = self.cache_directory.join("documents");
                tokio::task::spawn_blocking(move || {
                    let runtime = Arc::new(Runtime::new(compiled)?);
                    let linker = v0_1::linker(runtime.engine())?;
                    Ok(Arc::new(Loader { runtime, linker, secrets, index_directory }))
                })
                .await
                .map_err(|error| error.to_string())?
                .map_err(|error: wasmtime::Error| {
                    format!("the plugin runtime does not start: {}", error.root_cause())
                })
            })
            .await
            .cloned()
    }
}

/// The plugins that [use] and [tools] name, each once.
fn in_use(config: &Config) -> BTreeSet<&str> {
    let decide = [Some(&config.strategy), Some(&config.extractor), config.estimator.as_ref()];
    let serve = config
        .tools
        .values()
        .flat_map(|tool| [&tool.agent, &tool.search, &tool.pages, &tool.research])
        .filter_map(Option::as_ref);
    decide.into_iter().flatten().chain(serve).map(String::as_str).collect()
}
