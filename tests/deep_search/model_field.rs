//! Requirement: Metadata Model Field Detection.

use serde_json::json;

use crate::support::gemini_cli::{MODEL, Run};
use crate::support::researcher::{Researcher, report};

#[test]
fn model_explicitly_configured() {
    // WHEN `GEMINI_MODEL` is set
    let user = Researcher::new().with_variable("GEMINI_MODEL", "gemini-main");
    user.fake
        .then(&Run::answers(&report("Draft", false)))
        .then(&Run::answers(&report("Checked", true)));
    // THEN that name is in `metadata.model`, whatever the CLI says
    assert_eq!(user.deep_search("How deep?").answer["metadata"]["model"], "gemini-main");
}

#[test]
fn model_auto_selected_with_successful_detection() {
    // WHEN it is not set, and the CLI's output names the model
    let user = Researcher::new();
    user.fake
        .then(&Run::answers(&report("Draft", false)))
        .then(&Run::answers(&report("Checked", true)));
    // THEN that one is in `metadata.model`
    assert_eq!(user.deep_search("How deep?").answer["metadata"]["model"], MODEL);
}

#[test]
fn model_auto_selected_with_failed_detection() {
    // WHEN it is not set, and the CLI's output does not name the model
    let user = Researcher::new();
    let nameless = |text: &str| {
        let message =
            json!({ "type": "message", "role": "assistant", "content": text, "delta": true });
        let result = json!({ "type": "result", "status": "success", "stats": {} });
        Run::new().begins().prints(&format!("{message}\n{result}\n"))
    };
    user.fake.then(&nameless(&report("Draft", false))).then(&nameless(&report("Checked", true)));
    let asked = user.deep_search("How deep?");
    assert_eq!(asked.answer["result"], "Checked");
    // THEN `metadata.model` is "auto-detected"
    assert_eq!(asked.answer["metadata"]["model"], "auto-detected");
}
