//! plugins.toml: what the file says (`raw`), and what it means (`resolved`).
//! Reads files and the environment at start, and nothing later.

pub mod resolved;

pub use resolved::{Config, Grants, Limits, PluginConfig, PluginSource};
