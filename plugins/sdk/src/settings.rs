//! Reading the settings that the host passes to every call.

use serde::de::DeserializeOwned;

use crate::meta::Problem;
use crate::types::{Error, ErrorKind};

/// Reads settings into a type whose fields all have defaults
/// (`#[serde(default)]`).
pub fn parse_settings<T: DeserializeOwned>(settings: &str) -> Result<T, Error> {
    let text = if settings.trim().is_empty() { "{}" } else { settings };
    serde_json::from_str(text).map_err(|error| Error {
        kind: ErrorKind::InvalidInput,
        message: format!("the settings do not fit: {error}"),
        hint: None,
    })
}

/// The same for `validate`, which tells what is wrong as a problem of the whole.
pub fn checked_settings<T: DeserializeOwned>(
    settings: &str,
    plugin: &str,
) -> Result<T, Vec<Problem>> {
    parse_settings(settings).map_err(|error| {
        vec![Problem {
            path: String::new(),
            message: error.message,
            hint: Some(format!("see the settings schema of {plugin}")),
        }]
    })
}

/// What the defaults of a settings schema come to, for a test that the code has the
/// same ones. An error where a property lacks its description, or does not fit.
pub fn schema_defaults<T: DeserializeOwned>(schema: &str) -> Result<T, String> {
    let schema: serde_json::Value =
        serde_json::from_str(schema).map_err(|error| error.to_string())?;
    let properties = schema["properties"].as_object().ok_or("the schema has no properties")?;
    let mut defaults = serde_json::Map::new();
    for (name, property) in properties {
        if !property["description"].is_string() {
            return Err(format!("{name} has no description"));
        }
        defaults.insert(name.clone(), property["default"].clone());
    }
    serde_json::from_value(defaults.into()).map_err(|error| error.to_string())
}
