//! Does a value fit a JSON Schema? The part of JSON Schema that tells answers
//! apart: types, required and listed fields, enumerations, items, references and
//! combinations. What is not understood forbids nothing.

use serde_json::Value;

/// What was asked for.
#[derive(Debug)]
pub struct Schema {
    root: Value,
}

/// Which kind of value the schema wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    Object,
    Array,
    /// It does not say, or allows several.
    Any,
    /// A string, a number …
    Scalar,
}

/// References may lead in circles; deeper than this nothing is checked.
const DEEPEST: usize = 48;

impl Schema {
    /// Reads a schema; an empty text asks for nothing in particular.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        let root =
            if text.trim().is_empty() { Value::Bool(true) } else { serde_json::from_str(text)? };
        Ok(Self { root })
    }

    pub fn wanted(&self) -> Wanted {
        let schema = self.resolve(&self.root);
        match schema.get("type").and_then(Value::as_str) {
            Some("object") => Wanted::Object,
            Some("array") => Wanted::Array,
            Some(_) => Wanted::Scalar,
            None if schema.get("properties").is_some() || schema.get("required").is_some() => {
                Wanted::Object
            }
            None => Wanted::Any,
        }
    }

    /// Whether the schema names fields, so that it can tell one answer from
    /// another.
    pub fn names_fields(&self) -> bool {
        let schema = self.resolve(&self.root);
        let filled = |name: &str| match schema.get(name) {
            Some(Value::Object(fields)) => !fields.is_empty(),
            Some(Value::Array(names)) => !names.is_empty(),
            _ => false,
        };
        filled("properties") || filled("required") || filled("items")
    }

    /// A required name that exact JSON does not even hold as text. Quick: it
    /// spares most values that are not the answer from being parsed.
    pub fn misses(&self, json: &str) -> Option<&str> {
        if json.contains("\\u") {
            return None;
        }
        let required = self.resolve(&self.root).get("required").and_then(Value::as_array)?;
        let plain =
            |name: &&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        required.iter().filter_map(Value::as_str).filter(plain).find(|name| !json.contains(name))
    }

    /// How many of the named fields the value has.
    pub fn known_fields(&self, value: &Value) -> usize {
        let schema = self.resolve(&self.root);
        let (Some(properties), Some(fields)) =
            (schema.get("properties").and_then(Value::as_object), value.as_object())
        else {
            return 0;
        };
        fields.keys().filter(|name| properties.contains_key(*name)).count()
    }

    /// What is wrong with a value, if anything: where, and what.
    pub fn problem(&self, value: &Value) -> Option<String> {
        self.check(&self.root, value, "", 0)
    }

    fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let mut schema = schema;
        for _ in 0..8 {
            let Some(reference) = schema.get("$ref").and_then(Value::as_str) else {
                break;
            };
            let Some(target) = reference.strip_prefix('#').and_then(|path| self.root.pointer(path))
            else {
                break;
            };
            schema = target;
        }
        schema
    }

    fn check(&self, schema: &Value, value: &Value, place: &str, depth: usize) -> Option<String> {
        if depth > DEEPEST {
            return None;
        }
        let schema = self.resolve(schema);
        if schema == &Value::Bool(false) {
            return Some(format!("{} is not allowed", named(place)));
        }
        let schema = schema.as_object()?;
        let fits = |schema: &Value| self.check(schema, value, place, depth + 1).is_none();
        match schema.get("type") {
            Some(Value::String(name)) if !is_type(value, name) => {
                return Some(format!("{} is not of type {name}", named(place)));
            }
            Some(Value::Array(names))
                if !names.iter().filter_map(Value::as_str).any(|name| is_type(value, name)) =>
            {
                return Some(format!("{} is of none of the allowed types", named(place)));
            }
            _ => {}
        }
        if let Some(Value::Array(values)) = schema.get("enum")
            && !values.contains(value)
        {
            return Some(format!("{} is none of the listed values", named(place)));
        }
        if let Some(constant) = schema.get("const")
            && constant != value
        {
            return Some(format!("{} is not the fixed value", named(place)));
        }
        if let Some(fields) = value.as_object() {
            for name in schema
                .get("required")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
            {
                if !fields.contains_key(name) {
                    return Some(format!("{place}/{name} is missing"));
                }
            }
            if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
                for (name, field) in fields {
                    if let Some(property) = properties.get(name)
                        && let Some(problem) =
                            self.check(property, field, &format!("{place}/{name}"), depth + 1)
                    {
                        return Some(problem);
                    }
                }
            }
        }
        if let (Some(items), Some(values)) = (schema.get("items"), value.as_array()) {
            for (index, item) in values.iter().enumerate() {
                if let Some(problem) =
                    self.check(items, item, &format!("{place}/{index}"), depth + 1)
                {
                    return Some(problem);
                }
            }
        }
        for name in ["anyOf", "oneOf"] {
            if let Some(Value::Array(choices)) = schema.get(name)
                && !choices.iter().any(fits)
            {
                return Some(format!("{} fits none of the allowed forms", named(place)));
            }
        }
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            if let Some(problem) = self.check(part, value, place, depth + 1) {
                return Some(problem);
            }
        }
        None
    }
}

fn named(place: &str) -> &str {
    if place.is_empty() { "the value" } else { place }
}

fn is_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => {
            value.is_i64()
                || value.is_u64()
                || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn problem(schema: &Value, value: &Value) -> Option<String> {
        Schema::read(&schema.to_string()).unwrap().problem(value)
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let schema = json!({
            "type": "object",
            "required": ["result", "verified"],
            "properties": {
                "result": {"type": "string"},
                "verified": {"type": "boolean"},
                "level": {"enum": ["a", "b"]},
                "sources": {"type": "array", "items": {"$ref": "#/$defs/source"}},
                "note": {"type": ["string", "null"]},
                "either": {"anyOf": [{"type": "integer"}, {"const": "x"}]}
            },
            "$defs": {"source": {"type": "object", "required": ["url"]}}
        });
        let good = json!({"result": "r", "verified": true, "level": "a", "sources": [{"url": "u"}], "note": null, "either": 2});
        assert_eq!(problem(&schema, &good), None);
        for (change, wrong) in [
            (json!({"verified": "yes"}), "/verified is not of type boolean"),
            (json!({"level": "c"}), "/level is none of the listed values"),
            (json!({"sources": [{}]}), "/sources/0/url is missing"),
            (json!({"note": 1}), "/note is of none of the allowed types"),
            (json!({"either": 1.5}), "/either fits none of the allowed forms"),
        ] {
            let mut value = good.clone();
            value.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            assert_eq!(problem(&schema, &value).as_deref(), Some(wrong));
        }
        assert_eq!(
            problem(&schema, &json!({"result": ""})).as_deref(),
            Some("/verified is missing")
        );
        assert_eq!(
            problem(&schema, &json!([])).as_deref(),
            Some("the value is not of type object")
        );
    }

    #[test]
    fn circles_end() {
        let schema = json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}});
        assert_eq!(problem(&schema, &json!({})), None);
        let schema = json!({"allOf": [{"$ref": "#"}]});
        assert_eq!(problem(&schema, &json!({})), None);
    }
}
