//! Requirement: JSON Correction Prompt. Focused, with the schema, and with the text
//! in a file that is there as long as it is needed.

use std::path::PathBuf;

use serde_json::json;

use crate::support::gemini_cli::{Recorded, Run};
use crate::support::researcher::{Researcher, example_in, file_to_correct, plain_report, report};

const TALK: &str = "It dived to 923 m, says https://log.example/; I forgot the JSON.";

/// The correction of an answer to this tool, whose text was no JSON.
fn correction(tool: &str) -> (Researcher, Recorded) {
    let user = Researcher::new();
    let checked = report("Checked", true);
    user.fake
        .then(&Run::answers(TALK))
        .then(&Run::answers(&report("Corrected", false)))
        .then(&Run::answers(&checked));
    let asked = user.ask(tool, json!({ "query": "How deep?" }));
    assert_eq!(asked.answer["success"], true, "{:#}", asked.answer);
    let run = user.wait_until_nothing_is_left().remove(1);
    (user, run)
}

#[test]
fn correction_prompt_content() {
    // WHEN the correction prompt is sent to the Gemini CLI
    let (_user, run) = correction("deep_search");
    let prompt = run.input.expect("a prompt");
    for words in [
        // THEN it instructs Gemini to act as a JSON formatter,
        "You are a JSON formatter",
        // to read the invalid output from the file,
        "Read the whole file",
        "temp-invalid-output-",
        // to extract research information from it,
        "Extract the research information in it",
        // to format it into the exact schema,
        "The fields and their types are those of the example",
        // and to return JSON in a fenced block.
        "Return it as exactly one fenced `json` block",
    ] {
        assert!(prompt.contains(words), "{words:?} is missing:\n{prompt}");
    }
    // AND it has a full example, of the tool that was asked.
    let deep_search = example_in(&prompt);
    for field in ["success", "verified", "report", "metadata"] {
        assert!(deep_search.get(field).is_some(), "{deep_search:#}");
    }
    let (_user, run) = correction("search");
    let search = example_in(&run.input.expect("a prompt"));
    assert!(search.get("verified").is_none(), "{search:#}");
    assert!(search["report"].is_string() && search["metadata"].is_object(), "{search:#}");
}

#[test]
fn correction_prompt_with_invalid_output_file() {
    // WHEN the correction prompt is built
    let (user, run) = correction("deep_search");
    let file = file_to_correct(&run);
    // THEN the invalid output has been written to a file of this name,
    let name = file.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
    assert_eq!(run.included, [(name, TALK.to_owned())], "the CLI could read this file alone");
    // AND the prompt has the full path to it, which is private to it,
    assert!(file.is_absolute());
    let directory = file.parent().expect("a directory");
    assert_eq!(run.argument("--include-directories"), directory.to_str());
    assert_eq!(directory.parent(), Some(user.configuration().join("corrections").as_path()));
    // AND the instruction to read from it is there, see above.
}

#[test]
fn temporary_file_cleanup() {
    // WHEN the correction completes, with success or without
    for corrected in [report("Corrected", false), "Nor can I.".to_owned()] {
        let user = Researcher::with_config("[research]\ncycles = 1\nmax_iterations = 2\n");
        let mut hold = user.fake.hold();
        user.fake
            .then(&Run::answers(&report("Draft", false)))
            .then(&Run::answers(TALK))
            .then(&Run::answers(&corrected).held_by(&hold));
        let mut client = user.connect();
        let id = client.begin("deep_search", json!({ "query": "How deep?" }));
        let runs = user.fake.wait_for_runs(3);
        let file = file_to_correct(&runs[2]);
        assert_eq!(std::fs::read_to_string(&file).expect("it is there"), TALK);
        hold.release();
        client.answer(id);
        // THEN the file is deleted by the time of the answer
        assert!(!file.exists());
        assert_eq!(user.texts_to_correct(), Vec::<PathBuf>::new());
        let ended = client.end();
        assert!(!ended.stderr.contains("[ERROR] cannot remove"), "{}", ended.stderr);
    }

    // AND an error is logged if that fails: here because somebody else was quicker.
    let user = Researcher::new();
    let mut hold = user.fake.hold();
    user.fake
        .then(&Run::answers(TALK))
        .then(&Run::answers(&plain_report("Corrected")).held_by(&hold));
    let mut client = user.connect();
    let id = client.begin("search", json!({ "query": "How deep?" }));
    let runs = user.fake.wait_for_runs(2);
    let file = file_to_correct(&runs[1]);
    std::fs::remove_dir_all(file.parent().expect("a directory")).expect("it is there");
    hold.release();
    client.answer(id);
    let ended = client.end();
    let words = format!("[ERROR] cannot remove {}", file.display());
    assert!(ended.stderr.contains(&words), "{}", ended.stderr);
}
