//! The built-in extractor as it really runs, in the sandbox and under the default
//! limits, on texts as large as a model's runaway output.

use std::sync::Arc;

use bathysphere::config::{self, Directories, LoadOptions};
use bathysphere::gates::secrets::Secrets;
use bathysphere::plugins::{Plugins, builtin};
use serde_json::{Value, json};

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

fn plugins(home: &std::path::Path) -> Plugins {
    let directories = Directories::beneath(home);
    let loaded = config::load(&LoadOptions {
        config_file: None,
        docs: Vec::new(),
        working_directory: home.to_owned(),
        directories: &directories,
        environment: &|_| None,
        builtins: &builtin::names(),
    });
    let config = loaded.expect("the defaults are sound").config;
    Plugins::new(Arc::new(config), Arc::new(Secrets::default()), directories.cache)
}

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
