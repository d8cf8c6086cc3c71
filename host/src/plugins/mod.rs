//! Plugins: loading them safely and calling them within limits. `contract` is
//! what the floors above see; `v0_1` is the only code that sees generated
//! bindings.

pub mod contract;
mod error;

pub use error::{CallError, LimitKind, LoadError};
