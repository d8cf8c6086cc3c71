//! What the tests stand on.

pub mod citations;
pub mod client;
pub mod components;
pub mod documents;
pub mod home;
pub mod packages;
pub mod program;
