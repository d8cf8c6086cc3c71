//! One request from start to end, over whatever runs the program: in the sandbox the
//! process gate, in tests a script.

use bathysphere_sdk::agent::{Purpose, Reply, Request};
use bathysphere_sdk::types::Error;

use crate::identifier::random_uuid;
use crate::invocation::Invocation;
use crate::session::{self, Session};
use crate::settings::Settings;
use crate::transcript::{Ending, Transcript};
use crate::{failure, findings, reply};

/// What a running program does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    Output(Vec<u8>),
    ErrorOutput(Vec<u8>),
    Exited(i32),
    Signalled(i32),
}

/// A program that was started. Dropping it ends it.
pub trait Running {
    fn next(&mut self) -> Result<Option<Heard>, Error>;
    fn list_files(&self) -> Vec<String>;
    fn read_file(&self, name: &str, max_bytes: u64) -> Result<Vec<u8>, Error>;
}

/// What starts programs, and hears how far they are.
pub trait Outside {
    type Program: Running;
    fn start(&mut self, invocation: &Invocation) -> Result<Self::Program, Error>;
    fn progress(&mut self, message: &str);
}

pub fn answer(
    settings: &Settings,
    request: &Request,
    outside: &mut impl Outside,
) -> Result<Reply, Error> {
    if request.purpose != Purpose::Findings || !request.prompt.is_empty() {
        return run(settings, request, &request.prompt, outside);
    }
    let prompt = findings::prompt(request, &random_uuid());
    findings::read(run(settings, request, &prompt, outside)?, request)
}

fn run(
    settings: &Settings,
    request: &Request,
    prompt: &str,
    outside: &mut impl Outside,
) -> Result<Reply, Error> {
    let id = random_uuid();
    let invocation =
        Invocation::new(settings, request, prompt, &id).ok_or_else(failure::prompt_too_long)?;
    let of_the_gate = |error| failure::of_the_gate(error, settings);
    let mut program = outside.start(&invocation).map_err(of_the_gate)?;
    let mut transcript = Transcript::new(settings.max_attempts);
    let ending = loop {
        let notice = match program.next().map_err(of_the_gate)? {
            Some(Heard::Output(line)) => transcript.output(&line),
            Some(Heard::ErrorOutput(line)) => transcript.error_output(&line),
            Some(Heard::Exited(code)) => break Ending::Exited(code),
            Some(Heard::Signalled(signal)) => break Ending::Signalled(signal),
            None => break Ending::Exited(0),
        };
        if let Some(message) = notice {
            outside.progress(&message);
        }
        if transcript.is_flood() {
            return Err(failure::flood());
        }
        if transcript.is_storm() {
            break Ending::Storm;
        }
    };
    let outcome = transcript.finish();
    if let Some(error) = failure::of_the_run(&outcome, ending, prompt, settings) {
        return Err(error);
    }
    let names = program.list_files();
    let session = session::find(&names, &id)
        .and_then(|name| program.read_file(name, session::MOST_BYTES).ok())
        .map_or_else(Session::default, |bytes| session::read(&bytes));
    Ok(reply::reply(outcome, session, invocation.model))
}
