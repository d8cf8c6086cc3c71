//! Does a value fit a JSON Schema? The part of JSON Schema that tells answers
//! apart: types, required and listed fields, the length of strings, enumerations,
//! items, references and combinations. What is not understood forbids nothing.
//!
//! A schema is read into rules once, because every item of a long list is
//! checked against the same few of them.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use crate::escapes;
use crate::node::Node;
use crate::quotes::near;

/// What was asked for.
#[derive(Debug)]
pub struct Schema {
    rules: Vec<Rule>,
    /// The rule of the whole value.
    root: usize,
    wanted: Wanted,
    /// All names of fields, at any depth; empty when it names none at its root.
    names: Vec<String>,
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

/// One schema among schemas; others are named by their place in the list.
#[derive(Debug, Default)]
struct Rule {
    /// Nothing fits.
    never: bool,
    types: Option<Types>,
    listed: Option<Vec<Value>>,
    fixed: Option<Value>,
    /// Characters that a string must have.
    shortest: u64,
    required: Vec<String>,
    properties: Vec<(String, usize)>,
    items: Option<usize>,
    /// Of each list, one must fit.
    choices: Vec<Vec<usize>>,
    parts: Vec<usize>,
}

#[derive(Debug)]
enum Types {
    One(Type, String),
    Several(Vec<Type>),
}

#[derive(Debug, Clone, Copy)]
enum Type {
    Object,
    Array,
    String,
    Boolean,
    Null,
    Number,
    Integer,
    Unknown,
}

/// A character that is written as two codes, in bytes.
const LONGEST_CHARACTER: usize = 12;

/// References may lead in circles; deeper than this nothing is checked.
const DEEPEST: usize = 48;

impl Schema {
    /// Reads a schema; an empty text asks for nothing in particular.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        let root =
            if text.trim().is_empty() { Value::Bool(true) } else { serde_json::from_str(text)? };
        let mut reader = Reader { root: &root, rules: Vec::new(), known: BTreeMap::new() };
        let place = reader.rule(&root);
        let rules = reader.rules;
        let whole = resolve(&root, &root);
        let filled = |name: &str| match whole.get(name) {
            Some(Value::Object(fields)) => !fields.is_empty(),
            Some(Value::Array(names)) => !names.is_empty(),
            _ => false,
        };
        let mut names = Vec::new();
        if filled("properties") || filled("required") || filled("items") {
            for rule in &rules {
                names.extend(rule.required.iter().cloned());
                names.extend(rule.properties.iter().map(|(name, _)| name.clone()));
            }
            names.sort_unstable();
            names.dedup();
        }
        Ok(Self { rules, root: place, wanted: wanted(whole), names })
    }

    pub fn wanted(&self) -> Wanted {
        self.wanted
    }

    /// The fields that the schema names, at any depth; empty when it names none,
    /// so that it cannot tell one answer from another.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether some fields must be there.
    pub fn requires_fields(&self) -> bool {
        !self.rules[self.root].required.is_empty()
    }

    /// A required name that exact JSON does not even hold as text. Quick: it
    /// spares most values that are not the answer from being read.
    pub fn misses(&self, json: &str) -> Option<&str> {
        let plain =
            |name: &&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let required = self.rules[self.root].required.iter().map(String::as_str);
        let missing = required.filter(plain).find(|name| !json.contains(name))?;
        (!json.contains("\\u")).then_some(missing)
    }

    /// How many of the named fields the value has.
    pub fn known_fields(&self, value: &Node) -> usize {
        let Node::Object(fields) = value else {
            return 0;
        };
        let has = |name: &str| fields.iter().any(|(known, _)| known == name);
        self.rules[self.root].properties.iter().filter(|(name, _)| has(name)).count()
    }

    /// Whether an object begins with a field that the schema, which names some,
    /// does not know.
    pub fn begins_strangely(&self, value: &Node) -> bool {
        let Node::Object(fields) = value else {
            return false;
        };
        !self.names.is_empty() && fields.first().is_some_and(|(name, _)| !self.knows(name))
    }

    /// Whether the schema names such a field, at any depth.
    pub fn knows(&self, name: &str) -> bool {
        self.names.binary_search_by(|known| known.as_str().cmp(name)).is_ok()
    }

