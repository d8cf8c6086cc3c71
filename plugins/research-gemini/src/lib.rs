//! Gemini Deep Research over the Interactions API: a whole question goes out, the
//! vendor works on it for minutes or hours, and its steps and report come back. It
//! reaches nothing but that API, never sees the key, and believes nothing that it
//! reads: an answer may be cut, lie about its types, or be about something else.
//!
//! The way of a call: `request` says what is sent; `failure` says what an answer
//! without an interaction means; `job` reads an interaction, with `steps` (what was
//! done), `report` (text and citations), `sources` and `usage`. `calls` goes that
//! way; `component` alone sends anything.

mod calls;
mod failure;
mod job;
mod report;
mod request;
mod settings;
mod sources;
mod steps;
mod usage;
mod value;

pub use calls::{Outside, cancel, delete, poll, start};
pub use settings::{SCHEMA, Settings, validate};

#[cfg(target_family = "wasm")]
mod component;
#[cfg(test)]
mod tests;
