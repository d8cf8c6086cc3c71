//! Plugins: loading them safely and calling them within limits. `contract` is
//! what the floors above see; `v0_1` is the only code that sees generated
//! bindings.

pub mod builtin;
mod cache;
pub mod contract;
mod error;
mod grants;
mod kind;
mod limits;
mod loader;
mod registry;
mod runtime;
mod v0_1;

pub use error::{CallError, LimitKind, LoadError};
pub use kind::Kind;
pub use registry::{PluginStatus, Plugins};
