//! Whether a request is one that the vendor takes: the fields that it knows, with the
//! types that they have. What is wrong is said in the vendor's form.

use serde_json::Value;

/// A refusal: the status, the code and the words.
pub type Refusal = (u16, &'static str, String);

const AGENTS: &[&str] = &[
    "deep-research-pro-preview-12-2025",
    "deep-research-preview-04-2026",
    "deep-research-max-preview-04-2026",
];

/// What starts an interaction with an agent may hold.
const FIELDS: &[&str] = &[
    "agent",
    "agent_config",
    "background",
    "environment",
    "input",
    "labels",
    "previous_interaction_id",
    "response_format",
    "response_mime_type",
    "response_modalities",
    "service_tier",
    "store",
    "stream",
    "system_instruction",
    "tools",
    "webhook_config",
];

/// The question and the agent of a request that starts an interaction.
pub fn create(body: &Value) -> Result<(String, String), Refusal> {
    let body = body.as_object().ok_or_else(|| invalid("The body must be a JSON object."))?;
    if let Some(unknown) = body.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        return Err(invalid(&format!("Unknown name \"{unknown}\": Cannot find field.")));
    }
    let agent = body
        .get("agent")
        .and_then(Value::as_str)
        .ok_or_else(|| invalid("`agent` must be a string."))?;
    if !AGENTS.contains(&agent) {
        return Err((404, "not_found", format!("Agent '{agent}' was not found.")));
    }
    let input = body
        .get("input")
        .and_then(Value::as_str)
        .filter(|input| !input.trim().is_empty())
        .ok_or_else(|| invalid("`input` must not be empty."))?;
    for name in ["background", "store", "stream"] {
        if body.get(name).is_some_and(|value| !value.is_boolean()) {
            return Err(invalid(&format!("`{name}` must be a boolean.")));
        }
    }
    if body.get("background") != Some(&Value::Bool(true)) {
        return Err(invalid("background=true is required for agent interactions."));
    }
    if body.get("store") == Some(&Value::Bool(false)) {
        return Err(invalid("store=true is required when background=true."));
    }
    if let Some(config) = body.get("agent_config") {
        agent_config(config)?;
    }
    Ok((input.to_owned(), agent.to_owned()))
}

fn agent_config(config: &Value) -> Result<(), Refusal> {
    let config = config.as_object().ok_or_else(|| invalid("`agent_config` must be an object."))?;
    for (name, value) in config {
        let fits = match name.as_str() {
            "type" => value == "deep-research",
            "thinking_summaries" => value == "auto" || value == "none",
            "visualization" => value == "off" || value == "auto",
            "collaborative_planning" | "enable_bigquery_tool" => value.is_boolean(),
            _ => return Err(invalid(&format!("Unknown name \"{name}\": Cannot find field."))),
        };
        if !fits {
            return Err(invalid(&format!("Invalid value at 'agent_config.{name}'.")));
        }
    }
    if config.contains_key("type") {
        Ok(())
    } else {
        Err(invalid("`agent_config.type` is required."))
    }
}

/// What may stand behind the question mark of a poll.
pub fn poll(query: &str) -> Result<(), Refusal> {
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("stream", "false") | ("include_input", "true" | "false")) => {}
            Some(("stream", "true")) => {
                return Err(invalid("The stand-in does not stream."));
            }
            _ => return Err(invalid(&format!("Unknown parameter {pair}."))),
        }
    }
    Ok(())
}

fn invalid(message: &str) -> Refusal {
    (400, "invalid_request", message.to_owned())
}
