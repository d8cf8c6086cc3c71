//! What variables set, over every file: one table that says which variable means
//! which key. A value that will not do is warned about and left aside, and never
//! an error: it may have been set for another program, or by somebody else.

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::endpoint;
use super::error::printable;
use super::layer::{Layers, Located};
use super::limits;
use super::raw::{RawConfig, RawPlugin, Setting};
use super::research::{MAX_ITERATIONS, RESEARCH};
use super::resolved::PluginSource;

/// What a variable sets.
enum Key {
    /// A number of `[research]`.
    Research(&'static str),
    /// A model's name, among the settings of a built-in plugin.
    Model { plugin: &'static str, setting: &'static str },
    /// Where the service of a built-in plugin is: its `base_url`.
    Endpoint { plugin: &'static str },
}

const GEMINI_CLI: &str = "agent-gemini-cli";
const RESEARCH_GEMINI: &str = "research-gemini";

const VARIABLES: &[(&str, Key)] = &[
    ("DEEP_SEARCH_MAX_ITERATIONS", Key::Research(MAX_ITERATIONS)),
    ("GEMINI_MODEL", Key::Model { plugin: GEMINI_CLI, setting: "model" }),
    ("GEMINI_CORRECTION_MODEL", Key::Model { plugin: GEMINI_CLI, setting: "correction_model" }),
    // The name that Google's own tools use; the Gemini CLI is handed it as it is.
    ("GOOGLE_GEMINI_BASE_URL", Key::Endpoint { plugin: RESEARCH_GEMINI }),
];

/// Lays the variables over all files, each as a layer of its own. Returns what
/// should be said of those that will not do.
pub fn overlay(
    config: &mut RawConfig,
    layers: &mut Layers,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Vec<String> {
    let mut warnings = Vec::new();
    for (name, key) in VARIABLES {
        let Some(value) = environment(name) else { continue };
        let text = value.to_str().map(str::trim);
        // Clients that pass variables on pass the empty ones, too.
        if text == Some("") {
            continue;
        }
        match key {
            Key::Research(limit) => {
                let Some(number) = number(name, limit, text, config, &mut warnings) else {
                    continue;
                };
                let place = layers.push_name(name);
                config.research.insert(limit, Located { value: number, place });
            }
            Key::Model { plugin, setting } => {
                let Some(plugin) = builtin(config, plugin) else { continue };
                match model(text) {
                    Ok(model) => {
                        let place = layers.push_name(name);
                        let value = Setting::Leaf(model.into());
                        set(plugin, setting, Located { value, place });
                    }
                    Err(reason) => warnings.push(format!(
                        "{name} is ignored, because it {reason}; write the name of a model, \
                         such as gemini-2.5-flash"
                    )),
                }
            }
            Key::Endpoint { plugin: owner } => {
                let Some(plugin) = builtin(config, owner) else { continue };
                let checked = text.ok_or("is not UTF-8 text").and_then(|text| {
                    endpoint::parse(text)?;
                    Ok(text)
                });
                match checked {
                    Ok(url) => {
                        let place = layers.push_name(name);
                        let value = Setting::Leaf(url.into());
                        set(plugin, endpoint::BASE_URL, Located { value, place });
                    }
                    Err(reason) => warnings.push(format!(
                        "{name} is ignored by {owner}, because it {reason}; write a URL such as \
                         https://generativelanguage.googleapis.com"
                    )),
                }
            }
        }
    }
    warnings
}

/// A number of `[research]`. One that is too small is taken for the smallest; what
/// is no number at all, or would cost more than anybody means, is not taken.
fn number(
    variable: &str,
    name: &str,
    text: Option<&str>,
    config: &RawConfig,
    warnings: &mut Vec<String>,
) -> Option<f64> {
    let limit = limits::find(RESEARCH, name)?;
    let number = text.and_then(|text| text.parse::<u64>().ok()).map(|number| number as f64);
    match number {
        Some(number) if number < limit.minimum => {
            let least = limit.minimum;
            warnings
                .push(format!("{variable} is {number}, and the least is {least}: {least} is used"));
            Some(least)
        }
        Some(number) if number <= limit.maximum => Some(number),
        _ => {
            let shown = text.map_or_else(|| "not UTF-8 text".to_owned(), shown);
            let range = limit.range();
            let stays = (limit.get)(&limits::resolve(RESEARCH, &config.research));
            warnings.push(format!(
                "{variable} is {shown}, and must be {range}: it is ignored, and \
                 `research.{name}` stays {stays}"
            ));
            None
        }
    }
}

/// The start of a value, on one line, in quotes.
fn shown(text: &str) -> String {
    const LENGTH: usize = 40;
    let mut start: String = printable(text).replace('\n', "\u{fffd}");
    if let Some((end, _)) = start.char_indices().nth(LENGTH) {
        start.truncate(end);
        start.push('…');
    }
    format!("\"{start}\"")
}

/// The plugin of that name, unless the user put another component in its place,
/// to which the setting would mean nothing.
fn builtin<'a>(config: &'a mut RawConfig, name: &str) -> Option<&'a mut RawPlugin> {
    let plugin = config.plugins.get_mut(name)?;
    let source = PluginSource::Builtin(name.to_owned());
    plugin.source.as_ref().is_some_and(|located| located.value == source).then_some(plugin)
}

/// It becomes an argument of a command, and is not checked further: which models
/// there are changes by the month. Or what is wrong with it, without repeating it,
/// because what was pasted into the wrong variable may be a secret.
fn model(text: Option<&str>) -> Result<&str, &'static str> {
    const BYTES: usize = 200;
    let text = text.ok_or("is not UTF-8 text")?;
    if text.starts_with('-') {
        Err("starts with `-`, like a flag")
    } else if text.len() > BYTES {
        Err("is longer than 200 bytes")
    } else if text.contains('\n') || printable(text) != text {
        Err("holds characters that cannot be printed")
    } else {
        Ok(text)
    }
}

/// The table keeps its place: the rest of it stands where it stood.
fn set(plugin: &mut RawPlugin, key: &str, value: Located<Setting>) {
    let place = plugin.place;
    let empty = || Located { value: Setting::Table(BTreeMap::new()), place };
    let settings = plugin.settings.get_or_insert_with(empty);
    if let Setting::Table(table) = &mut settings.value {
        table.insert(key.to_owned(), value);
    }
}
