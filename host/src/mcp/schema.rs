//! JSON Schemas that every client's validator takes without a warning: no
//! references, no number formats of Rust's, no `null` beside a type.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

pub fn of<T: JsonSchema>() -> Arc<JsonObject> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    simplify(&mut schema);
    match schema {
        Value::Object(object) => Arc::new(object),
        _ => Arc::default(),
    }
}

fn simplify(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.remove("format");
            object.remove("title");
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(choices)) = object.get("anyOf") {
                let real: Vec<Value> =
                    choices.iter().filter(|choice| choice["type"] != "null").cloned().collect();
                if let [Value::Object(only)] = real.as_slice() {
                    let only = only.clone();
                    object.remove("anyOf");
                    for (key, value) in only {
                        object.entry(key).or_insert(value);
                    }
                }
            }
            if let Some(Value::Array(names)) = object.get_mut("enum") {
                names.retain(|name| !name.is_null());
            }
            for (key, child) in object.iter_mut() {
                // A property may be called `title`: its name is not a keyword.
                if key == "properties" {
                    if let Value::Object(properties) = child {
                        properties.values_mut().for_each(simplify);
                    }
                } else {
                    simplify(child);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Probe {
        count: Option<u64>,
        title: String,
        scope: Option<crate::plugins::contract::Scope>,
    }

    #[test]
    fn nothing_is_left_that_a_strict_client_warns_of() {
        let schema = serde_json::to_value(&*of::<Probe>()).unwrap();
        let text = schema.to_string();
        for word in ["format", "null", "$ref", "anyOf", "$schema"] {
            assert!(!text.contains(&format!("\"{word}\"")), "{word}: {text}");
        }
        assert_eq!(schema["properties"]["count"]["type"], "integer");
        assert_eq!(schema["properties"]["title"]["type"], "string");
        assert_eq!(schema["properties"]["scope"]["enum"][0], "tiny");
        assert_eq!(schema["required"], serde_json::json!(["title"]));
    }
}
