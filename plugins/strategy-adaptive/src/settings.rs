//! Every threshold of the strategy, with the defaults that the schema also tells.

use bathysphere_sdk::meta::Problem;
use serde::Deserialize;

/// What kind of step a round is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Gather where there is a backend to search with, otherwise ask; delegate where
    /// there is neither, but a research backend.
    Auto,
    /// Search, read, and have the agent write findings.
    Gather,
    /// Have the agent search by itself, then verify.
    Ask,
    /// Hand the whole question to a research backend.
    Delegate,
}

/// How much one level may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    pub rounds: u32,
    pub results: u32,
    pub pages: u32,
}

/// The plugin's table of plugins.toml.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub mode: Mode,
    pub shallow_rounds: u32,
    pub medium_rounds: u32,
    pub deep_rounds: u32,
    pub shallow_results: u32,
    pub medium_results: u32,
    pub deep_results: u32,
    pub shallow_pages: u32,
    pub medium_pages: u32,
    pub deep_pages: u32,
    pub max_rounds: u32,
    pub medium_score: u32,
    pub deep_score: u32,
    pub long_question_words: u32,
    pub enough_relevance: f64,
    pub enough_coverage: f64,
    pub enough_sources: u32,
    pub min_gain: f64,
    pub max_queries: u32,
    pub max_empty_rounds: u32,
    pub verify_rounds: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::Auto,
            shallow_rounds: 1,
            medium_rounds: 3,
            deep_rounds: 5,
            shallow_results: 8,
            medium_results: 12,
            deep_results: 20,
            shallow_pages: 3,
            medium_pages: 5,
            deep_pages: 8,
            max_rounds: 50,
            medium_score: 2,
            deep_score: 6,
            long_question_words: 12,
            enough_relevance: 0.6,
            enough_coverage: 0.85,
            enough_sources: 2,
            min_gain: 0.05,
            max_queries: 3,
            max_empty_rounds: 2,
            verify_rounds: 5,
        }
    }
}

/// The settings as a JSON Schema; the defaults are those of [`Settings`].
pub const SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "strategy-adaptive",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "mode": {
      "description": "What a round is: `gather` searches, reads and has the agent write findings; `ask` has an agent that searches by itself answer, and then verify its answer; `delegate` hands the whole question to a research backend; `auto` gathers where the tool has a backend to search with, delegates where it has nothing but a research backend, and asks otherwise.",
      "enum": ["auto", "gather", "ask", "delegate"], "default": "auto"
    },
    "shallow_rounds": {
      "description": "Rounds at the most for a simple question.",
      "type": "integer", "minimum": 1, "maximum": 100, "default": 1
    },
    "medium_rounds": {
      "description": "Rounds at the most for a question of several parts.",
      "type": "integer", "minimum": 1, "maximum": 100, "default": 3
    },
    "deep_rounds": {
      "description": "Rounds at the most for a question that deserves research.",
      "type": "integer", "minimum": 1, "maximum": 100, "default": 5
    },
    "shallow_results": {
      "description": "Hits to ask for in each search of a simple question.",
      "type": "integer", "minimum": 1, "maximum": 200, "default": 8
    },
    "medium_results": {
      "description": "Hits to ask for in each search of a question of several parts.",
      "type": "integer", "minimum": 1, "maximum": 200, "default": 12
    },
    "deep_results": {
      "description": "Hits to ask for in each search of a question that deserves research.",
      "type": "integer", "minimum": 1, "maximum": 200, "default": 20
    },
    "shallow_pages": {
      "description": "Pages to read in each round of a simple question.",
      "type": "integer", "minimum": 0, "maximum": 100, "default": 3
    },
    "medium_pages": {
      "description": "Pages to read in each round of a question of several parts.",
      "type": "integer", "minimum": 0, "maximum": 100, "default": 5
    },
    "deep_pages": {
      "description": "Pages to read in each round of a question that deserves research.",
      "type": "integer", "minimum": 0, "maximum": 100, "default": 8
    },
    "max_rounds": {
      "description": "Rounds at the very most, whatever the asker allows.",
      "type": "integer", "minimum": 1, "maximum": 100, "default": 50
    },
    "medium_score": {
      "description": "A question is of medium level from this score on. Points: 1 for a question of several parts, 1 for a long one, 1 for a goal behind it, 1 for long context; scope tiny -2, large +2; type reference -1, debug +1, architecture +2, research +3.",
      "type": "integer", "minimum": 0, "maximum": 20, "default": 2
    },
    "deep_score": {
      "description": "A question is of deep level from this score on.",
      "type": "integer", "minimum": 0, "maximum": 20, "default": 6
    },
    "long_question_words": {
      "description": "A question of more telling words than this counts as long; it is also searched for by its key words alone.",
      "type": "integer", "minimum": 3, "maximum": 200, "default": 12
    },
    "enough_relevance": {
      "description": "Good enough: the relevance (0 to 1) that the answer must have.",
      "type": "number", "minimum": 0, "maximum": 1, "default": 0.6
    },
    "enough_coverage": {
      "description": "Good enough: the share of the question that must be answered (0 to 1).",
      "type": "number", "minimum": 0, "maximum": 1, "default": 0.85
    },
    "enough_sources": {
      "description": "Good enough: how many different sources must have been found.",
      "type": "integer", "minimum": 1, "maximum": 100, "default": 2
    },
    "min_gain": {
      "description": "Diminishing returns: a round that raises the quality by less than this ends the run. Quality is the mean of relevance, coverage and confidence.",
      "type": "number", "minimum": 0, "maximum": 1, "default": 0.05
    },
    "max_queries": {
      "description": "Queries in one round at the most.",
      "type": "integer", "minimum": 1, "maximum": 20, "default": 3
    },
    "max_empty_rounds": {
      "description": "Rounds without a single finding after which the run ends.",
      "type": "integer", "minimum": 1, "maximum": 20, "default": 2
    },
    "verify_rounds": {
      "description": "Asking: rounds at the most for a deep search, the first included, where neither the asker nor `max_iterations` of [research] says.",
      "type": "integer", "minimum": 2, "maximum": 100, "default": 5
    }
  }
}"#;

