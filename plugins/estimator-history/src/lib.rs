//! What a question will take before it is asked: a rule of thumb at first, then the
//! user's own past runs. Pure: no clock, no network, no memory; the same question
//! and the same history always give the same forecast, and no tokens are spent.
//!
//! ```text
//! complexity  simple, medium or complex, from the words of the question
//! rule        what to expect where there are no past runs
//! history     which past runs are like this one
//! interval    from the values of past runs to a range, and how often such held
//! forecast    all of it together, in words too
//! ```

mod complexity;
mod forecast;
mod history;
mod interval;
mod rule;
mod settings;

pub use complexity::Complexity;
pub use forecast::estimate;
pub use settings::{SCHEMA, Settings, validate};

#[cfg(test)]
mod tests;

/// A value by name among names and values.
fn extra<'a>(extra: &'a [(String, String)], wanted: &str) -> Option<&'a str> {
    extra.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
}

#[cfg(target_family = "wasm")]
mod component {
    use bathysphere_sdk::{estimator, meta, parse_settings, types};

    struct Plugin;

    impl meta::Guest for Plugin {
        fn describe() -> meta::Description {
            meta::Description {
                name: env!("CARGO_PKG_NAME").into(),
                version: env!("CARGO_PKG_VERSION").into(),
                kind: "estimator".into(),
                summary:
                    "Says what a question will take, from its words and from your own past runs."
                        .into(),
                settings_schema: crate::SCHEMA.into(),
                extra: Vec::new(),
            }
        }

        fn validate(settings: String) -> Result<(), Vec<meta::Problem>> {
            crate::validate(&settings)
        }
    }

    impl estimator::Guest for Plugin {
        fn estimate(
            settings: String,
            question: types::Question,
            plan: types::Plan,
            history: Vec<estimator::PastRun>,
        ) -> Result<estimator::Forecast, types::Error> {
            Ok(crate::estimate(&parse_settings(&settings)?, &question, &plan, &history))
        }
    }

    bathysphere_sdk::export_estimator!(Plugin);
}
