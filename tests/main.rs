//! Bathysphere from outside: the real binary, real plugins, real clients.
//!
//! `support` starts the program, speaks MCP to it, lays out documents and builds
//! the hostile plugins; every other module is a group of tests. All of them may
//! run at the same time: each has a home directory of its own, and nothing waits
//! by sleeping.

#![expect(
    clippy::print_stderr,
    reason = "a test that has to be skipped says so, and libtest shows stderr"
)]
#![expect(clippy::disallowed_methods, reason = "tests start the program, and see what it sees")]

mod support;

mod background;
mod bad_input;
mod citations;
mod concurrency;
mod costs;
mod crash;
mod deep_search;
mod extraction;
mod gemini_agent;
mod gemini_real;
mod lifecycle;
mod malformed;
#[cfg(target_os = "linux")]
mod notify;
mod outside;
mod protocol;
mod readme;
mod research;
mod research_gemini;
mod sandbox;
mod sandbox_loading;
mod tools;
