//! Settings against a schema, and shown at their lines.

use super::*;

const SCHEMA: &str = r##"{
    "type": "object",
    "additionalProperties": false,
    "required": ["model"],
    "properties": {
        "model": { "type": "string", "description": "Which model to ask." },
        "count": { "type": "integer", "minimum": 1, "maximum": 20, "default": 5,
                   "description": "How many results to ask for." },
        "ratio": { "type": "number", "exclusiveMinimum": 0, "maximum": 1 },
        "depth": { "enum": ["basic", "advanced"], "default": "basic" },
        "nested": { "$ref": "#/$defs/Nested" },
        "names": { "type": "array", "items": { "type": "string", "pattern": "^[a-z]+$" } },
        "note": { "type": ["string", "null"] }
    },
    "$defs": {
        "Nested": {
            "type": "object",
            "additionalProperties": false,
            "properties": { "gain": { "type": "number", "minimum": 0, "default": 0.5 } }
        }
    }
}"##;

fn plugin_with(settings: &str) -> PluginConfig {
    let text = format!("[plugins.mine]\nsource = \"mine.wasm\"\n{settings}");
    let world = World::new().file("here/case.toml", text).flag("case.toml");
    world.loaded().config.plugins["mine"].clone()
}

#[test]
fn settings_that_fit_the_schema_pass() {
    let plugin = plugin_with(
        "[plugins.mine.settings]\nmodel = \"m\"\ncount = 20\nratio = 1\ndepth = \"advanced\"\nnested.gain = 0\nnames = [\"a\"]\n",
    );
    check_settings(&plugin, SCHEMA).unwrap();
    check_settings(&plugin, "").unwrap();
}

#[test]
fn no_settings_fit_unless_the_schema_asks_for_some() {
    let plugin = plugin_with("");
    check_settings(&plugin, r#"{ "type": "object", "properties": { "a": { "type": "null" } } }"#)
        .unwrap();
    for schema in [
        r#"{ "required": ["a"] }"#,
        r#"{ "type": "string" }"#,
        r#"{ "minProperties": 1 }"#,
        r#"{ "allOf": [{ "required": ["a"] }] }"#,
        "false",
    ] {
        assert!(check_settings(&plugin, schema).is_err(), "{schema}");
    }
}

#[test]
fn settings_that_do_not_are_shown_with_what_would_be_right() {
    let plugin = plugin_with(
        "[plugins.mine.settings]\ncount = 0\ncuont = 3\nratio = \"half\"\ndepth = \"Advance\"\n\
         nested.gian = 1\nnested.gain = -1\nnames = [\n  \"fine\",\n  \"NOT\",\n]\nnote = 3\nzebra = 1\n",
    );
    assert_shown(
        "said",
        "settings-that-do-not-are-shown-with-what-would-be-right",
        check_settings(&plugin, SCHEMA).unwrap_err(),
    );
}

#[test]
fn fractions_and_missing_settings_are_said_plainly() {
    let plugin = plugin_with("[plugins.mine.settings]\ncount = 1.5\ndepth = 7\n");
    assert_shown(
        "said",
        "fractions-and-missing-settings-are-said-plainly",
        check_settings(&plugin, SCHEMA).unwrap_err(),
    );
    let plugin = plugin_with("");
    insta::assert_snapshot!(check_settings(&plugin, SCHEMA).unwrap_err(), @"
    `plugins.mine.settings`: the setting `model` is missing
      --> case.toml:1:10
       |
     1 | [plugins.mine]
       |          ^^^^
    hint: write a string: Which model to ask
    ");
}

#[test]
fn a_schema_that_is_wrong_is_the_plugins_fault() {
    let plugin = plugin_with("");
    insta::assert_snapshot!(check_settings(&plugin, "{").unwrap_err(), @"
    the plugin `mine` describes its settings wrongly: its schema is not JSON: EOF while parsing an object at line 1 column 1
    hint: this is a mistake in the plugin, not in your configuration; tell its author
    ");
    insta::assert_snapshot!(check_settings(&plugin, r#"{"type": "strnig"}"#).unwrap_err(), @r#"
    the plugin `mine` describes its settings wrongly: "strnig" is not valid under any of the schemas listed in the 'anyOf' keyword
    hint: this is a mistake in the plugin, not in your configuration; tell its author
    "#);
    assert!(check_settings(&plugin, r#"{"$ref": "https://example.com/schema.json"}"#).is_err());
}

#[test]
fn what_a_plugin_says_itself_is_shown_at_the_nearest_place() {
    let plugin =
        plugin_with("[plugins.mine.settings]\n\"a/b\" = { c = 1 }\nlist = [\n  1,\n  2,\n]\n");
    let problem = |path: &str| SettingProblem {
        path: path.to_owned(),
        message: "does not do".to_owned(),
        hint: None,
    };
    let problems = ["/list/1", "/a~1b/c", "/a~1b/missing/deep", "", "/nowhere"].map(problem);
    let error = settings_error(&plugin, &problems);
    let lines: Vec<(Option<usize>, &str)> = error
        .problems
        .iter()
        .map(|problem| (problem.origin.as_ref().unwrap().line, problem.message.as_str()))
        .collect();
    assert_eq!(
        lines,
        [
            (Some(3), "`plugins.mine.settings`: does not do"),
            (Some(3), "`plugins.mine.settings.nowhere`: does not do"),
            (Some(4), "`plugins.mine.settings.a/b.missing.deep`: does not do"),
            (Some(4), "`plugins.mine.settings.a/b.c`: does not do"),
            (Some(7), "`plugins.mine.settings.list.1`: does not do"),
        ]
    );
}
