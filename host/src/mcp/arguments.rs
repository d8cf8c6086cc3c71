//! What the tools take. The doc comments are the descriptions that clients show
//! to their model.

use std::time::Duration;

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::tools::{DEEP_RESEARCH, DEEP_SEARCH, SEARCH};
use crate::plugins::contract::{Question, Scope};
use crate::tasks::{ErrorReport, RESULTS, Subject, TaskRequest};

/// A day: whoever waits longer does better to come back.
const LONGEST_WAIT: u32 = 86_400;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// The question, in plain words. A whole question finds more than keywords.
    pub query: String,
    /// How many passages to look at, 1 to 100, where documents are searched. Left
    /// out, as many as the question deserves.
    #[schemars(range(min = 1, max = 100))]
    pub max_results: Option<u32>,
    /// Return a handle (`status` "running" and a `task_id`) after this many seconds
    /// if the answer is not ready: 1 to 86400. Left out, wait for the answer.
    #[schemars(range(min = 1, max = 86400))]
    pub max_wait_seconds: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeepSearch {
    /// The question, in plain words. A whole question finds more than keywords.
    /// Needed, unless `resume` is given.
    pub query: Option<String>,
    /// How many rounds at the most, 2 to 50. Left out, as many as are configured
    /// (5 unless the user says otherwise); it ends earlier once the answer is
    /// verified.
    #[schemars(range(min = 2, max = 50))]
    pub max_iterations: Option<u32>,
    /// How large the work is that the question belongs to.
    pub task_scope: Option<Scope>,
    /// What is known already, or what the answer is for: a few sentences.
    pub context: Option<String>,
    /// The `task_id` of an earlier call that is still running, or that failed, was
    /// cancelled or was interrupted: waits for it, or goes on where it stopped,
    /// without repeating what was done. Takes the place of `query`.
    pub resume: Option<String>,
    /// Return a handle (`status` "running" and a `task_id`) after this many seconds
    /// if the result is not ready: 1 to 86400. Left out, wait for the result.
    #[schemars(range(min = 1, max = 86400))]
    pub max_wait_seconds: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeepResearch {
    /// The question, in plain words. A whole question finds more than keywords.
    pub query: String,
    /// What is known already, or what the answer is for: a few sentences.
    pub context: Option<String>,
    /// Return a handle (`status` "running" and a `task_id`) after this many seconds
    /// if the report is not ready: 1 to 86400. Left out, wait for the report.
    #[schemars(range(min = 1, max = 86400))]
    pub max_wait_seconds: Option<u32>,
}

/// What a call asks for.
#[derive(Debug)]
pub struct Asked {
    pub request: TaskRequest,
    /// The question that an earlier task must have been asked, where both were
    /// given.
    pub same_question: Option<String>,
}

impl Search {
    fn into_asked(self) -> Result<Asked, ErrorReport> {
        within("max_results", self.max_results, 1, 100)?;
        let mut question = Question { text: self.query, ..Question::default() };
        if let Some(results) = self.max_results {
            question.extra.push((RESULTS.to_owned(), results.to_string()));
        }
        asked(SEARCH, Subject::Question(question), self.max_wait_seconds)
    }
}

impl DeepSearch {
    fn into_asked(self) -> Result<Asked, ErrorReport> {
        within("max_iterations", self.max_iterations, 2, 50)?;
        let query = self.query.filter(|query| !query.trim().is_empty() || self.resume.is_none());
        // Some clients fill in what they leave out.
        let Some(id) = self.resume.filter(|id| !id.trim().is_empty()) else {
            let Some(text) = query else {
                return Err(invalid(
                    "deep_search needs `query`, the question, or `resume`, the task_id of an \
                     earlier call"
                        .to_owned(),
                ));
            };
            let question = Question {
                text,
                scope: self.task_scope,
                context: self.context,
                max_rounds: self.max_iterations,
                ..Question::default()
            };
            return asked(DEEP_SEARCH, Subject::Question(question), self.max_wait_seconds);
        };
        if self.context.is_some() || self.task_scope.is_some() {
            return Err(invalid(
                "`context` and `task_scope` belong to a new question: leave them out with \
                 `resume`, which goes on with the question as it was asked"
                    .to_owned(),
            ));
        }
        let subject = Subject::Task { id, max_rounds: self.max_iterations };
        Ok(Asked { same_question: query, ..asked(DEEP_SEARCH, subject, self.max_wait_seconds)? })
    }
}

impl DeepResearch {
    fn into_asked(self) -> Result<Asked, ErrorReport> {
        let question = Question { text: self.query, context: self.context, ..Question::default() };
        asked(DEEP_RESEARCH, Subject::Question(question), self.max_wait_seconds)
    }
}

fn asked(tool: &str, subject: Subject, wait: Option<u32>) -> Result<Asked, ErrorReport> {
    within("max_wait_seconds", wait, 1, LONGEST_WAIT)?;
    let max_wait = wait.map(|seconds| Duration::from_secs(seconds.into()));
    let request = TaskRequest { tool: tool.to_owned(), subject, max_wait, background: None };
    Ok(Asked { request, same_question: None })
}

/// What a call of this tool asks for; none where there is no such tool. The inner
/// error says what is wrong with the arguments.
pub fn of_call(tool: &str, arguments: Option<JsonObject>) -> Option<Result<Asked, ErrorReport>> {
    Some(match tool {
        SEARCH => read(SEARCH, arguments).and_then(Search::into_asked),
        DEEP_SEARCH => read(DEEP_SEARCH, arguments).and_then(DeepSearch::into_asked),
        DEEP_RESEARCH => read(DEEP_RESEARCH, arguments).and_then(DeepResearch::into_asked),
        _ => return None,
    })
}

pub fn read<T: DeserializeOwned>(
    tool: &str,
    arguments: Option<JsonObject>,
) -> Result<T, ErrorReport> {
    let arguments = arguments.unwrap_or_default();
    parse::<T>(arguments.clone()).map_err(|error| {
        let place = culprit::<T>(&arguments, &error.to_string());
        let place = place.map(|name| format!(" `{name}`:")).unwrap_or_default();
        invalid(format!("the arguments of {tool} do not fit:{place} {error}"))
    })
}

fn parse<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, serde_json::Error> {
    serde_json::from_value(serde_json::Value::Object(arguments))
}

/// The argument that is wrong, where the error does not name it: the one without
/// which there is another error, or none.
fn culprit<'a, T: DeserializeOwned>(arguments: &'a JsonObject, error: &str) -> Option<&'a str> {
    if error.contains(" field `") {
        return None;
    }
    let named = |name: &&String| {
        let mut others = arguments.clone();
        others.remove(*name);
        parse::<T>(others).map_or_else(|other| other.to_string() != error, |_| true)
    };
    arguments.keys().find(named).map(String::as_str)
}