    /// What is wrong with a value, if anything: where, and what.
    pub fn problem(&self, value: &Node) -> Option<String> {
        self.check(self.root, value, Place::Whole, 0)
    }

    fn check(&self, rule: usize, value: &Node, place: Place, depth: usize) -> Option<String> {
        if depth > DEEPEST {
            return None;
        }
        let rule = &self.rules[rule];
        if rule.never {
            return Some(format!("{place} is not allowed"));
        }
        match &rule.types {
            Some(Types::One(kind, name)) if !is_type(value, *kind) => {
                return Some(format!("{place} is not of type {name}"));
            }
            Some(Types::Several(kinds)) if !kinds.iter().any(|kind| is_type(value, *kind)) => {
                return Some(format!("{place} is of none of the allowed types"));
            }
            _ => {}
        }
        if let Some(values) = &rule.listed
            && !values.iter().any(|listed| value.equals(listed))
        {
            return Some(format!("{place} is none of the listed values"));
        }
        if let Some(fixed) = &rule.fixed
            && !value.equals(fixed)
        {
            return Some(format!("{place} is not the fixed value"));
        }
        if let Node::Text { raw, escaped } = value
            && rule.shortest > 0
            && !is_long_enough(raw, *escaped, rule.shortest)
        {
            return Some(format!("{place} is shorter than {}", rule.shortest));
        }
        if let Node::Object(fields) = value {
            for name in &rule.required {
                if !fields.iter().any(|(known, _)| known == name) {
                    return Some(format!("{} is missing", Place::Field(&place, name)));
                }
            }
            for (name, property) in &rule.properties {
                // Of fields with the same name, the last one counts.
                if let Some((_, field)) = fields.iter().rfind(|(known, _)| known == name)
                    && let Some(problem) =
                        self.check(*property, field, Place::Field(&place, name), depth + 1)
                {
                    return Some(problem);
                }
            }
        }
        if let (Some(items), Node::Array(values)) = (rule.items, value) {
            for (index, item) in values.iter().enumerate() {
                if let Some(problem) =
                    self.check(items, item, Place::Item(&place, index), depth + 1)
                {
                    return Some(problem);
                }
            }
        }
        for choices in &rule.choices {
            if !choices.iter().any(|choice| self.check(*choice, value, place, depth + 1).is_none())
            {
                return Some(format!("{place} fits none of the allowed forms"));
            }
        }
        rule.parts.iter().find_map(|part| self.check(*part, value, place, depth + 1))
    }
}

/// Where in a value, put into words only when there is something to say.
#[derive(Clone, Copy)]
enum Place<'a> {
    Whole,
    Field(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl Place<'_> {
    fn write(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Whole => Ok(()),
            Place::Field(above, name) => {
                above.write(out)?;
                write!(out, "/{name}")
            }
            Place::Item(above, index) => {
                above.write(out)?;
                write!(out, "/{index}")
            }
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Whole => out.write_str("the value"),
            _ => self.write(out),
        }
    }
}

/// Turns schemas into rules, each once, so that circles close.
struct Reader<'a> {
    root: &'a Value,
    rules: Vec<Rule>,
    /// By the address of the schema.
    known: BTreeMap<*const Value, usize>,
}

impl Reader<'_> {
    fn rule(&mut self, schema: &Value) -> usize {
        let schema = resolve(self.root, schema);
        if let Some(place) = self.known.get(&std::ptr::from_ref(schema)) {
            return *place;
        }
        let place = self.rules.len();
        self.known.insert(schema, place);
        self.rules.push(Rule { never: *schema == Value::Bool(false), ..Rule::default() });
        if let Value::Object(schema) = schema {
            self.rules[place] = self.object(schema);
        }
        place
    }

    fn object(&mut self, schema: &Map<String, Value>) -> Rule {
        let names = |names: &Vec<Value>| {
            names.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        let list = |name: &str| schema.get(name).and_then(Value::as_array);
        Rule {
            never: false,
            types: match schema.get("type") {
                Some(Value::String(name)) => Some(Types::One(Type::named(name), name.clone())),
                Some(Value::Array(several)) => {
                    let several = several.iter().filter_map(Value::as_str);
                    Some(Types::Several(several.map(Type::named).collect()))
                }
                _ => None,
            },
            listed: list("enum").cloned(),
            fixed: schema.get("const").cloned(),
            shortest: schema.get("minLength").and_then(Value::as_u64).unwrap_or(0),
            required: list("required").map(names).unwrap_or_default(),
            properties: schema
                .get("properties")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
                .map(|(name, property)| (name.clone(), self.rule(property)))
                .collect(),
            items: schema.get("items").map(|items| self.rule(items)),
            choices: [list("anyOf"), list("oneOf")]
                .into_iter()
                .flatten()
                .map(|choices| choices.iter().map(|choice| self.rule(choice)).collect())
                .collect(),
            parts: list("allOf").into_iter().flatten().map(|part| self.rule(part)).collect(),
        }
    }
}

