//! Every threshold of the estimator, with the defaults that the schema also tells.

use bathysphere_sdk::meta::Problem;
use serde::Deserialize;

/// Low, likely, high.
pub type Three = [f64; 3];

/// The plugin's table of plugins.toml.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub medium_score: u32,
    pub complex_score: u32,
    pub long_question_words: u32,
    pub very_long_question_words: u32,
    pub simple_minutes: Three,
    pub medium_minutes: Three,
    pub complex_minutes: Three,
    pub simple_cost: Three,
    pub medium_cost: Three,
    pub complex_cost: Three,
    pub typical_cost_usd: f64,
    pub typical_max_cost_usd: f64,
    pub round_seconds: Three,
    pub round_cost_usd: Three,
    pub min_runs: u32,
    pub max_runs: u32,
    pub min_width: f64,
    pub async_after_seconds: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            medium_score: 2,
            complex_score: 4,
            long_question_words: 20,
            very_long_question_words: 60,
            simple_minutes: [2.0, 5.0, 15.0],
            medium_minutes: [5.0, 12.0, 30.0],
            complex_minutes: [10.0, 25.0, 60.0],
            simple_cost: [0.25, 0.5, 1.0],
            medium_cost: [0.5, 1.0, 1.5],
            complex_cost: [0.75, 1.4, 2.5],
            typical_cost_usd: 2.0,
            typical_max_cost_usd: 4.0,
            round_seconds: [15.0, 45.0, 180.0],
            round_cost_usd: [0.01, 0.04, 0.2],
            min_runs: 3,
            max_runs: 200,
            min_width: 0.05,
            async_after_seconds: 25.0,
        }
    }
}

/// The settings as a JSON Schema; the defaults are those of [`Settings`].
pub const SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "estimator-history",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "medium_score": {
      "description": "A question is medium from this score on. Points: 1 for a long question, 1 more for a very long one, 1 for two or more parts, 1 more for four or more, 2 for a comparison, 2 or 3 for breadth, 1 for a span of time; scope tiny -1, large +1; type research or architecture +1.",
      "type": "integer", "minimum": 0, "maximum": 20, "default": 2
    },
    "complex_score": {
      "description": "A question is complex from this score on.",
      "type": "integer", "minimum": 0, "maximum": 20, "default": 4
    },
    "long_question_words": {
      "description": "A question of this many words is long.",
      "type": "integer", "minimum": 1, "maximum": 10000, "default": 20
    },
    "very_long_question_words": {
      "description": "A question of this many words is very long.",
      "type": "integer", "minimum": 1, "maximum": 10000, "default": 60
    },
    "simple_minutes": {
      "description": "Minutes that a research agent takes for a simple question, as long as there are no past runs: low, likely, high.",
      "type": "array", "items": { "type": "number", "minimum": 0 }, "minItems": 3, "maxItems": 3, "default": [2.0, 5.0, 15.0]
    },
    "medium_minutes": {
      "description": "The same for a medium question.",
      "type": "array", "items": { "type": "number", "minimum": 0 }, "minItems": 3, "maxItems": 3, "default": [5.0, 12.0, 30.0]
    },
    "complex_minutes": {
      "description": "The same for a complex question.",
      "type": "array", "items": { "type": "number", "minimum": 0 }, "minItems": 3, "maxItems": 3, "default": [10.0, 25.0, 60.0]
    },
    "simple_cost": {
      "description": "What a research agent costs for a simple question, as a share of its typical cost: low, likely, high.",
      "type": "array", "items": { "type": "number", "minimum": 0 }, "minItems": 3, "maxItems": 3, "default": [0.25, 0.5, 1.0]
    },
    "medium_cost": {
      "description": "The same for a medium question.",
      "type": "array", "items": { "type": "number", "minimum": 0 }, "minItems": 3, "maxItems": 3, "default": [0.5, 1.0, 1.5]
    },
    "complex_cost": {
      "description": "The same for a complex question.",
      "type": "array", "items": { "type": "number", "minimum": 0 }, "minItems": 3, "maxItems": 3, "default": [0.75, 1.4, 2.5]
    },
    "typical_cost_usd": {
      "description": "The typical cost of a research agent in US dollars, where the price list has none.",
      "type": "number", "minimum": 0, "default": 2.0
    },
    "typical_max_cost_usd": {
      "description": "The same for an agent with `max` in its name.",
      "type": "number", "minimum": 0, "default": 4.0
    },
    "round_seconds": {
      "description": "Seconds that one round of a search takes, as long as there are no past runs: low, likely, high.",
      "type": "array", "items": { "type": "number", "minimum": 0 }, "minItems": 3, "maxItems": 3, "default": [15.0, 45.0, 180.0]
    },
    "round_cost_usd": {
      "description": "US dollars that one round of a search costs: low, likely, high.",
      "type": "array", "items": { "type": "number", "minimum": 0 }, "minItems": 3, "maxItems": 3, "default": [0.01, 0.04, 0.2]
    },
    "min_runs": {
      "description": "From this many past runs on they alone decide; fewer only widen the rule of thumb.",
      "type": "integer", "minimum": 2, "maximum": 100, "default": 3
    },
    "max_runs": {
      "description": "Older runs than this many of the newest are not looked at.",
      "type": "integer", "minimum": 2, "maximum": 1000, "default": 200
    },
    "min_width": {
      "description": "A range reaches at least this share below and above what is likely, however alike past runs were.",
      "type": "number", "minimum": 0, "maximum": 1, "default": 0.05
    },
    "async_after_seconds": {
      "description": "What takes longer goes on in the background, where the host does not say how long it waits.",
      "type": "number", "minimum": 0, "default": 25.0
    }
  }
}"#;

