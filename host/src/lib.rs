//! Bathysphere: a deep-research server whose brains are swappable WebAssembly
//! plugins. This page is the map of the house.
//!
//! A question comes in by the command line (`cli`) or from an MCP client (`mcp`).
//! `tasks` makes it durable. `research` runs the loop: it asks the strategy
//! plugin for the next step, carries the step out with backend plugins, and saves
//! every round before the next begins. `prompts` words what a model is asked;
//! `report` turns the outcome into Markdown, or into a page.
//!
//! ```text
//! cli, mcp → tasks → research → plugins → gates → store, config
//!              └───→ report ────┘
//!                    research → prompts, prices → config
//! ```
//!
//! An arrow never runs up, and `engine` puts it all together. Only `gates` opens sockets, starts processes, reads
//! secrets or the user's files; only `plugins::v0_1` sees generated bindings; only
//! `mcp` knows the protocol.

pub mod cli;
pub mod config;
mod digest;
pub mod engine;
pub mod gates;
pub mod mcp;
pub mod plugins;
pub mod prices;
pub mod prompts;
pub mod report;
pub mod research;
pub mod store;
pub mod tasks;
