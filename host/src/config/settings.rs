//! Showing what is wrong with a plugin's settings at the line where they stand.

use super::error::{ConfigError, Problem};
use super::resolved::{Origin, PluginConfig};

/// What a schema, or the plugin itself, finds wrong with one setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingProblem {
    /// A JSON Pointer into the settings; empty for the whole.
    pub path: String,
    /// Lower case, no full stop.
    pub message: String,
    pub hint: Option<String>,
}

/// The error that these problems make, in the order in which they stand.
pub fn settings_error(plugin: &PluginConfig, problems: &[SettingProblem]) -> ConfigError {
    let mut problems: Vec<Problem> = problems
        .iter()
        .map(|problem| Problem {
            origin: origin(plugin, &problem.path),
            message: format!("`{}`: {}", dotted(plugin, &problem.path), problem.message),
            hint: problem.hint.clone(),
        })
        .collect();
    problems.sort_by_key(|problem| {
        problem.origin.as_ref().map(|origin| (origin.place.clone(), origin.line, origin.column))
    });
    ConfigError { problems }
}

/// Where it stands, or where the nearest thing around it does.
fn origin(plugin: &PluginConfig, path: &str) -> Option<Origin> {
    let mut path = path;
    loop {
        if let Some(origin) = plugin.origins.get(path) {
            return Some(origin.clone());
        }
        path = &path[..path.rfind('/')?];
    }
}

/// `/thresholds/gain` as `plugins.NAME.settings.thresholds.gain`
fn dotted(plugin: &PluginConfig, path: &str) -> String {
    let mut text = format!("plugins.{}.settings", plugin.name);
    for segment in path.split('/').skip(1) {
        text.push('.');
        text.push_str(&unescape(segment));
    }
    text
}

/// A key as a segment of a JSON Pointer.
pub fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn unescape(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}