/// Checks what the schema cannot: that low, likely and high are in order, and the
/// scores too.
pub fn validate(settings: &str) -> Result<(), Vec<Problem>> {
    let parsed: Settings = bathysphere_sdk::checked_settings(settings, "estimator-history")?;
    let mut problems = Vec::new();
    for (name, three) in [
        ("simple_minutes", parsed.simple_minutes),
        ("medium_minutes", parsed.medium_minutes),
        ("complex_minutes", parsed.complex_minutes),
        ("simple_cost", parsed.simple_cost),
        ("medium_cost", parsed.medium_cost),
        ("complex_cost", parsed.complex_cost),
        ("round_seconds", parsed.round_seconds),
        ("round_cost_usd", parsed.round_cost_usd),
    ] {
        if !three.is_sorted() {
            problems.push(Problem {
                path: format!("/{name}"),
                message: format!("{name} is not in order: {three:?}"),
                hint: Some("write low, likely and high, such as [2.0, 5.0, 15.0]".into()),
            });
        }
    }
    let mut rising = |lower: (&str, u32), upper: (&str, u32)| {
        if lower.1 > upper.1 {
            problems.push(Problem {
                path: format!("/{}", upper.0),
                message: format!(
                    "{} is {}, less than {} with {}",
                    upper.0, upper.1, lower.0, lower.1
                ),
                hint: Some(format!("write {} or more", lower.1)),
            });
        }
    };
    rising(("medium_score", parsed.medium_score), ("complex_score", parsed.complex_score));
    rising(
        ("long_question_words", parsed.long_question_words),
        ("very_long_question_words", parsed.very_long_question_words),
    );
    rising(("min_runs", parsed.min_runs), ("max_runs", parsed.max_runs));
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
    fn what_must_be_in_order_is() {
        assert!(validate("{}").is_ok());
        let problems = validate(r#"{"simple_minutes": [9, 5, 15], "complex_score": 1}"#);
        let paths: Vec<String> =
            problems.unwrap_err().into_iter().map(|problem| problem.path).collect();
        assert_eq!(paths, ["/simple_minutes", "/complex_score"]);
        assert!(validate(r#"{"min_rnus": 1}"#).unwrap_err()[0].message.contains("min_rnus"));
    }
}
