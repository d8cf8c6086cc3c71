//! What came out of all layers, value by value, and where each came from: the
//! text and the JSON of `bathysphere config`. Secrets are shown by name; their
//! values are not known here.

use std::fmt::Write;

use serde_json::{Value as Json, json};

use super::budget::BUDGET;
use super::error::printable;
use super::layer::{BUILT_IN, Located, Place};
use super::limits::{LIMITS, Limit};
use super::load::LoadedConfig;
use super::raw::{Numbers, RawBackends, RawPlugin, Setting};
use super::research::RESEARCH;
use super::resolve::{HEADER, default_prefix};
use super::resolved::{Origin, PluginSource};
use super::routes::routes;

#[derive(Debug, Clone, PartialEq)]
pub struct ExplainedValue {
    /// Such as `plugins.search-documents.limits.memory_mb`.
    pub key: String,
    /// As TOML.
    pub value: String,
    pub json: Json,
    pub origin: Origin,
    /// The table through which it came here, where that is another one: `documents`
    /// for the backends of a tool. The origin is then where the documents are named.
    pub via: Option<&'static str>,
    /// How much of the key is the table's name.
    section: usize,
}

/// Every value of the merged configuration: `use`, `tools` as they are served,
/// `documents`, `research`, `budget`, `notify`, then the plugins by name. A limit that no file sets is
/// shown with its default.
pub fn explain(loaded: &LoadedConfig) -> Vec<ExplainedValue> {
    let mut explainer = Explainer { loaded, values: Vec::new() };
    let choice = &loaded.raw.choice;
    explainer.string(&["use"], "strategy", choice.strategy.as_ref());
    explainer.string(&["use"], "extractor", choice.extractor.as_ref());
    explainer.string(&["use"], "estimator", choice.estimator.as_ref());
    for (name, route) in routes(&loaded.raw) {
        explainer.backends(&["tools", name], route.backends, route.documents);
    }
    explainer.backends(&["documents"], &loaded.raw.documents, None);
    explainer.numbers(&["research"], RESEARCH, &loaded.raw.research);
    explainer.numbers(&["budget"], BUDGET, &loaded.raw.budget);
    let notify = &loaded.raw.notify;
    if let Some(desktop) = &notify.desktop {
        explainer.add(&["notify"], "desktop", Json::from(desktop.value), desktop.place);
    }
    explainer.list(&["notify"], "command", notify.command.as_ref(), Clone::clone);
    for (name, plugin) in &loaded.raw.plugins {
        explainer.plugin(name, plugin);
    }
    explainer.values
}

/// Valid TOML that means the same, with a comment on each value.
pub fn explain_text(loaded: &LoadedConfig) -> String {
    let values = explain(loaded);
    // Writing to a string cannot fail, here and below.
    let mut text = String::from("# Layers, the strongest first:\n");
    for place in loaded.layers.places() {
        let _ = writeln!(text, "#   {}", comment(place));
    }
    for section in values.chunk_by(|left, right| left.section_name() == right.section_name()) {
        let _ = writeln!(text, "\n[{}]", section[0].section_name());
        let lines: Vec<String> =
            section.iter().map(|value| format!("{} = {}", value.name(), value.value)).collect();
        let width =
            lines.iter().map(|line| line.chars().count()).filter(|width| *width <= 60).max();
        for (line, value) in lines.iter().zip(section) {
            let from = if value.origin.line.is_some() { "from " } else { "" };
            let place = comment(&value.origin.to_string());
            let via = value.via.map(|table| format!(", via [{table}]")).unwrap_or_default();
            let width = width.unwrap_or(0);
            let _ = writeln!(text, "{line:<width$}  # {from}{place}{via}");
        }
    }
    text
}

/// The same for programs.
pub fn explain_json(loaded: &LoadedConfig) -> Json {
    let values: Vec<Json> = explain(loaded)
        .into_iter()
        .map(|value| {
            json!({
                "key": value.key,
                "value": value.json,
                "origin": {
                    "place": value.origin.place,
                    "line": value.origin.line,
                    "column": value.origin.column,
                    "via": value.via,
                },
            })
        })
        .collect();
    let files: Vec<String> = loaded.files.iter().map(|file| file.display().to_string()).collect();
    json!({ "files": files, "values": values })
}

impl ExplainedValue {
    fn section_name(&self) -> &str {
        &self.key[..self.section]
    }

    fn name(&self) -> &str {
        &self.key[self.section + 1..]
    }
}

struct Explainer<'a> {
    loaded: &'a LoadedConfig,
    values: Vec<ExplainedValue>,
}

