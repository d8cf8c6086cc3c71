//! One line of `-o stream-json`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    Init {
        #[serde(default)]
        model: String,
    },
    Message {
        role: String,
        #[serde(default)]
        content: String,
    },
    ToolUse {
        tool_name: String,
        tool_id: String,
        #[serde(default)]
        parameters: Value,
    },
    ToolResult {
        tool_id: String,
        status: String,
    },
    Error {
        #[serde(default)]
        severity: String,
        message: String,
    },
    Result {
        status: String,
        #[serde(default)]
        error: Option<Trouble>,
        #[serde(default)]
        stats: Option<Stats>,
    },
    #[serde(other)]
    Unknown,
}

/// What an error says of itself, in a stream or in a document.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Trouble {
    #[serde(default, rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub message: String,
    /// A number, or missing.
    #[serde(default)]
    pub code: Value,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Stats {
    #[serde(default)]
    pub total_tokens: u64,
    #[serde(default)]
    pub input_tokens: u64,
    #[serde(default)]
    pub output_tokens: u64,
    #[serde(default)]
    pub cached: u64,
    /// None in it: nothing was asked.
    #[serde(default)]
    pub models: BTreeMap<String, Value>,
}

/// The event that a line holds; none where it is something else.
pub fn read(line: &str) -> Option<Event> {
    let line = line.trim().trim_start_matches('\u{feff}');
    if !line.starts_with('{') {
        return None;
    }
    match serde_json::from_str(line) {
        Ok(Event::Unknown) | Err(_) => None,
        Ok(event) => Some(event),
    }
}
