//! What variables set over the files, and what is said of those that will not do.

use super::*;

const ITERATIONS: &str = "DEEP_SEARCH_MAX_ITERATIONS";

fn settings(loaded: &LoadedConfig) -> serde_json::Value {
    loaded.config.plugins["agent-gemini-cli"].settings.clone().into()
}

fn origin(loaded: &LoadedConfig, key: &str) -> String {
    let values = explain(loaded);
    values.iter().find(|value| value.key == key).unwrap().origin.to_string()
}

#[cfg(unix)]
fn not_text() -> OsString {
    use std::os::unix::ffi::OsStringExt;
    OsString::from_vec(b"caf\xe9".to_vec())
}

#[test]
fn variables_win_over_every_file() {
    let file = "[research]\nmax_iterations = 3\n\
                [plugins.agent-gemini-cli.settings]\nmodel = \"a\"\nkept = 1\n";
    for world in [World::new().own(file), World::new().file("here/named", file).flag("named")] {
        let loaded = world
            .variable(ITERATIONS, " 7\n")
            .variable("GEMINI_MODEL", "gemini-b")
            .variable("GEMINI_CORRECTION_MODEL", "\tgemini-c ")
            .loaded();
        assert_eq!(loaded.config.research.max_iterations, 7);
        assert_eq!(
            settings(&loaded),
            serde_json::json!({ "model": "gemini-b", "correction_model": "gemini-c", "kept": 1 })
        );
        assert_eq!(loaded.warnings, [""; 0]);
        assert_eq!(origin(&loaded, "research.max_iterations"), ITERATIONS);
        assert_eq!(origin(&loaded, "plugins.agent-gemini-cli.settings.model"), "GEMINI_MODEL");
        // So that a wrong one is shown as the variable's, and the rest as the file's.
        let origins = &loaded.config.plugins["agent-gemini-cli"].origins;
        assert_eq!(origins["/correction_model"].to_string(), "GEMINI_CORRECTION_MODEL");
        assert_eq!(origins["/kept"].line, Some(5));
        assert_eq!(origins[""].line, Some(3));
    }
}

#[test]
fn variables_set_what_no_file_names() {
    let loaded = World::new().variable(ITERATIONS, "50").variable("GEMINI_MODEL", "b").loaded();
    assert_eq!(loaded.config.research.max_iterations, 50);
    assert_eq!(settings(&loaded)["model"], "b");
    assert!(settings(&loaded).get("correction_model").is_none());
}

#[test]
fn an_empty_variable_is_not_set() {
    let loaded = World::new()
        .own("[research]\nmax_iterations = 3\n")
        .variable(ITERATIONS, "")
        .variable("GEMINI_MODEL", " \t")
        .loaded();
    assert_eq!(loaded.config.research.max_iterations, 3);
    assert!(settings(&loaded).get("model").is_none());
    assert_eq!(loaded.warnings, [""; 0]);
}

#[test]
fn a_bad_number_is_warned_about_and_the_files_stand() {
    for (value, shown) in [
        ("many", "\"many\""),
        ("-3", "\"-3\""),
        ("51", "\"51\""),
        ("3.5", "\"3.5\""),
        ("99999999999999999999999", "\"99999999999999999999999\""),
        ("a\u{1b}[31m\nb", "\"a\u{fffd}[31m\u{fffd}b\""),
    ] {
        let loaded = World::new().variable(ITERATIONS, value).loaded();
        assert_eq!(loaded.config.research, ResearchConfig::default(), "{value}");
        assert_eq!(
            loaded.warnings,
            [format!(
                "DEEP_SEARCH_MAX_ITERATIONS is {shown}, and must be a whole number from 2 to 50: \
                 it is ignored, and `research.max_iterations` stays 5"
            )]
        );
        assert_eq!(origin(&loaded, "research.max_iterations"), "built-in");
    }
    let world = World::new().own("[research]\nmax_iterations = 9\n");
    let loaded = world.variable(ITERATIONS, "x".repeat(1000)).loaded();
    assert_eq!(loaded.config.research.max_iterations, 9);
    assert!(loaded.warnings[0].ends_with("stays 9"), "{}", loaded.warnings[0]);
    assert!(loaded.warnings[0].len() < 250, "{}", loaded.warnings[0]);
}

#[test]
fn a_number_that_is_too_small_becomes_the_smallest() {
    for value in ["0", "1"] {
        let world = World::new().own("[research]\nmax_iterations = 9\n");
        let loaded = world.variable(ITERATIONS, value).loaded();
        assert_eq!(loaded.config.research.max_iterations, 2);
        assert_eq!(
            loaded.warnings,
            [format!("DEEP_SEARCH_MAX_ITERATIONS is {value}, and the least is 2: 2 is used")]
        );
        assert_eq!(origin(&loaded, "research.max_iterations"), ITERATIONS);
    }
}

#[test]
fn a_model_that_cannot_be_an_argument_is_ignored() {
    for (value, reason) in [
        ("--yolo".to_owned(), "starts with `-`, like a flag"),
        ("m".repeat(201), "is longer than 200 bytes"),
        ("a\nb".to_owned(), "holds characters that cannot be printed"),
        ("a\u{1b}[31m".to_owned(), "holds characters that cannot be printed"),
        ("a\u{202e}b".to_owned(), "holds characters that cannot be printed"),
    ] {
        let world = World::new()
            .own("[plugins.agent-gemini-cli.settings]\nmodel = \"a\"\n")
            .variable("GEMINI_MODEL", value);
        let loaded = world.loaded();
        assert_eq!(settings(&loaded)["model"], "a");
        assert_eq!(
            loaded.warnings,
            [format!(
                "GEMINI_MODEL is ignored, because it {reason}; write the name of a model, such \
                 as gemini-2.5-flash"
            )]
        );
    }
    let longest = "m".repeat(200);
    let loaded = World::new().variable("GEMINI_MODEL", &longest).loaded();
    assert_eq!(settings(&loaded)["model"], longest);
}

#[cfg(unix)]
#[test]
fn what_is_not_text_is_ignored_with_a_warning() {
    let loaded =
        World::new().variable(ITERATIONS, not_text()).variable("GEMINI_MODEL", not_text()).loaded();
    assert_eq!(loaded.config.research, ResearchConfig::default());
    assert!(settings(&loaded).get("model").is_none());
    insta::assert_snapshot!(loaded.warnings.join("\n"), @"
    DEEP_SEARCH_MAX_ITERATIONS is not UTF-8 text, and must be a whole number from 2 to 50: it is ignored, and `research.max_iterations` stays 5
    GEMINI_MODEL is ignored, because it is not UTF-8 text; write the name of a model, such as gemini-2.5-flash
    ");
}

#[test]
fn another_component_in_its_place_is_not_told_of_models() {
    for value in ["gemini-b", "--yolo"] {
        let loaded = World::new()
            .own("[plugins.agent-gemini-cli]\nsource = \"mine.wasm\"\n")
            .variable("GEMINI_MODEL", value)
            .loaded();
        assert!(settings(&loaded).get("model").is_none());
        assert_eq!(loaded.warnings, [""; 0]);
    }
}
