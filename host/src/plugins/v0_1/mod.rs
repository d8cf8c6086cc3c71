//! Contract 0.1 (`bathysphere:plugin@0.1.x`): the only code that sees its
//! generated bindings. A later, breaking contract is a module beside this one.

mod bindings;
mod convert;
mod imports;
mod plugin;
mod state;

pub use plugin::Plugin;
pub use state::{State, linker};
