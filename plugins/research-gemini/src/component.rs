//! The plugin itself: the only part that sends anything.

use bathysphere_sdk::http;
use bathysphere_sdk::research::{self, Job, Request};
use bathysphere_sdk::types::Error;
use bathysphere_sdk::{meta, parse_settings};

use crate::calls::{self, Outside};

struct Plugin;

impl meta::Guest for Plugin {
    fn describe() -> meta::Description {
        meta::Description {
            name: env!("CARGO_PKG_NAME").into(),
            version: env!("CARGO_PKG_VERSION").into(),
            kind: "research".into(),
            summary: "Hands whole questions to Gemini Deep Research.".into(),
            settings_schema: crate::SCHEMA.into(),
            extra: Vec::new(),
        }
    }

    fn validate(settings: String) -> Result<(), Vec<meta::Problem>> {
        crate::validate(&settings)
    }
}

impl research::Guest for Plugin {
    fn start(settings: String, request: Request) -> Result<Job, Error> {
        calls::start(&parse_settings(&settings)?, &request, &mut Gate)
    }

    fn poll(settings: String, id: String) -> Result<Job, Error> {
        calls::poll(&parse_settings(&settings)?, &id, &mut Gate)
    }

    fn cancel(settings: String, id: String) -> Result<Job, Error> {
        calls::cancel(&parse_settings(&settings)?, &id, &mut Gate)
    }

    fn delete(settings: String, id: String) -> Result<(), Error> {
        calls::delete(&parse_settings(&settings)?, &id, &mut Gate)
    }
}

/// The host's http gate, which adds the key.
struct Gate;

impl Outside for Gate {
    fn send(&mut self, request: &http::Request) -> Result<http::Response, Error> {
        http::send(request)
    }
}

bathysphere_sdk::export_research!(Plugin);
