//! Requirement: Configurable Iteration Limit.

use serde_json::json;

use crate::support::gemini_cli::Run;
use crate::support::researcher::{Asked, Researcher, report};

const VARIABLE: &str = "DEEP_SEARCH_MAX_ITERATIONS";

/// A deep search that is never verified, and how many rounds it had.
fn rounds(user: &Researcher) -> (usize, Asked) {
    user.fake.otherwise(&Run::answers(&report("Draft", false)));
    let asked = user.deep_search("How deep?");
    let count = user.wait_until_nothing_is_left().len();
    assert_eq!(asked.answer["metadata"]["iterations"], count);
    let first = format!("[INFO] Deep search round 1/{count}...");
    assert_eq!(asked.log("[INFO] Deep search round 1/"), [first]);
    (count, asked)
}

#[test]
fn default_iteration_count() {
    // WHEN the variable is not set THEN there are at most 5
    let (count, asked) = rounds(&Researcher::new());
    assert_eq!(count, 5);
    assert_eq!(asked.log("[WARN]"), Vec::<&str>::new());
}

#[test]
fn custom_iteration_count() {
    // WHEN it is set THEN its value is used,
    let (count, asked) = rounds(&Researcher::new().with_variable(VARIABLE, "3"));
    assert_eq!(count, 3);
    assert_eq!(asked.log("[WARN]"), Vec::<&str>::new());
    // also against plugins.toml,
    let configured = || Researcher::with_config("[research]\nmax_iterations = 3\n");
    assert_eq!(rounds(&configured().with_variable(VARIABLE, "2")).0, 2);
    // which counts without it; and a call may say its own.
    let user = configured();
    assert_eq!(rounds(&user).0, 3);
    let asked = user.ask("deep_search", json!({ "query": "How deep?", "max_iterations": 2 }));
    assert_eq!(asked.answer["metadata"]["iterations"], 2);
}

#[test]
fn minimum_iteration_count() {
    // WHEN it is less than 2 THEN 2 are used, and that is said
    for value in ["1", "0"] {
        let (count, asked) = rounds(&Researcher::new().with_variable(VARIABLE, value));
        assert_eq!(count, 2);
        let warnings = asked.log("[WARN]").join("\n");
        assert!(warnings.contains(VARIABLE) && warnings.contains("2 is used"), "{warnings}");
    }
}

#[test]
fn a_bad_value_is_warned_about_and_the_default_stays() {
    for value in ["many", "-1", "9999"] {
        let user = Researcher::new().with_variable(VARIABLE, value);
        user.fake
            .then(&Run::answers(&report("Draft", false)))
            .then(&Run::answers(&report("Checked", true)));
        let asked = user.deep_search("How deep?");
        let warnings = asked.log("[WARN]").join("\n");
        assert!(warnings.contains(VARIABLE) && warnings.contains("stays 5"), "{warnings}");
        assert_eq!(asked.log("[INFO] Deep search round 1/5...").len(), 1);
    }
}

/// A file that was merely found cannot make research dearer by way of the strategy.
#[test]
fn a_strategy_takes_no_more_rounds_than_it_was_given() {
    let user = Researcher::new();
    user.fake.otherwise(&Run::answers(&report("Draft", false)));
    let dear = "[plugins.strategy-adaptive.settings]\nverify_rounds = 50\nmax_rounds = 50\n";
    std::fs::write(user.home.work().join("plugins.toml"), dear).expect("room");
    user.run(["research", "How deep?"]).assert_success();
    assert_eq!(user.fake.runs().len(), 5);
}