impl Explainer<'_> {
    fn add(&mut self, table: &[&str], key: &str, json: Json, place: Place) {
        let origin = self.loaded.layers.origin(place);
        self.add_from(table, key, json, origin);
    }

    fn add_from(&mut self, table: &[&str], key: &str, json: Json, origin: Origin) {
        let section: Vec<String> = table.iter().map(|key| toml_key(key)).collect();
        let section = section.join(".");
        self.values.push(ExplainedValue {
            key: format!("{section}.{}", toml_key(key)),
            value: toml_value(&json),
            json,
            origin,
            via: None,
            section: section.len(),
        });
    }

    fn string(&mut self, table: &[&str], key: &str, value: Option<&Located<String>>) {
        if let Some(located) = value {
            self.add(table, key, Json::from(located.value.as_str()), located.place);
        }
    }

    /// `documents` is where the documents are named through which they serve.
    fn backends(&mut self, table: &[&str], backends: &RawBackends, documents: Option<Place>) {
        let first = self.values.len();
        for (key, name) in backends.entries() {
            self.string(table, key, name);
        }
        if let Some(place) = documents {
            for value in &mut self.values[first..] {
                value.origin = self.loaded.layers.origin(place);
                value.via = Some("documents");
            }
        }
    }

    /// A number that no file gives is shown with its default, if it has one.
    fn numbers<T: Default>(
        &mut self,
        table: &[&str],
        limits: &'static [Limit<T>],
        numbers: &Numbers,
    ) {
        let defaults = T::default();
        for limit in limits {
            let (value, origin) = match numbers.get(limit.name) {
                Some(number) => (number.value, self.loaded.layers.origin(number.place)),
                None => ((limit.get)(&defaults), Origin::of(BUILT_IN)),
            };
            if value.is_finite() {
                self.add_from(table, limit.name, number(value), origin);
            }
        }
    }

    fn list<T>(
        &mut self,
        table: &[&str],
        key: &str,
        list: Option<&Located<Vec<Located<T>>>>,
        shown: impl Fn(&T) -> String,
    ) {
        if let Some(list) = list {
            let json = list.value.iter().map(|located| Json::from(shown(&located.value))).collect();
            self.add(table, key, json, list.place);
        }
    }

    fn plugin(&mut self, name: &str, plugin: &RawPlugin) {
        let table = ["plugins", name];
        if let Some(source) = &plugin.source {
            let text = match &source.value {
                PluginSource::Builtin(name) => format!("builtin:{name}"),
                PluginSource::Path(path) => path.display().to_string(),
            };
            self.add(&table, "source", Json::from(text), source.place);
        }
        self.string(&table, "sha256", plugin.sha256.as_ref());
        if let Some(settings) = &plugin.settings {
            self.settings(&["plugins", name, "settings"], settings);
        }
        let (grants, table) = (&plugin.grants, ["plugins", name, "grants"]);
        self.list(&table, "hosts", grants.hosts.as_ref(), ToString::to_string);
        self.list(&table, "commands", grants.commands.as_ref(), Clone::clone);
        self.list(&table, "environment", grants.environment.as_ref(), Clone::clone);
        self.list(&table, "directories", grants.directories.as_ref(), |directory| {
            directory.path.display().to_string()
        });
        self.list(&table, "imports", grants.imports.as_ref(), Clone::clone);
        for (secret_name, secret) in &grants.secrets {
            let table = ["plugins", name, "grants", "secrets", secret_name];
            if let Some(host) = &secret.host {
                self.add(&table, "host", Json::from(host.value.to_string()), host.place);
            }
            let header = secret.header.as_ref().map_or(HEADER, |header| &header.value);
            for (key, value, default) in [
                ("header", secret.header.as_ref(), HEADER),
                ("prefix", secret.prefix.as_ref(), default_prefix(header)),
            ] {
                match value {
                    Some(_) => self.string(&table, key, value),
                    None => self.add_from(&table, key, Json::from(default), Origin::of(BUILT_IN)),
                }
            }
        }
        self.numbers(&["plugins", name, "limits"], LIMITS, &plugin.limits);
    }

    /// Leaves before tables, as TOML wants them.
    fn settings(&mut self, table: &[&str], settings: &Located<Setting>) {
        let Setting::Table(entries) = &settings.value else {
            return;
        };
        for (key, setting) in entries {
            if !matches!(setting.value, Setting::Table(_)) {
                self.add(table, key, setting.value.to_json(), setting.place);
            }
        }
        for (key, setting) in entries {
            self.settings(&[table, &[key]].concat(), setting);
        }
    }
}

/// A limit's number, whole where it is whole.
fn number(value: f64) -> Json {
    if value.fract() == 0.0 { Json::from(value as u64) } else { Json::from(value) }
}

/// On one line, whatever a path is called.
fn comment(text: &str) -> String {
    printable(text).replace('\n', "\u{fffd}")
}

fn toml_key(key: &str) -> String {
    let bare = !key.is_empty()
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if bare { key.to_owned() } else { toml_string(key) }
}

fn toml_value(json: &Json) -> String {
    match json {
        Json::String(text) => toml_string(text),
        Json::Array(array) => {
            format!("[{}]", array.iter().map(toml_value).collect::<Vec<_>>().join(", "))
        }
        Json::Object(map) if map.is_empty() => "{}".to_owned(),
        Json::Object(map) => {
            let entries: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{} = {}", toml_key(key), toml_value(value)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
        // Settings come from TOML, which has no null; the rest is written alike.
        other => other.to_string(),
    }
}

fn toml_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            other
                if other.is_control()
                    || printable(other.encode_utf8(&mut [0; 4])) != other.to_string() =>
            {
                let _ = write!(quoted, "\\u{:04X}", other as u32);
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
