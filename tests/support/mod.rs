//! What the tests stand on.

pub mod agent;
pub mod citations;
pub mod client;
pub mod components;
pub mod documents;
pub mod gemini_api;
pub mod gemini_cli;
pub mod home;
pub mod packages;
pub mod program;
pub mod researcher;
