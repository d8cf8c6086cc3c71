//! Finds the one JSON value that was asked for in a model's output, and mends it
//! where it is broken. Linear in the length of the text. Where the schema names
//! fields, nothing gets into the value that is not in the text; where it names
//! none, a name that has lost its value is kept with an empty one (`tolerant` says
//! why).
//!
//! Where fields are named, a text that the end cuts off is left out, and nothing is
//! taken for an answer that stands in the text of one.
//!
//! `regions` says where to look, `find` chooses among the values there (with `lists`),
//! and `inside` keeps it out of the texts of an answer; `strict` finds the end of
//! exact JSON and `exact` reads it, `tolerant` (with `strings`, `quotes` and `words`)
//! reads broken JSON; `node` is what both read, borrowed from the text; `schema` says
//! what fits; `budget` keeps the work linear.

mod budget;
mod bytes;
mod escapes;
mod exact;
mod find;
mod inside;
mod lists;
mod node;
mod quotes;
mod regions;
mod schema;
mod strict;
mod strings;
mod tolerant;
mod words;

pub use find::{Extraction, Failure, extract};

/// There is nothing to set.
pub const SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "extractor-json",
  "type": "object",
  "additionalProperties": false,
  "properties": {}
}"#;

#[cfg(test)]
mod tests;

#[cfg(target_family = "wasm")]
mod component {
    use bathysphere_sdk::types::{Error, ErrorKind};
    use bathysphere_sdk::{extractor, meta};

    use crate::Failure;

    struct Plugin;

    impl meta::Guest for Plugin {
        fn describe() -> meta::Description {
            meta::Description {
                name: env!("CARGO_PKG_NAME").into(),
                version: env!("CARGO_PKG_VERSION").into(),
                kind: "extractor".into(),
                summary: "Finds the JSON value that was asked for in a model's answer, and mends it where it is broken."
                    .into(),
                settings_schema: crate::SCHEMA.into(),
                extra: Vec::new(),
            }
        }

        fn validate(_settings: String) -> Result<(), Vec<meta::Problem>> {
            Ok(())
        }
    }

    impl extractor::Guest for Plugin {
        fn extract(
            _settings: String,
            text: String,
            schema: String,
        ) -> Result<extractor::Extraction, Error> {
            match crate::extract(&text, &schema) {
                Ok(found) => Ok(extractor::Extraction {
                    json: found.json,
                    repaired: found.repaired,
                    notes: found.notes,
                }),
                Err(failure) => Err(error(failure)),
            }
        }
    }

    fn error(failure: Failure) -> Error {
        let (kind, message, hint) = match failure {
            Failure::Schema(problem) => {
                (ErrorKind::InvalidInput, format!("the schema is not JSON: {problem}"), None)
            }
            Failure::Nothing => (
                ErrorKind::NotFound,
                "there is no JSON in the text".to_owned(),
                Some("ask for one fenced json block".to_owned()),
            ),
            Failure::Unfit(problem) => (
                ErrorKind::NotFound,
                format!("no JSON in the text fits the schema: {problem}"),
                None,
            ),
        };
        Error { kind, message, hint }
    }

    bathysphere_sdk::export_extractor!(Plugin);
}
