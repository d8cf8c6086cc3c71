//! Requirement: Model Selection for Search Rounds and Correction. No model is named
//! unless one is set; each kind of run has its own.

use crate::support::gemini_cli::Run;
use crate::support::researcher::{Researcher, is_correction, report};

const MAIN: &str = "GEMINI_MODEL";
const CORRECTION: &str = "GEMINI_CORRECTION_MODEL";
/// Where no model was named.
const NONE: &str = "";

/// The models that are named to the CLI in a first round, in its correction, and in
/// the round that verifies.
fn models(user: &Researcher) -> [String; 3] {
    user.fake
        .then(&Run::answers("I would rather talk than write JSON."))
        .then(&Run::answers(&report("Corrected", false)))
        .then(&Run::answers(&report("Checked", true)));
    let asked = user.deep_search("How deep?");
    assert_eq!(asked.answer["result"], "Checked");
    let runs = user.wait_until_nothing_is_left();
    assert!(is_correction(&runs[1]));
    let named: Vec<String> = runs
        .iter()
        .map(|run| {
            assert!(!run.arguments.iter().any(|argument| argument == "-m"));
            run.argument("--model").unwrap_or(NONE).to_owned()
        })
        .collect();
    named.try_into().expect("three runs")
}

#[test]
fn no_model_specified_auto_selection() {
    // WHEN neither variable is set THEN the CLI is run without `--model`, AND selects
    // by itself, for rounds and corrections
    assert_eq!(models(&Researcher::new()), [NONE, NONE, NONE]);
    // A variable that is passed on empty is not set.
    let empty = Researcher::new().with_variable(MAIN, "").with_variable(CORRECTION, "");
    assert_eq!(models(&empty), [NONE, NONE, NONE]);
}

#[test]
fn main_search_model_specified() {
    // WHEN `GEMINI_MODEL` is set THEN rounds are run with it, AND only they
    let user = Researcher::new().with_variable(MAIN, "gemini-main");
    assert_eq!(models(&user), ["gemini-main", NONE, "gemini-main"]);
}

#[test]
fn correction_model_specified() {
    // WHEN `GEMINI_CORRECTION_MODEL` is set THEN corrections are run with it, AND only
    // they
    let user = Researcher::new().with_variable(CORRECTION, "gemini-small");
    assert_eq!(models(&user), [NONE, "gemini-small", NONE]);
}

#[test]
fn both_models_specified() {
    // WHEN both are set THEN each is used for its own task,
    let both = ["gemini-main", "gemini-small", "gemini-main"];
    let user = Researcher::new()
        .with_variable(MAIN, "gemini-main")
        .with_variable(CORRECTION, "gemini-small");
    assert_eq!(models(&user), both);
    // AND independently: one of them here, the other in plugins.toml, over which the
    // variable wins.
    let user = Researcher::with_config(
        "[plugins.agent-gemini-cli.settings]\nmodel = 'gemini-other'\n\
         correction_model = 'gemini-small'\n",
    )
    .with_variable(MAIN, "gemini-main");
    assert_eq!(models(&user), both);
}
