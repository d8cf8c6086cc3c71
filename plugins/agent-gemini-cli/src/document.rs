//! The one JSON document that `-o json` ends with: on standard output where all went
//! well, on standard error, after other talk, where it did not.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::events::Trouble;

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Document {
    pub response: Option<String>,
    #[serde(default)]
    pub stats: Statistics,
    pub error: Option<Trouble>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Statistics {
    #[serde(default)]
    pub models: BTreeMap<String, Model>,
    #[serde(default)]
    pub tools: Tools,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Model {
    #[serde(default)]
    pub tokens: Tokens,
    /// What the model was asked for: `main`, `utility_router`, `utility_tool`.
    #[serde(default)]
    pub roles: BTreeMap<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Tokens {
    pub prompt: u64,
    pub candidates: u64,
    pub thoughts: u64,
    pub tool: u64,
    pub cached: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Tools {
    #[serde(default, rename = "byName")]
    pub by_name: BTreeMap<String, Tool>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Tool {
    pub count: u32,
    pub success: u32,
}

impl Document {
    /// The model that answered, rather than one that helped.
    pub fn main_model(&self) -> Option<&str> {
        let main = |(_, model): &(&String, &Model)| model.roles.contains_key("main");
        self.stats.models.iter().find(main).map(|(name, _)| name.as_str())
    }
}

/// The first document in a text.
pub fn read(text: &str) -> Option<Document> {
    let mut position = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start_matches('\u{feff}').starts_with('{') {
            let start = position + line.find('{')?;
            let mut values =
                serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
            if let Some(Ok(value)) = values.next()
                // What a model writes is JSON as well: this is not.
                && value["session_id"].is_string()
                && (value["response"].is_string() || value["error"].is_object())
            {
                return serde_json::from_value(value).ok();
            }
        }
        position += line.len();
    }
    None
}
