//! The generated bindings of contract 0.1, each interface once: what plugins
//! import from the host, and what each kind exports.

#![allow(
    clippy::all,
    clippy::pedantic,
    unused_qualifications,
    missing_docs,
    reason = "generated code"
)]

/// What the host offers to every plugin, and the types that all kinds share.
pub mod host {
    wasmtime::component::bindgen!({
        path: "../wit",
        inline: "
            package bathysphere:host;
            world host {
                import bathysphere:plugin/types@0.1.0;
                import bathysphere:plugin/log@0.1.0;
                import bathysphere:plugin/http@0.1.0;
                import bathysphere:plugin/process@0.1.0;
                import bathysphere:plugin/documents@0.1.0;
            }
        ",
        world: "bathysphere:host/host",
        imports: { default: async | trappable },
        with: {
            "bathysphere:plugin/process.child": crate::plugins::v0_1::imports::RunningChild,
        },
    });
}

pub use host::bathysphere::plugin::types;

macro_rules! exported {
    ($module:ident, $inline:literal) => {
        pub mod $module {
            wasmtime::component::bindgen!({
                path: "../wit",
                inline: $inline,
                world: "bathysphere:host/only",
                exports: { default: async },
                with: {
                    "bathysphere:plugin/types": super::host::bathysphere::plugin::types,
                },
            });
            pub use exports::bathysphere::plugin::$module::*;
        }
    };
}

pub mod meta {
    wasmtime::component::bindgen!({
        path: "../wit",
        inline: "
            package bathysphere:host;
            world only { export bathysphere:plugin/meta@0.1.0; }
        ",
        world: "bathysphere:host/only",
        exports: { default: async },
    });
    pub use exports::bathysphere::plugin::meta::*;
}

exported!(
    strategy,
    "package bathysphere:host; world only { export bathysphere:plugin/strategy@0.1.0; }"
);
exported!(
    extractor,
    "package bathysphere:host; world only { export bathysphere:plugin/extractor@0.1.0; }"
);
exported!(
    estimator,
    "package bathysphere:host; world only { export bathysphere:plugin/estimator@0.1.0; }"
);
exported!(agent, "package bathysphere:host; world only { export bathysphere:plugin/agent@0.1.0; }");
exported!(
    search,
    "package bathysphere:host; world only { export bathysphere:plugin/search@0.1.0; }"
);
exported!(pages, "package bathysphere:host; world only { export bathysphere:plugin/pages@0.1.0; }");
exported!(
    research,
    "package bathysphere:host; world only { export bathysphere:plugin/research@0.1.0; }"
);
