//! An agent without a model: it answers from the passages it is given, with the
//! sentences that answer best, each word for word and with its exact place. It
//! follows no prompt, reaches nothing, and says so when the passages do not hold
//! an answer.
//!
//! The way of a request: `question` reads what is asked, and `split` and `parts`
//! the parts of a question that asks for several things; `blocks`, `code`,
//! `sentences` and `units` cut the passages into what can be quoted, and `context`
//! tells what it stands under; `score` and `form` weigh each piece, `echo` finds
//! what only asks again, and a `reading` holds the figures; `select` takes the best
//! that differ; `quote` turns them into findings; `answer` puts the reply together.

mod answer;
mod blocks;
mod code;
mod context;
mod echo;
mod form;
mod heading;
mod parts;
mod question;
mod quote;
mod readable;
mod reading;
mod score;
mod select;
mod sentences;
mod settings;
mod split;
mod units;
mod words;

pub use answer::{MODEL, answer, find};
pub use settings::{SCHEMA, Settings, validate};

#[cfg(test)]
mod tests;

#[cfg(target_family = "wasm")]
mod component {
    use bathysphere_sdk::{agent, meta, parse_settings, types::Error};

    struct Plugin;

    impl meta::Guest for Plugin {
        fn describe() -> meta::Description {
            meta::Description {
                name: env!("CARGO_PKG_NAME").into(),
                version: env!("CARGO_PKG_VERSION").into(),
                kind: "agent".into(),
                summary: "Answers from the passages that were found, in their own words and without a model."
                    .into(),
                settings_schema: crate::SCHEMA.into(),
                extra: Vec::new(),
            }
        }

        fn validate(settings: String) -> Result<(), Vec<meta::Problem>> {
            crate::validate(&settings)
        }
    }

    impl agent::Guest for Plugin {
        fn answer(settings: String, request: agent::Request) -> Result<agent::Reply, Error> {
            crate::answer(&parse_settings(&settings)?, &request)
        }
    }

    bathysphere_sdk::export_agent!(Plugin);
}
