//! What the author of a plugin depends on: the bindings of the contract in
//! `wit/`, an export macro for each kind, and a few helpers. No host code.
//!
//! A plugin is a library crate (`crate-type = ["cdylib", "rlib"]`) with its logic
//! in plain Rust, and one module for WebAssembly only, so that the logic builds
//! and is tested natively:
//!
//! ```ignore
//! #[cfg(target_family = "wasm")]
//! mod component {
//!     struct Plugin;
//!     impl bathysphere_sdk::meta::Guest for Plugin { /* describe, validate */ }
//!     impl bathysphere_sdk::strategy::Guest for Plugin { /* make_plan, next_step */ }
//!     bathysphere_sdk::export_strategy!(Plugin);
//! }
//! ```

mod settings;

pub use settings::{checked_settings, parse_settings, schema_defaults};

/// Everything a plugin may import, and the types that all kinds share.
#[allow(warnings, clippy::all, clippy::pedantic, reason = "generated code")]
mod shared {
    wit_bindgen::generate!({
        path: ["../../wit", "wit"],
        world: "bathysphere:sdk/shared",
        generate_all,
        additional_derives: [PartialEq],
    });
}

pub use shared::bathysphere::plugin::{documents, http, log, process, types};

/// What every plugin says about itself.
pub mod meta {
    pub use generated::exports::bathysphere::plugin::meta::*;

    #[doc(hidden)]
    #[allow(warnings, clippy::all, clippy::pedantic, reason = "generated code")]
    pub mod generated {
        wit_bindgen::generate!({
            path: ["../../wit", "wit"],
            world: "bathysphere:sdk/only-meta",
            pub_export_macro: true,
            export_macro_name: "__export_meta",
            additional_derives: [PartialEq],
        });
    }
}

macro_rules! kind {
    ($module:ident, $doc:literal, $export:ident, $inner:ident, $inner_name:literal, $world:literal) => {
        #[doc = $doc]
        pub mod $module {
            pub use generated::exports::bathysphere::plugin::$module::*;

            #[doc(hidden)]
            #[allow(warnings, clippy::all, clippy::pedantic, reason = "generated code")]
            pub mod generated {
                wit_bindgen::generate!({
                    path: ["../../wit", "wit"],
                    world: $world,
                    with: { "bathysphere:plugin/types@0.1.0": crate::types },
                    pub_export_macro: true,
                    export_macro_name: $inner_name,
                    additional_derives: [PartialEq],
                });
            }
        }

        /// Makes a type that implements `meta::Guest` and this kind's `Guest`
        /// the component's implementation.
        #[macro_export]
        macro_rules! $export {
            ($plugin:ident) => {
                $crate::meta::generated::__export_meta!(
                    $plugin with_types_in $crate::meta::generated
                );
                $crate::$module::generated::$inner!(
                    $plugin with_types_in $crate::$module::generated
                );
            };
        }
    };
}

kind!(
    strategy,
    "For plugins that decide how to research.",
    export_strategy,
    __export_strategy,
    "__export_strategy",
    "bathysphere:sdk/only-strategy"
);
kind!(
    extractor,
    "For plugins that find JSON in a model's output.",
    export_extractor,
    __export_extractor,
    "__export_extractor",
    "bathysphere:sdk/only-extractor"
);
kind!(
    estimator,
    "For plugins that say what a question would cost.",
    export_estimator,
    __export_estimator,
    "__export_estimator",
    "bathysphere:sdk/only-estimator"
);
kind!(
    agent,
    "For backends that answer a prompt.",
    export_agent,
    __export_agent,
    "__export_agent",
    "bathysphere:sdk/only-agent"
);
kind!(
    search,
    "For backends that find sources.",
    export_search,
    __export_search,
    "__export_search",
    "bathysphere:sdk/only-search"
);
kind!(
    pages,
    "For backends that read pages.",
    export_pages,
    __export_pages,
    "__export_pages",
    "bathysphere:sdk/only-pages"
);
kind!(
    research,
    "For backends that take a whole question.",
    export_research,
    __export_research,
    "__export_research",
    "bathysphere:sdk/only-research"
);
