//! Checking a plugin's settings against the JSON Schema it describes them with,
//! and saying what would be right in the schema's own words.

use std::fmt::Write;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use super::error::{ConfigError, Problem};
use super::resolved::PluginConfig;
use super::settings::{SettingProblem, escape, settings_error};
use super::suggest::{nearest, suggestion};

/// `schema_json` is what the plugin's `describe` returned.
pub fn check_settings(plugin: &PluginConfig, schema_json: &str) -> Result<(), ConfigError> {
    let unusable = |error: String| {
        Problem::new(format!(
            "the plugin `{}` describes its settings wrongly: {error}",
            plugin.name
        ))
        .with_hint("this is a mistake in the plugin, not in your configuration; tell its author")
    };
    // A plugin without settings may say so by saying nothing.
    let text = if schema_json.trim().is_empty() { "{}" } else { schema_json };
    let schema: Value = serde_json::from_str(text)
        .map_err(|error| unusable(format!("its schema is not JSON: {error}")))?;
    if plugin.settings.is_empty() && asks_for_nothing(&schema) {
        return Ok(());
    }
    let validator =
        jsonschema::validator_for(&schema).map_err(|error| unusable(error.to_string()))?;
    let settings = Value::Object(plugin.settings.clone());
    let problems: Vec<SettingProblem> =
        validator.iter_errors(&settings).flat_map(|error| describe(&schema, &error)).collect();
    if problems.is_empty() { Ok(()) } else { Err(settings_error(plugin, &problems)) }
}

/// Whether no settings at all must fit, as far as a glance can tell. The first use
/// of the validator costs milliseconds, and most plugins are left as they are.
fn asks_for_nothing(schema: &Value) -> bool {
    const HARMLESS: &[&str] = &[
        "$schema",
        "$defs",
        "title",
        "description",
        "default",
        "properties",
        "additionalProperties",
    ];
    schema.as_object().is_some_and(|schema| {
        schema.iter().all(|(keyword, value)| {
            HARMLESS.contains(&keyword.as_str()) || (keyword == "type" && value == "object")
        })
    })
}

fn describe(schema: &Value, error: &ValidationError<'_>) -> Vec<SettingProblem> {
    let path = error.instance_path().as_str().to_owned();
    // The keyword is the last segment; what it constrains is the schema around it.
    let keyword = error.schema_path().as_str();
    let around = keyword.rsplit_once('/').and_then(|(around, _)| schema.pointer(around));
    let value = error.instance();
    let hint = around.and_then(expectation);
    let message = match error.kind() {
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let known: Vec<&str> = around
                .and_then(|schema| schema.get("properties")?.as_object())
                .map(|properties| properties.keys().map(String::as_str).collect())
                .unwrap_or_default();
            return unexpected
                .iter()
                .map(|name| SettingProblem {
                    path: format!("{path}/{}", escape(name)),
                    message: "there is no such setting".to_owned(),
                    hint: Some(suggestion(name, known.iter().copied(), "settings here")),
                })
                .collect();
        }
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let wanted = around.and_then(|schema| schema.get("properties")?.get(name));
            return vec![SettingProblem {
                path,
                message: format!("the setting `{name}` is missing"),
                hint: wanted.and_then(expectation),
            }];
        }
        Kind::Type { kind } => {
            let expected = match kind {
                TypeKind::Single(single) => type_name(*single).to_owned(),
                TypeKind::Multiple(types) => {
                    // TOML has no null: leaving the setting out is how to say it.
                    let names: Vec<&str> = types
                        .iter()
                        .filter(|kind| *kind != JsonType::Null)
                        .map(type_name)
                        .collect();
                    names.join(" or ")
                }
            };
            match value.as_ref() {
                Value::Number(number) => format!("must be {expected}, not {number}"),
                other => format!("must be {expected}, not {}", type_name(JsonType::from(other))),
            }
        }
        Kind::Enum { options } => {
            let options: Vec<&str> =
                options.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let near = value.as_str().and_then(|value| nearest(value, options.iter().copied()));
            return vec![SettingProblem {
                path,
                message: format!("cannot be {value}"),
                hint: near.map(|near| format!("did you mean \"{near}\"?")).or(hint),
            }];
        }
        Kind::Minimum { .. }
        | Kind::Maximum { .. }
        | Kind::ExclusiveMinimum { .. }
        | Kind::ExclusiveMaximum { .. }
        | Kind::MultipleOf { .. }
        | Kind::Constant { .. }
        | Kind::AnyOf { .. }
        | Kind::OneOfNotValid { .. }
        | Kind::OneOfMultipleValid { .. } => format!("cannot be {value}"),
        _ => error.to_string(),
    };
    vec![SettingProblem { path, message, hint }]
}

fn type_name(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Null => "nothing",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "a whole number",
        JsonType::Number => "a number",
        JsonType::String => "a string",
        JsonType::Array => "an array",
        JsonType::Object => "a table",
    }
}

/// What a schema asks for, in a line: kind, bounds, choice, default, meaning.
fn expectation(schema: &Value) -> Option<String> {
    // Writing to a string cannot fail.
    let mut text = String::new();
    if let Some(options) = schema.get("enum").and_then(Value::as_array) {
        let options: Vec<String> = options.iter().map(Value::to_string).collect();
        text = format!("write one of {}", options.join(", "));
    } else if let Some(constant) = schema.get("const") {
        text = format!("write {constant}");
    } else {
        let kinds: Vec<&str> = match schema.get("type") {
            Some(Value::String(kind)) => vec![kind],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let kinds: Vec<&str> = kinds
            .into_iter()
            .filter_map(|kind| kind.parse().ok())
            .filter(|kind| *kind != JsonType::Null)
            .map(type_name)
            .collect();
        if !kinds.is_empty() {
            text = format!("write {}", kinds.join(" or "));
            text.push_str(&bounds(schema));
        }
    }
    if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
        let separator = if text.is_empty() { "the default is" } else { " (the default is" };
        let end = if text.is_empty() { "" } else { ")" };
        let _ = write!(text, "{separator} {default}{end}");
    }
    if let Some(meaning) = schema.get("description").and_then(Value::as_str) {
        let meaning = meaning.trim().trim_end_matches('.');
        let separator = if text.is_empty() { "" } else { ": " };
        let _ = write!(text, "{separator}{meaning}");
    }
    (!text.is_empty()).then_some(text)
}

/// ` from 1 to 20`, ` above 0 and at most 1`, …
fn bounds(schema: &Value) -> String {
    if let (Some(minimum), Some(maximum)) = (schema.get("minimum"), schema.get("maximum")) {
        return format!(" from {minimum} to {maximum}");
    }
    let words: Vec<String> = [
        ("minimum", "at least"),
        ("exclusiveMinimum", "above"),
        ("maximum", "at most"),
        ("exclusiveMaximum", "below"),
        ("multipleOf", "in steps of"),
        ("pattern", "matching"),
        ("minLength", "of a length of at least"),
        ("maxLength", "of a length of at most"),
        ("minItems", "with at least this many items:"),
        ("maxItems", "with at most this many items:"),
    ]
    .into_iter()
    .filter_map(|(keyword, word)| {
        let bound = schema.get(keyword)?;
        Some(format!("{word} {}", bound.as_str().map_or_else(|| bound.to_string(), str::to_owned)))
    })
    .collect();
    if words.is_empty() { String::new() } else { format!(" {}", words.join(" and ")) }
}
