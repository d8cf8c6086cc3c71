//! What the hostile plugins share: everything but the misbehaviour.
//!
//! Each file in `plugins/` is a component that is well-formed on the outside and
//! does one wrong thing inside one call.

pub use bathysphere_sdk as sdk;

use sdk::meta::Description;
use sdk::types::{Level, Plan, SearchDepth};

/// An honest description; the host has no reason to refuse it.
pub fn description(kind: &str) -> Description {
    Description {
        name: "hostile".to_owned(),
        version: "0.1.0".to_owned(),
        kind: kind.to_owned(),
        summary: "Does one thing that no plugin may do".to_owned(),
        settings_schema: r#"{"type":"object","properties":{},"additionalProperties":false}"#
            .to_owned(),
        extra: Vec::new(),
    }
}

/// A plan with nothing wrong but, perhaps, its reason.
pub fn plan(reason: String) -> Plan {
    Plan {
        level: Level::Shallow,
        rounds: 1,
        results: 1,
        pages: 0,
        depth: SearchDepth::Basic,
        reason,
        extra: Vec::new(),
    }
}

/// A strategy whose `make_plan` takes its reason from the given function.
#[macro_export]
macro_rules! strategy {
    ($misbehave:path) => {
        $crate::strategy!($misbehave, $crate::description);
    };
    ($misbehave:path, $describe:path) => {
        struct Plugin;

        impl $crate::sdk::meta::Guest for Plugin {
            fn describe() -> $crate::sdk::meta::Description {
                $describe("strategy")
            }

            fn validate(_settings: String) -> Result<(), Vec<$crate::sdk::meta::Problem>> {
                Ok(())
            }
        }

        impl $crate::sdk::strategy::Guest for Plugin {
            fn make_plan(
                _settings: String,
                _question: $crate::sdk::types::Question,
            ) -> Result<$crate::sdk::types::Plan, $crate::sdk::types::Error> {
                Ok($crate::plan($misbehave()))
            }

            fn next_step(
                _settings: String,
                situation: $crate::sdk::strategy::Situation,
            ) -> Result<$crate::sdk::strategy::Decision, $crate::sdk::types::Error> {
                use $crate::sdk::strategy::{Decision, FinishStep, Step, StopReason};
                Ok(Decision {
                    step: Step::Finish(FinishStep { reason: StopReason::NotNeeded, note: None }),
                    reason: "there is nothing honest to do".to_owned(),
                    memo: situation.memo,
                })
            }
        }

        $crate::sdk::export_strategy!(Plugin);
    };
}

/// A search backend whose `prepare` and `search` both call the given function.
#[macro_export]
macro_rules! search {
    ($misbehave:path) => {
        struct Plugin;

        impl $crate::sdk::meta::Guest for Plugin {
            fn describe() -> $crate::sdk::meta::Description {
                $crate::description("search")
            }

            fn validate(_settings: String) -> Result<(), Vec<$crate::sdk::meta::Problem>> {
                Ok(())
            }
        }

        impl $crate::sdk::search::Guest for Plugin {
            fn prepare(
                _settings: String,
            ) -> Result<$crate::sdk::search::Preparation, $crate::sdk::types::Error> {
                let notes = vec![$misbehave()];
                Ok($crate::sdk::search::Preparation { items: 0, updated: 0, removed: 0, notes })
            }

            fn search(
                _settings: String,
                _query: $crate::sdk::search::Query,
            ) -> Result<$crate::sdk::search::Results, $crate::sdk::types::Error> {
                Err($crate::sdk::types::Error {
                    kind: $crate::sdk::types::ErrorKind::Unavailable,
                    message: $misbehave(),
                    hint: None,
                })
            }
        }

        $crate::sdk::export_search!(Plugin);
    };
}