impl Settings {
    pub fn shallow(&self) -> Amount {
        Amount {
            rounds: self.shallow_rounds,
            results: self.shallow_results,
            pages: self.shallow_pages,
        }
    }

    pub fn medium(&self) -> Amount {
        Amount {
            rounds: self.medium_rounds,
            results: self.medium_results,
            pages: self.medium_pages,
        }
    }

    pub fn deep(&self) -> Amount {
        Amount { rounds: self.deep_rounds, results: self.deep_results, pages: self.deep_pages }
    }
}

/// Checks what the schema cannot: that a higher level never does less, and that
/// the levels are in order.
pub fn validate(settings: &str) -> Result<(), Vec<Problem>> {
    let parsed: Settings = bathysphere_sdk::checked_settings(settings, "strategy-adaptive")?;
    let mut problems = Vec::new();
    let mut rising = |what: &str, lower: (&str, u32), upper: (&str, u32)| {
        if lower.1 > upper.1 {
            problems.push(Problem {
                path: format!("/{}", upper.0),
                message: format!(
                    "{} is {}, less than {} with {}",
                    upper.0, upper.1, lower.0, lower.1
                ),
                hint: Some(format!("a deeper level needs at least as many {what}")),
            });
        }
    };
    let (shallow, medium, deep) = (parsed.shallow(), parsed.medium(), parsed.deep());
    rising("rounds", ("shallow_rounds", shallow.rounds), ("medium_rounds", medium.rounds));
    rising("rounds", ("medium_rounds", medium.rounds), ("deep_rounds", deep.rounds));
    rising("results", ("shallow_results", shallow.results), ("medium_results", medium.results));
    rising("results", ("medium_results", medium.results), ("deep_results", deep.results));
    rising("pages", ("shallow_pages", shallow.pages), ("medium_pages", medium.pages));
    rising("pages", ("medium_pages", medium.pages), ("deep_pages", deep.pages));
    rising("points", ("medium_score", parsed.medium_score), ("deep_score", parsed.deep_score));
    rising("rounds", ("deep_rounds", deep.rounds), ("max_rounds", parsed.max_rounds));
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
    fn a_deeper_level_may_not_do_less() {
        assert!(validate("{}").is_ok());
        let problems = validate(r#"{"deep_results": 5}"#).unwrap_err();
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].path, "/deep_results");
        assert!(problems[0].message.contains("medium_results with 12"));
        assert!(validate(r#"{"min_gian": 1}"#).unwrap_err()[0].message.contains("min_gian"));
    }
}
