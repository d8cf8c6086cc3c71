//! What the tools take. The doc comments are the descriptions that clients show
//! to their model.

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::plugins::contract::{Question, Scope};
use crate::tasks::{ErrorReport, RESULTS, TaskRequest};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// The question, in plain words. A whole question finds more than keywords.
    pub query: String,
    /// How many passages to look at, 1 to 100. Left out, as many as the question
    /// deserves.
    #[schemars(range(min = 1, max = 100))]
    pub max_results: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeepSearch {
    /// The question, in plain words. A whole question finds more than keywords.
    pub query: String,
    /// How many rounds at the most, 1 to 20. Left out, as many as the question
    /// deserves.
    #[schemars(range(min = 1, max = 20))]
    pub max_iterations: Option<u32>,
    /// How large the work is that the question belongs to.
    pub task_scope: Option<Scope>,
    /// What is known already, or what the answer is for: a few sentences.
    pub context: Option<String>,
}

impl Search {
    pub fn into_request(self) -> Result<TaskRequest, ErrorReport> {
        within("max_results", self.max_results, 100)?;
        let mut question = Question { text: self.query, ..Question::default() };
        if let Some(results) = self.max_results {
            question.extra.push((RESULTS.to_owned(), results.to_string()));
        }
        Ok(TaskRequest::new("search", question))
    }
}

impl DeepSearch {
    pub fn into_request(self) -> Result<TaskRequest, ErrorReport> {
        within("max_iterations", self.max_iterations, 20)?;
        let question = Question {
            text: self.query,
            scope: self.task_scope,
            context: self.context,
            max_rounds: self.max_iterations,
            ..Question::default()
        };
        Ok(TaskRequest::new("deep_search", question))
    }
}

/// Reads a tool's arguments, or says what is wrong with them.
pub fn read<T: DeserializeOwned>(
    tool: &str,
    arguments: Option<JsonObject>,
) -> Result<T, ErrorReport> {
    serde_json::from_value(serde_json::Value::Object(arguments.unwrap_or_default()))
        .map_err(|error| invalid(format!("the arguments of {tool} do not fit: {error}")))
}

fn within(name: &str, value: Option<u32>, most: u32) -> Result<(), ErrorReport> {
    match value {
        Some(value) if value == 0 || value > most => {
            Err(invalid(format!("{name} is {value}, and may be 1 to {most}")))
        }
        _ => Ok(()),
    }
}

fn invalid(message: String) -> ErrorReport {
    ErrorReport {
        code: "INVALID_INPUT".to_owned(),
        message,
        hint: Some("the tool's input schema says what it takes".to_owned()),
    }
}
