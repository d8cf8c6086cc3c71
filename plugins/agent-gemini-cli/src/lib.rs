//! An agent over the Gemini CLI: one request is one run of `gemini`, without a
//! person, in a private home that this plugin furnishes. It starts nothing but that
//! program, and tells of its errors neither the prompt nor a secret.
//!
//! The way of a request: `invocation` says how the program is run; `events` reads
//! each line it prints and `transcript` keeps what they mean; `session` reads the
//! record that the program leaves (which model answered, where a search led);
//! `failure` says in the contract's words what went wrong, and `reply` puts the
//! answer together. `answer` goes that way; `component` alone runs anything.

mod answer;
mod document;
mod error;
mod events;
mod failure;
mod findings;
mod identifier;
mod invocation;
mod reply;
mod session;
mod settings;
mod sources;
mod transcript;

pub use answer::{Heard, Outside, Running, answer};
pub use invocation::Invocation;
pub use settings::{SCHEMA, Settings, validate};

#[cfg(target_family = "wasm")]
mod component;
#[cfg(test)]
mod tests;