fn within(name: &str, value: Option<u32>, least: u32, most: u32) -> Result<(), ErrorReport> {
    match value {
        Some(value) if value < least || value > most => {
            Err(invalid(format!("{name} is {value}, and may be {least} to {most}")))
        }
        _ => Ok(()),
    }
}

/// Refuses to go on with a task that was asked something else.
pub fn check_same_question(asked: &str, given: &str) -> Result<(), ErrorReport> {
    if asked.split_whitespace().eq(given.split_whitespace()) {
        return Ok(());
    }
    Err(invalid(
        "`query` is not the question of the task that `resume` names: leave out `query` to go on \
         with that task, or `resume` to ask something new"
            .to_owned(),
    ))
}

pub fn invalid(message: String) -> ErrorReport {
    ErrorReport {
        code: "INVALID_INPUT".to_owned(),
        message,
        hint: Some("the tool's input schema says what it takes".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn deep_search(arguments: Value) -> Result<Asked, ErrorReport> {
        let Value::Object(arguments) = arguments else { panic!("an object") };
        of_call(DEEP_SEARCH, Some(arguments)).unwrap()
    }

    #[test]
    fn a_new_question_takes_its_options_along() {
        let asked = deep_search(json!({
            "query": "why?", "max_iterations": 3, "task_scope": "large", "context": "sailing",
            "resume": " ", "max_wait_seconds": 60
        }))
        .unwrap();
        assert_eq!(asked.request.max_wait, Some(Duration::from_mins(1)));
        let Subject::Question(question) = asked.request.subject else { panic!("a question") };
        assert_eq!(question.text, "why?");
        assert_eq!(question.max_rounds, Some(3));
        assert_eq!(question.scope, Some(Scope::Large));
        assert_eq!(question.context.as_deref(), Some("sailing"));
    }

    #[test]
    fn an_earlier_task_is_named_with_or_without_its_question() {
        for arguments in [json!({"resume": "0198"}), json!({"resume": "0198", "query": ""})] {
            let asked = deep_search(arguments).unwrap();
            assert!(asked.same_question.is_none());
            let Subject::Task { id, max_rounds } = asked.request.subject else { panic!("a task") };
            assert_eq!((id.as_str(), max_rounds), ("0198", None));
        }
        let both = deep_search(json!({"resume": "0198", "query": "why?"})).unwrap();
        assert_eq!(both.same_question.as_deref(), Some("why?"));
        assert!(check_same_question("Why  is\nthis?", " Why is this? ").is_ok());
        let error = check_same_question("why?", "how?").unwrap_err();
        assert!(error.message.contains("leave out `query`"), "{}", error.message);
    }

    #[test]
    fn wrong_arguments_say_what_would_be_right() {
        let cases = [
            (json!({}), "needs `query`"),
            (json!({"query": "x", "max_iterations": 1}), "may be 2 to 50"),
            (json!({"query": "x", "max_iterations": 51}), "may be 2 to 50"),
            (json!({"query": "x", "max_wait_seconds": 0}), "may be 1 to 86400"),
            (json!({"query": "x", "max_wait_seconds": 86_401}), "may be 1 to 86400"),
            (json!({"resume": "0198", "context": "y"}), "leave them out"),
            (json!({"query": "x", "depth": 3}), "unknown field `depth`"),
            (json!({"query": 5}), "do not fit: `query`: invalid type: integer `5`"),
            (json!({"query": "x", "max_iterations": -1}), "do not fit: `max_iterations`: invalid"),
        ];
        for (arguments, words) in cases {
            let error = deep_search(arguments.clone()).unwrap_err();
            assert_eq!(error.code, "INVALID_INPUT");
            assert!(error.message.contains(words), "{arguments}: {}", error.message);
        }
    }

    #[test]
    fn an_unknown_tool_is_none() {
        assert!(of_call("levitate", None).is_none());
        assert!(of_call(SEARCH, None).unwrap().is_err());
    }
}
