//! How much research a question deserves, what to look up next, and when to
//! stop. Pure: no clock, no network, no memory; the same situation always gives
//! the same decision, so that a run can be resumed and replayed.

mod plan;
mod settings;
mod step;
mod words;

pub use plan::make_plan;
pub use settings::{Mode, SCHEMA, Settings, validate};
pub use step::next_step;

#[cfg(test)]
mod tests;

#[cfg(target_family = "wasm")]
mod component {
    use bathysphere_sdk::{meta, parse_settings, strategy, types};

    struct Plugin;

    impl meta::Guest for Plugin {
        fn describe() -> meta::Description {
            meta::Description {
                name: env!("CARGO_PKG_NAME").into(),
                version: env!("CARGO_PKG_VERSION").into(),
                kind: "strategy".into(),
                summary: "Researches as much as the question deserves, and stops when more effort stops helping."
                    .into(),
                settings_schema: crate::SCHEMA.into(),
                extra: Vec::new(),
            }
        }

        fn validate(settings: String) -> Result<(), Vec<meta::Problem>> {
            crate::validate(&settings)
        }
    }

    impl strategy::Guest for Plugin {
        fn make_plan(
            settings: String,
            question: types::Question,
        ) -> Result<types::Plan, types::Error> {
            Ok(crate::make_plan(&parse_settings(&settings)?, &question))
        }

        fn next_step(
            settings: String,
            situation: strategy::Situation,
        ) -> Result<strategy::Decision, types::Error> {
            Ok(crate::next_step(&parse_settings(&settings)?, &situation))
        }
    }

    bathysphere_sdk::export_strategy!(Plugin);
}
