//! What the user may set, with the defaults that the schema also tells.

use bathysphere_sdk::meta::Problem;
use serde::Deserialize;

/// The plugin's table of plugins.toml.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub program: String,
    pub model: String,
    pub correction_model: String,
    pub auth: String,
    pub timeout_seconds: u32,
    pub max_attempts: u32,
    pub max_turns: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            program: "gemini".into(),
            model: String::new(),
            correction_model: String::new(),
            auth: "gemini-api-key".into(),
            timeout_seconds: 600,
            max_attempts: 1,
            max_turns: 100,
        }
    }
}

/// The settings as a JSON Schema; the defaults are those of [`Settings`].
pub const SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "agent-gemini-cli",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "program": {
      "description": "The Gemini CLI: a name that is looked up in PATH, or an absolute path. It has to be in `grants.commands` as well.",
      "type": "string", "minLength": 1, "default": "gemini"
    },
    "model": {
      "description": "The model that answers, such as gemini-2.5-pro; empty lets the CLI choose.",
      "type": "string", "default": ""
    },
    "correction_model": {
      "description": "The model that brings a broken answer into form; empty lets the CLI choose.",
      "type": "string", "default": ""
    },
    "auth": {
      "description": "How the CLI logs in: gemini-api-key (GEMINI_API_KEY), vertex-ai (GOOGLE_API_KEY, or GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION with credentials), or compute-default-credentials (the machine's own, on Google Cloud).",
      "type": "string",
      "enum": ["gemini-api-key", "vertex-ai", "compute-default-credentials"],
      "default": "gemini-api-key"
    },
    "timeout_seconds": {
      "description": "How long one run of the CLI may take before it is ended.",
      "type": "integer", "minimum": 1, "maximum": 3600, "default": 600
    },
    "max_attempts": {
      "description": "How often the CLI sends one request to the API before it gives up. Each attempt waits longer; ten take about four minutes.",
      "type": "integer", "minimum": 1, "maximum": 10, "default": 1
    },
    "max_turns": {
      "description": "How often the model may use tools and go on, in one run, before it is ended.",
      "type": "integer", "minimum": 1, "maximum": 1000, "default": 100
    }
  }
}"#;

/// Checks what the schema cannot.
pub fn validate(settings: &str) -> Result<(), Vec<Problem>> {
    let parsed: Settings = bathysphere_sdk::checked_settings(settings, "agent-gemini-cli")?;
    let models = [("/model", &parsed.model), ("/correction_model", &parsed.correction_model)];
    let problems: Vec<Problem> = models
        .into_iter()
        .filter(|(_, name)| name.starts_with('-') || name.contains(char::is_whitespace))
        .map(|(path, name)| Problem {
            path: path.into(),
            message: format!("`{}` is not the name of a model", name.escape_debug()),
            hint: Some("write a name such as \"gemini-2.5-pro\", or leave it out".into()),
        })
        .collect();
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_tells_the_defaults_that_the_code_uses() {
        assert_eq!(bathysphere_sdk::schema_defaults(SCHEMA), Ok(Settings::default()));
    }

    #[test]
    fn a_model_that_would_be_taken_for_a_flag_is_refused() {
        assert!(validate(r#"{"model": "gemini-2.5-pro", "correction_model": ""}"#).is_ok());
        for name in ["--yolo", "gemini pro"] {
            let problems = validate(&format!(r#"{{"correction_model": "{name}"}}"#)).unwrap_err();
            assert_eq!(problems[0].path, "/correction_model");
        }
        let problems = validate(r#"{"modell": "x"}"#).unwrap_err();
        assert!(problems[0].message.contains("modell"), "{problems:?}");
    }
}
