//! The built-in extractor as it really runs, in the sandbox and under the default
//! limits, on texts as large as a model's runaway output.

use serde_json::{Value, json};

use crate::support::builtins::plugins;

const SCHEMA: &str = r#"{
  "type": "object",
  "required": ["verified", "report"],
  "properties": {
    "success": {"type": "boolean"},
    "verified": {"type": "boolean"},
    "report": {"type": "string", "minLength": 1}
  }
}"#;
const TEN_MEGABYTES: usize = 10_000_000;

fn noise(piece: &str) -> String {
    piece.repeat(TEN_MEGABYTES / piece.len())
}

#[tokio::test]
async fn ten_megabytes_stay_within_the_default_limits() {
    let home = tempfile::tempdir().expect("there is room for temporary files");
    let plugins = plugins(home.path());
    let extractor = plugins.extractor().await.expect("the built-in extractor loads");
    for piece in ["{", "[", "`", "```json\n", "\"", "\\", "{x} [y]: ", "<think>", "é"] {
        let error = extractor.extract(&noise(piece), SCHEMA).await.expect_err("it is noise");
        let message = error.to_string();
        assert!(!message.contains("limit"), "{piece}: {message}");
    }
    let report = "A line with \"quotes\", {braces} and ```fences```.\n".repeat(100_000);
    let answer = json!({ "verified": true, "report": report });
    let broken = format!("{{'verified': True, \"report\": \"{report}\",}}");
    for text in [
        format!("{}{answer}", noise("thinking [1], {x} and \"so on\" ")),
        format!("```json\n{answer}\n```"),
        broken,
    ] {
        let found = extractor.extract(&text, SCHEMA).await.expect("the answer is there");
        let found: Value = serde_json::from_str(&found.json).expect("valid JSON");
        assert!(found == answer, "another value than was meant");
    }
}
