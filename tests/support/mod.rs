//! What the tests stand on.

pub mod agent;
pub mod builtins;
pub mod citations;
pub mod client;
pub mod components;
#[cfg(target_os = "linux")]
pub mod desktop;
pub mod documents;
#[allow(dead_code, reason = "no test needs every part of a stand-in")]
pub mod explorer;
pub mod gemini_answers;
#[allow(dead_code, reason = "no test needs every part of a stand-in")]
pub mod gemini_api;
#[allow(dead_code, reason = "no test needs every part of a stand-in")]
pub mod gemini_cli;
#[allow(dead_code, reason = "no test needs every part of a stand-in")]
pub mod gemini_program;
pub mod home;
#[allow(dead_code, unused_imports, reason = "no test needs every part of a stand-in")]
pub mod interactions;
pub mod packages;
pub mod program;
#[allow(dead_code, reason = "no test needs every part of it")]
pub mod research_backend;
pub mod researcher;
