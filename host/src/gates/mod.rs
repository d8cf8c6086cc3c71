//! The only code that opens a socket, starts a process, reads a secret or a
//! user's file. Each gate checks the grant at the moment of use.

pub mod documents;
mod error;

pub use error::{GateError, GateErrorKind};
