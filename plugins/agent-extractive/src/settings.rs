//! What the user may set, with the defaults that the schema also tells.

use bathysphere_sdk::meta::Problem;
use serde::Deserialize;

/// The plugin's table of plugins.toml.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub max_findings: usize,
    pub min_relevance: f64,
    pub relative_relevance: f64,
    pub diversity: f64,
    pub max_per_source: usize,
    pub max_finding_length: usize,
    pub attach_code_lines: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_findings: 6,
            min_relevance: 0.38,
            relative_relevance: 0.65,
            diversity: 0.45,
            max_per_source: 3,
            max_finding_length: 480,
            attach_code_lines: 16,
        }
    }
}

/// The settings as a JSON Schema; the defaults are those of [`Settings`].
pub const SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "agent-extractive",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "max_findings": {
      "description": "Findings at the most; fewer are given when fewer are good.",
      "type": "integer", "minimum": 1, "maximum": 50, "default": 6
    },
    "min_relevance": {
      "description": "How much of the question, weighted by how telling its words are, a sentence must speak of to count as an answer to a long question; a question of few words asks for up to twice as much. When no sentence reaches it, the agent says that the passages do not answer.",
      "type": "number", "minimum": 0.05, "maximum": 1, "default": 0.38
    },
    "relative_relevance": {
      "description": "A further finding must be at least this good, as a share of the best one.",
      "type": "number", "minimum": 0, "maximum": 1, "default": 0.65
    },
    "diversity": {
      "description": "How much it counts against a sentence that it repeats what was already chosen.",
      "type": "number", "minimum": 0, "maximum": 1, "default": 0.45
    },
    "max_per_source": {
      "description": "Findings of one file or page at the most, as long as other sources have something to say.",
      "type": "integer", "minimum": 1, "maximum": 50, "default": 3
    },
    "max_finding_length": {
      "description": "Bytes of prose one finding may span; longer sentences are cut at a word.",
      "type": "integer", "minimum": 80, "maximum": 4000, "default": 480
    },
    "attach_code_lines": {
      "description": "A code block or list that a chosen sentence leads up to is quoted with it when it has at most this many lines; 0 for never.",
      "type": "integer", "minimum": 0, "maximum": 100, "default": 16
    }
  }
}"#;

/// Checks what the schema cannot: that the settings can be read at all, for a
/// host that does not check schemas.
pub fn validate(settings: &str) -> Result<(), Vec<Problem>> {
    let parsed: Settings = bathysphere_sdk::checked_settings(settings, "agent-extractive")?;
    let mut problems = Vec::new();
    let mut check = |good: bool, path: &str, message: &str, hint: &str| {
        if !good {
            problems.push(Problem {
                path: path.into(),
                message: message.into(),
                hint: Some(hint.into()),
            });
        }
    };
    check(
        parsed.min_relevance > 0.0 && parsed.min_relevance <= 1.0,
        "/min_relevance",
        "the relevance a finding needs must be above 0 and at most 1",
        "0.38 is the default; a larger value gives fewer, surer findings",
    );
    check(
        parsed.max_findings > 0,
        "/max_findings",
        "no finding could ever be given",
        "use 1 or more",
    );
    check(
        parsed.max_per_source > 0,
        "/max_per_source",
        "no source could ever give a finding",
        "use 1 or more",
    );
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
    fn validate_names_the_setting_that_is_wrong() {
        assert!(validate("").is_ok());
        assert!(validate(r#"{"max_findings": 3}"#).is_ok());
        let problems = validate(r#"{"min_relevance": 0}"#).unwrap_err();
        assert_eq!(problems[0].path, "/min_relevance");
        let problems = validate(r#"{"max_finding": 3}"#).unwrap_err();
        assert!(problems[0].message.contains("max_finding"), "{problems:?}");
    }
}
