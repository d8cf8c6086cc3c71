//! The plugin itself: the only part that starts the program and listens to it.

use bathysphere_sdk::agent::{self, Reply, Request};
use bathysphere_sdk::process::{Child, Command, Event};
use bathysphere_sdk::types::Error;
use bathysphere_sdk::{log, meta, parse_settings};

use crate::answer::{Heard, Outside, Running, answer};
use crate::invocation::Invocation;

struct Plugin;

impl meta::Guest for Plugin {
    fn describe() -> meta::Description {
        meta::Description {
            name: env!("CARGO_PKG_NAME").into(),
            version: env!("CARGO_PKG_VERSION").into(),
            kind: "agent".into(),
            summary: "Answers with the Gemini CLI, which searches the web by itself.".into(),
            settings_schema: crate::SCHEMA.into(),
            extra: Vec::new(),
        }
    }

    fn validate(settings: String) -> Result<(), Vec<meta::Problem>> {
        crate::validate(&settings)
    }
}

impl agent::Guest for Plugin {
    fn answer(settings: String, request: Request) -> Result<Reply, Error> {
        answer(&parse_settings(&settings)?, &request, &mut Gate)
    }
}

/// The host's process gate.
struct Gate;

impl Outside for Gate {
    type Program = Child;

    fn start(&mut self, invocation: &Invocation) -> Result<Child, Error> {
        Child::spawn(&Command {
            program: invocation.program.clone(),
            arguments: invocation.arguments.clone(),
            environment: invocation.environment.clone(),
            input: invocation.input.clone().into_bytes(),
            files: invocation.files.clone(),
            timeout_ms: Some(invocation.timeout_ms),
        })
    }

    fn progress(&mut self, message: &str) {
        log::progress(message, 0, None);
    }
}

impl Running for Child {
    fn next(&mut self) -> Result<Option<Heard>, Error> {
        loop {
            return Ok(Some(match Child::next(self)? {
                Some(Event::Output(line)) => Heard::Output(line),
                Some(Event::ErrorOutput(line)) => Heard::ErrorOutput(line),
                Some(Event::Exited(code)) => Heard::Exited(code),
                Some(Event::Signalled(signal)) => Heard::Signalled(signal),
                Some(Event::Other(_)) => continue,
                None => return Ok(None),
            }));
        }
    }

    fn list_files(&self) -> Vec<String> {
        Child::list_files(self)
    }

    fn read_file(&self, name: &str, max_bytes: u64) -> Result<Vec<u8>, Error> {
        Child::read_file(self, name, max_bytes)
    }
}

bathysphere_sdk::export_agent!(Plugin);
