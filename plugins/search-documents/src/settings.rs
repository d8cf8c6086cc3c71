//! What the user may choose.

use serde::Deserialize;

use crate::glob::Glob;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub extensions: Vec<String>,
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    pub max_file_kb: u64,
    pub gitignore: bool,
    pub hidden: bool,
    pub passages_per_document: u32,
    pub code_weight: f64,
    pub test_weight: f64,
    pub heading_bonus: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            extensions: Vec::new(),
            include: Vec::new(),
            exclude: Vec::new(),
            max_file_kb: 4096,
            gitignore: true,
            hidden: false,
            passages_per_document: 3,
            code_weight: 0.6,
            test_weight: 0.3,
            heading_bonus: 1.5,
        }
    }
}

/// The JSON Schema of the settings.
pub const SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "extensions": {
      "description": "Further file name extensions to read as plain text, such as \"csv\" or \"json\".",
      "type": "array", "items": { "type": "string", "minLength": 1 }, "default": []
    },
    "include": {
      "description": "Only files that match one of these patterns are read, such as \"docs/**\"; all when empty. A pattern without a slash matches names in any directory.",
      "type": "array", "items": { "type": "string", "minLength": 1 }, "default": []
    },
    "exclude": {
      "description": "Files and directories that match one of these patterns are passed over, such as \"drafts/**\".",
      "type": "array", "items": { "type": "string", "minLength": 1 }, "default": []
    },
    "max_file_kb": {
      "description": "Larger files are passed over, in kilobytes.",
      "type": "integer", "minimum": 1, "maximum": 16000, "default": 4096
    },
    "gitignore": {
      "description": "Pass over what .gitignore, .ignore and .git/info/exclude ignore.",
      "type": "boolean", "default": true
    },
    "hidden": {
      "description": "Also read files and directories whose names begin with a dot.",
      "type": "boolean", "default": false
    },
    "passages_per_document": {
      "description": "Passages of one document among the hits, at the most.",
      "type": "integer", "minimum": 1, "maximum": 20, "default": 3
    },
    "code_weight": {
      "description": "What a passage of source code counts beside one of prose, where both are found and the question names no identifier.",
      "type": "number", "minimum": 0, "maximum": 10, "default": 0.6
    },
    "test_weight": {
      "description": "The same for tests, benchmarks and what they read.",
      "type": "number", "minimum": 0, "maximum": 10, "default": 0.3
    },
    "heading_bonus": {
      "description": "Where prose and code are mixed: how many times as much a section counts whose heading has only words of the question, and the opening of a document for \"what is X\" when its title names X.",
      "type": "number", "minimum": 1, "maximum": 10, "default": 1.5
    }
  }
}"#;

/// What a schema cannot say: the setting, what is wrong, what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub path: String,
    pub message: String,
    pub hint: String,
}

impl Settings {
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (name, patterns) in [("include", &self.include), ("exclude", &self.exclude)] {
            for (number, pattern) in patterns.iter().enumerate() {
                let problem = if pattern.starts_with('!') {
                    Some((
                        "a pattern cannot be negated here",
                        "put what is to be read under `include` and what is not under `exclude`",
                    ))
                } else if pattern.contains("..") || pattern.contains('\\') {
                    Some((
                        "a pattern is a path below the directory",
                        "write it with `/`, and without `..`",
                    ))
                } else if pattern.matches('[').count() > pattern.matches(']').count() {
                    Some((
                        "the pattern has a `[` without a `]`",
                        "close the set of characters, as in `[0-9]*.md`",
                    ))
                } else {
                    None
                };
                if let Some((message, hint)) = problem {
                    problems.push(Problem {
                        path: format!("/{name}/{number}"),
                        message: format!("{message}: {pattern:?}"),
                        hint: hint.to_owned(),
                    });
                }
            }
        }
        for (number, extension) in self.extensions.iter().enumerate() {
            if extension.contains(['/', '*', ' '])
                || extension.trim_start_matches('.').contains('.')
            {
                problems.push(Problem {
                    path: format!("/extensions/{number}"),
                    message: format!("{extension:?} is not a file name extension"),
                    hint: "name the part after the last dot, such as \"csv\"; patterns belong under `include`".to_owned(),
                });
            }
        }
        problems
    }

    pub fn filter(&self) -> Filter {
        let compile =
            |patterns: &[String]| patterns.iter().map(|pattern| Pattern::new(pattern)).collect();
        Filter { include: compile(&self.include), exclude: compile(&self.exclude) }
    }
}

/// The user's own patterns, ready to be matched.
#[derive(Debug)]
pub struct Filter {
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
}

#[derive(Debug)]
struct Pattern {
    glob: Glob,
    /// It speaks of names anywhere, not of paths from the root.
    by_name: bool,
}

impl Pattern {
    fn new(pattern: &str) -> Self {
        let pattern = pattern.trim_end_matches('/');
        Self { glob: Glob::new(pattern.trim_start_matches('/')), by_name: !pattern.contains('/') }
    }

    fn matches(&self, path: &str) -> bool {
        self.glob.matches(if self.by_name { path.rsplit('/').next().unwrap_or(path) } else { path })
    }
}

impl Filter {
    pub fn excludes(&self, path: &str) -> bool {
        self.exclude.iter().any(|pattern| pattern.matches(path))
    }

    pub fn includes(&self, path: &str) -> bool {
        self.include.is_empty() || self.include.iter().any(|pattern| pattern.matches(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_says_what_the_defaults_are() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let properties = schema["properties"].as_object().unwrap();
        let defaults: serde_json::Map<_, _> = properties
            .iter()
            .map(|(name, property)| (name.clone(), property["default"].clone()))
            .collect();
        let read: Settings = serde_json::from_value(defaults.into()).unwrap();
        assert_eq!(read, Settings::default());
        assert!(properties.values().all(|property| property["description"].is_string()));
    }

    #[test]
    fn wrong_patterns_are_named() {
        let settings = Settings {
            include: vec!["docs/**".into(), "../x".into()],
            exclude: vec!["!a".into(), "[a".into()],
            extensions: vec!["*.csv".into(), ".csv".into()],
            ..Settings::default()
        };
        let paths: Vec<_> = settings.problems().into_iter().map(|problem| problem.path).collect();
        assert_eq!(paths, ["/include/1", "/exclude/0", "/exclude/1", "/extensions/0"]);
    }

    #[test]
    fn patterns_choose_files() {
        let settings = Settings {
            include: vec!["docs/**".into(), "*.rs".into()],
            exclude: vec!["old/".into()],
            ..Settings::default()
        };
        let filter = settings.filter();
        assert!(
            filter.includes("docs/a/b.md")
                && filter.includes("src/a.rs")
                && !filter.includes("a.md")
        );
        assert!(filter.excludes("x/old") && !filter.excludes("x/older"));
    }
}
