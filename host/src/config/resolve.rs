//! From what all files together say to what it means: names must exist, grants
//! must agree with each other, and what is not given has its default.

use std::collections::BTreeMap;

use super::budget::BUDGET;
use super::layer::{Layers, Located, Mistakes};
use super::limits::LIMITS;
use super::raw::{RawBackends, RawConfig, RawGrants, RawPlugin, Setting, items};
use super::research::RESEARCH;
use super::resolved::{
    Config, Grants, NotifyConfig, Origin, PluginConfig, SecretGrant, ToolBackends,
};
use super::suggest::{nearest, quoted};
use super::{limits, routes, settings};

/// The header that a secret is sent in where none is named.
pub const HEADER: &str = "authorization";

/// What stands before a secret where nothing is named.
pub fn default_prefix(header: &str) -> &'static str {
    if header == HEADER { "Bearer " } else { "" }
}

/// None if something is missing; what, goes to `mistakes`.
pub fn resolve(raw: &RawConfig, layers: &Layers, mistakes: &mut Mistakes) -> Option<Config> {
    let mut names = Names { raw, mistakes };
    let strategy = names.defined("use.strategy", raw.choice.strategy.as_ref());
    let extractor = names.defined("use.extractor", raw.choice.extractor.as_ref());
    let estimator = names.defined("use.estimator", raw.choice.estimator.as_ref());
    for (tool, backends) in &raw.tools {
        names.all_defined(&format!("tools.{tool}"), backends);
    }
    names.all_defined("documents", &raw.documents);
    let tools = routes::routes(raw)
        .into_iter()
        .map(|(tool, route)| {
            let raw = route.backends;
            let backends = ToolBackends {
                agent: text(raw.agent.as_ref()),
                search: text(raw.search.as_ref()),
                pages: text(raw.pages.as_ref()),
                research: text(raw.research.as_ref()),
            };
            (tool.to_owned(), backends)
        })
        .collect();
    let research = limits::resolve(RESEARCH, &raw.research);
    let budget = limits::resolve(BUDGET, &raw.budget);
    let notify = NotifyConfig {
        desktop: raw
            .notify
            .desktop
            .as_ref()
            .map_or(NotifyConfig::default().desktop, |located| located.value),
        command: items(raw.notify.command.as_ref()).iter().map(|part| part.value.clone()).collect(),
    };
    let plugins = raw
        .plugins
        .iter()
        .filter_map(|(name, plugin)| {
            Some((name.clone(), resolve_plugin(name, plugin, layers, mistakes)?))
        })
        .collect();
    Some(Config {
        strategy: strategy?,
        extractor: extractor?,
        estimator,
        tools,
        research,
        budget,
        notify,
        plugins,
    })
}

struct Names<'a> {
    raw: &'a RawConfig,
    mistakes: &'a mut Mistakes,
}

impl Names<'_> {
    /// The plugin of that name, which must stand in [plugins].
    fn defined(&mut self, path: &str, name: Option<&Located<String>>) -> Option<String> {
        let name = name?;
        if !self.raw.plugins.contains_key(&name.value) {
            let known = self.raw.plugins.keys().map(String::as_str);
            let hint = match nearest(&name.value, known.clone()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "the plugins are {}; a new one needs a table [plugins.{}]",
                    quoted(known),
                    name.value
                ),
            };
            self.mistakes.add(
                name.place,
                format!("`{path}` names the plugin `{}`, which is not defined", name.value),
                hint,
            );
        }
        Some(name.value.clone())
    }

    fn all_defined(&mut self, table: &str, backends: &RawBackends) {
        for (key, name) in backends.entries() {
            self.defined(&format!("{table}.{key}"), name);
        }
    }
}

fn resolve_plugin(
    name: &str,
    raw: &RawPlugin,
    layers: &Layers,
    mistakes: &mut Mistakes,
) -> Option<PluginConfig> {
    if raw.source.is_none() && !raw.broken {
        mistakes.add(
            raw.place,
            format!("the plugin `{name}` has no source"),
            "add `source = \"builtin:NAME\"` or `source = \"path/of/component.wasm\"`",
        );
    }
    let grants = resolve_grants(name, raw, mistakes);
    let limits = limits::resolve(LIMITS, &raw.limits);
    let mut origins = BTreeMap::new();
    let mut settings = serde_json::Map::new();
    if let Some(located) = &raw.settings {
        collect_origins(String::new(), located, layers, &mut origins);
        if let serde_json::Value::Object(map) = located.value.to_json() {
            settings = map;
        }
    } else {
        origins.insert(String::new(), layers.origin(raw.place));
    }
    Some(PluginConfig {
        name: name.to_owned(),
        source: raw.source.as_ref()?.value.clone(),
        sha256: raw.sha256.as_ref().map(|located| located.value.clone()),
        settings,
        grants,
        limits,
        origins,
    })
}

fn resolve_grants(plugin: &str, raw: &RawPlugin, mistakes: &mut Mistakes) -> Grants {
    let RawGrants { hosts, commands, environment, directories, secrets, imports } = &raw.grants;
    let hosts = values(hosts.as_ref());
    let secrets = secrets
        .iter()
        .filter_map(|(name, secret)| {
            let Some(host) = &secret.host else {
                if !raw.broken {
                    mistakes.add(
                        secret.place,
                        format!("the secret `{name}` of `{plugin}` has no host, and is sent to one only"),
                        "add `host = \"api.example.com\"`",
                    );
                }
                return None;
            };
            if !raw.broken && !hosts.iter().any(|granted| granted.covers(&host.value)) {
                let host_name = &host.value;
                mistakes.add(
                    host.place,
                    format!("`{plugin}` may send the secret `{name}` to {host_name}, and may not reach that host"),
                    format!("add \"{host_name}\" to `hosts` in [plugins.{plugin}.grants]"),
                );
            }
            let header = text(secret.header.as_ref()).unwrap_or_else(|| HEADER.to_owned());
            let prefix =
                text(secret.prefix.as_ref()).unwrap_or_else(|| default_prefix(&header).to_owned());
            Some(SecretGrant { name: name.clone(), host: host.value.clone(), header, prefix })
        })
        .collect();
    Grants {
        hosts,
        commands: values(commands.as_ref()),
        environment: values(environment.as_ref()),
        directories: values(directories.as_ref()),
        secrets,
        imports: values(imports.as_ref()),
    }
}

fn text(value: Option<&Located<String>>) -> Option<String> {
    value.map(|located| located.value.clone())
}

/// Each once, in the order given.
fn values<T: Clone + PartialEq>(list: Option<&Located<Vec<Located<T>>>>) -> Vec<T> {
    let mut values: Vec<T> = Vec::new();
    for located in items(list) {
        if !values.contains(&located.value) {
            values.push(located.value.clone());
        }
    }
    values
}

fn collect_origins(
    pointer: String,
    located: &Located<Setting>,
    layers: &Layers,
    origins: &mut BTreeMap<String, Origin>,
) {
    match &located.value {
        Setting::Table(table) => {
            for (key, below) in table {
                let pointer = format!("{pointer}/{}", settings::escape(key));
                collect_origins(pointer, below, layers, origins);
            }
        }
        Setting::Array(array) => {
            for (index, below) in array.iter().enumerate() {
                collect_origins(format!("{pointer}/{index}"), below, layers, origins);
            }
        }
        Setting::Leaf(_) => {}
    }
    origins.insert(pointer, layers.origin(located.place));
}
