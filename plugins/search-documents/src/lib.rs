//! Searches the user's own documents, with no network and no key: walks the
//! granted directories, splits what is worth reading into passages, and asks the
//! host's index.
//!
//! All logic is plain Rust; only `component` knows that it runs in WebAssembly.

pub mod decode;
pub mod glob;
pub mod hits;
pub mod ignore;
pub mod kind;
pub mod lead;
pub mod settings;
pub mod source;
pub mod split;
pub mod update;
pub mod weigh;

#[cfg(target_family = "wasm")]
mod component;
