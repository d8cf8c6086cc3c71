//! From a line in plugins.toml to a plugin that can be called, in this order:
//! bytes, digest, compilation, exports and version, imports against kind and
//! grants, one trial instantiation, settings. Each step refuses with its own
//! message.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wasmtime::component::Linker;

use super::contract::Description;
use super::runtime::Runtime;
use super::{CallError, Kind, LoadError, builtin, grants, limits, v0_1};
use crate::config::{
    ConfigError, PluginConfig, PluginSource, SettingProblem, check_settings, settings_error,
};
use crate::digest;
use crate::gates::Gates;
use crate::gates::documents::DocumentsGate;
use crate::gates::http::HttpGate;
use crate::gates::process::{ProcessGate, ProcessLimits};
use crate::gates::secrets::Secrets;

/// A plugin that passed every step.
pub struct Loaded {
    pub kind: Kind,
    pub digest: String,
    pub description: Description,
    pub plugin: Arc<v0_1::Plugin>,
}

/// What loading needs from the rest of the host.
pub struct Loader {
    pub runtime: Arc<Runtime>,
    pub linker: Linker<v0_1::State>,
    pub secrets: Arc<Secrets>,
    /// Where the document index is kept.
    pub index_directory: PathBuf,
}

impl Loader {
    pub async fn load(self: Arc<Self>, config: PluginConfig) -> Result<Loaded, LoadError> {
        let name = config.name.clone();
        let (kind, digest, plugin) = {
            let (loader, config) = (self.clone(), config.clone());
            // Reading and compiling take their time; async workers are not for that.
            tokio::task::spawn_blocking(move || loader.prepare(&config))
                .await
                .map_err(|error| LoadError::new(&name, error.to_string()))??
        };
        let trial = |error: CallError| match error {
            CallError::Load(error) => error,
            other => LoadError::new(&name, format!("its trial call failed: {other}")),
        };
        let description = plugin.describe().await.map_err(trial)?;
        if description.kind != kind.as_str() {
            return Err(LoadError::new(
                &name,
                format!("it calls itself {} and exports {kind}", description.kind),
            ));
        }
        let wrong = |error: ConfigError| {
            LoadError::new(&name, format!("its settings are wrong\n\n{error}"))
        };
        check_settings(&config, &description.settings_schema).map_err(wrong)?;
        let problems: Vec<SettingProblem> = plugin
            .validate()
            .await
            .map_err(trial)?
            .into_iter()
            .map(|problem| SettingProblem {
                path: problem.path,
                message: problem.message,
                hint: problem.hint,
            })
            .collect();
        if !problems.is_empty() {
            return Err(wrong(settings_error(&config, &problems)));
        }
        Ok(Loaded { kind, digest, description, plugin: Arc::new(plugin) })
    }

    /// All that comes before the first call.
    fn prepare(&self, config: &PluginConfig) -> Result<(Kind, String, v0_1::Plugin), LoadError> {
        let name = &config.name;
        let bytes = read(name, &config.source)?;
        let digest = digest::hexadecimal(&bytes);
        check_digest(config, &digest)?;
        check_component(name, &bytes)?;
        let component = self.runtime.compile(&digest, &bytes).map_err(|error| {
            LoadError::new(name, format!("it is not a valid component: {}", error.root_cause()))
        })?;

        let engine = self.runtime.engine();
        let shape = component.component_type();
        let kind = grants::exported_kind(name, shape.exports(engine).map(|(export, _)| export))?;
        grants::check_imports(
            name,
            kind,
            &config.grants,
            shape.imports(engine).map(|(import, _)| import),
        )?;

        let gates = Gates::new(
            HttpGate::new(&config.grants, self.secrets.clone()),
            ProcessGate::with_limits(
                &config.grants,
                // A program may run as long as the call that started it.
                ProcessLimits { timeout: config.limits.timeout, ..ProcessLimits::default() },
            ),
            DocumentsGate::new(
                &config.grants.directories,
                self.index_directory.clone(),
                name,
                &digest,
            ),
        );
        let settings = serde_json::Value::Object(config.settings.clone()).to_string();
        let plugin = v0_1::Plugin::new(
            name,
            kind,
            &component,
            &self.linker,
            settings,
            config.limits.clone(),
            Arc::new(gates),
            self.runtime.clone(),
        )
        .map_err(|error| {
            LoadError::new(name, format!("it does not fit the contract: {}", error.root_cause()))
                .with_hint("build it again with the wit/ of this version")
        })?;
        Ok((kind, digest, plugin))
    }
}

fn read(name: &str, source: &PluginSource) -> Result<Cow<'static, [u8]>, LoadError> {
    match source {
        PluginSource::Builtin(builtin) => {
            builtin::component(builtin).map(Cow::Borrowed).ok_or_else(|| {
                LoadError::new(name, format!("there is no built-in plugin {builtin}"))
                    .with_hint(format!("built in are: {}", builtin::names().join(", ")))
            })
        }
        PluginSource::Path(path) => read_file(name, path).map(Cow::Owned),
    }
}

fn read_file(name: &str, path: &Path) -> Result<Vec<u8>, LoadError> {
    let failed = |error: std::io::Error| {
        LoadError::new(name, format!("cannot read {}: {error}", path.display()))
    };
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(limits::COMPONENT_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limits::COMPONENT_BYTES {
        return Err(LoadError::new(
            name,
            format!(
                "{} is larger than {} MiB, the most a component may be",
                path.display(),
                limits::COMPONENT_BYTES >> 20
            ),
        ));
    }
    Ok(bytes)
}

fn check_digest(config: &PluginConfig, digest: &str) -> Result<(), LoadError> {
    match &config.sha256 {
        Some(expected) if expected != digest => Err(LoadError::new(
            &config.name,
            format!(
                "its digest is wrong: plugins.toml says sha256 {expected}, the file has {digest}"
            ),
        )
        .with_hint(format!(
            "if you changed the plugin yourself, write the new digest to [plugins.{}]",
            config.name
        ))),
        _ => Ok(()),
    }
}

/// Tells what was given instead of a component, before the compiler puts it in
/// its own words.
fn check_component(name: &str, bytes: &[u8]) -> Result<(), LoadError> {
    match bytes {
        [b'\0', b'a', b's', b'm', 0x0d, 0, 1, 0, ..] => Ok(()),
        [b'\0', b'a', b's', b'm', 1, 0, 0, 0, ..] => {
            Err(LoadError::new(name, "it is a core WebAssembly module, not a component")
                .with_hint("build it for the target wasm32-wasip2, which makes components"))
        }
        _ => Err(LoadError::new(name, "it is not a WebAssembly component")
            .with_hint("`source` names a .wasm file built for wasm32-wasip2, or builtin:NAME")),
    }
}
