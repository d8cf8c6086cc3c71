//! Built against a contract that this host does not know.

wit_bindgen::generate!({
    inline: r#"
        package bathysphere:plugin@0.2.0;

        interface meta {
            record description {
                name: string,
                version: string,
                kind: string,
                summary: string,
                settings-schema: string,
                authors: list<string>,
            }
            describe: func() -> description;
        }

        interface strategy {
            next-step: func(settings: string, situation: string) -> string;
        }

        world strategy-plugin {
            export meta;
            export strategy;
        }
    "#,
});

use exports::bathysphere::plugin::{meta, strategy};

struct Plugin;

impl meta::Guest for Plugin {
    fn describe() -> meta::Description {
        meta::Description {
            name: "hostile".to_owned(),
            version: "0.2.0".to_owned(),
            kind: "strategy".to_owned(),
            summary: "Speaks a contract that is yet to be written".to_owned(),
            settings_schema: "{}".to_owned(),
            authors: Vec::new(),
        }
    }
}

impl strategy::Guest for Plugin {
    fn next_step(_settings: String, situation: String) -> String {
        situation
    }
}

export!(Plugin);
