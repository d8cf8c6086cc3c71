//! Reading the settings that the host passes to every call.

use serde::de::DeserializeOwned;

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