/// What a schema stands for, when it only refers to another.
fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..8 {
        let Some(reference) = schema.get("$ref").and_then(Value::as_str) else {
            break;
        };
        let Some(target) = reference.strip_prefix('#').and_then(|path| root.pointer(path)) else {
            break;
        };
        schema = target;
    }
    schema
}

fn wanted(schema: &Value) -> Wanted {
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

impl Type {
    fn named(name: &str) -> Self {
        match name {
            "object" => Type::Object,
            "array" => Type::Array,
            "string" => Type::String,
            "boolean" => Type::Boolean,
            "null" => Type::Null,
            "number" => Type::Number,
            "integer" => Type::Integer,
            _ => Type::Unknown,
        }
    }
}

/// Looks no further than it has to: a report may be long.
fn is_long_enough(raw: &str, escaped: bool, shortest: u64) -> bool {
    let shortest = usize::try_from(shortest).unwrap_or(usize::MAX);
    let start = near(raw, shortest.saturating_mul(LONGEST_CHARACTER));
    escapes::resolve(start, escaped).chars().take(shortest).count() == shortest
}

fn is_type(value: &Node, kind: Type) -> bool {
    match kind {
        Type::Object => matches!(value, Node::Object(_)),
        Type::Array => matches!(value, Node::Array(_)),
        Type::String => matches!(value, Node::Text { .. }),
        Type::Boolean => matches!(value, Node::Bool(_)),
        Type::Null => matches!(value, Node::Null),
        Type::Number => matches!(value, Node::Number(_)),
        Type::Integer => match value {
            Node::Number(text) => {
                let digits = text.strip_prefix('-').unwrap_or(text);
                digits.bytes().all(|byte| byte.is_ascii_digit())
                    || text.parse::<f64>().is_ok_and(|number| number.fract() == 0.0)
            }
            _ => false,
        },
        Type::Unknown => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact;
    use serde_json::json;

    fn problem(schema: &Value, value: &Value) -> Option<String> {
        let text = value.to_string();
        Schema::read(&schema.to_string()).unwrap().problem(&exact::read(&text).unwrap())
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let schema = json!({
            "type": "object",
            "required": ["result", "verified"],
            "properties": {
                "result": {"type": "string"},
                "verified": {"type": "boolean"},
                "count": {"type": "integer"},
                "level": {"enum": ["a", "b"]},
                "sources": {"type": "array", "items": {"$ref": "#/$defs/source"}},
                "note": {"type": ["string", "null"]},
                "either": {"anyOf": [{"type": "integer"}, {"const": "x"}]},
                "report": {"type": "string", "minLength": 2}
            },
            "$defs": {"source": {"type": "object", "required": ["url"]}}
        });
        let good = json!({"result": "r", "verified": true, "count": 2.0, "level": "a", "sources": [{"url": "u"}], "note": null, "either": 2});
        assert_eq!(problem(&schema, &good), None);
        for (change, wrong) in [
            (json!({"verified": "yes"}), "/verified is not of type boolean"),
            (json!({"verified": 1}), "/verified is not of type boolean"),
            (json!({"count": 1.5}), "/count is not of type integer"),
            (json!({"level": "c"}), "/level is none of the listed values"),
            (json!({"sources": [{}]}), "/sources/0/url is missing"),
            (json!({"note": 1}), "/note is of none of the allowed types"),
            (json!({"report": "é"}), "/report is shorter than 2"),
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
