//! plugins.toml: what each file says (`raw`), and what all of them together mean
//! (`resolved`). Reads files and the environment at start, and nothing later; it
//! never opens what it grants, and never reads the value of a secret.
//!
//! ```text
//! layer   one file's text, and where in it a value stands
//! read    text → raw: shapes, types, ranges; every mistake with its line
//! raw     what a file says, and laying one file over another
//! trust   what a file that was merely found may not do
//! docs, environment
//!         what flags and variables say for one run, over all files
//! endpoint
//!         where the user says a service is, which grants it
//! routes  which backends serve which tool, once documents are counted
//! resolve raw → resolved: names that must exist, grants that must agree
//! load    which files there are; the order of all this
//! explain what came out, and from where
//! ```

mod budget;
mod directories;
mod docs;
mod endpoint;
mod environment;
mod error;
mod explain;
mod host;
pub(crate) mod layer;
mod limits;
mod load;
mod raw;
mod read;
mod research;
mod resolve;
pub mod resolved;
mod routes;
mod schema;
mod settings;
pub(crate) mod suggest;
mod trust;

pub use directories::Directories;
pub use error::{ConfigError, Problem};
pub use explain::{ExplainedValue, explain, explain_json, explain_text};
pub use load::{LoadOptions, LoadedConfig, load};
pub use resolved::{
    BudgetConfig, Config, DirectoryGrant, Grants, HostGrant, Limits, NotifyConfig, Origin,
    PluginConfig, PluginSource, ResearchConfig, SecretGrant, ToolBackends,
};
pub use schema::check_settings;
pub use settings::{SettingProblem, settings_error};

/// The tools that `[tools.NAME]` may configure.
pub const TOOLS: &[&str] =
    &["search", "deep_search", "deep_research", "research", "start_deep_research"];

/// The file's name, in the working directory and in the configuration directory.
pub const FILE_NAME: &str = "plugins.toml";

/// The bottom layer.
pub const DEFAULTS: &str = include_str!("../../../plugins.toml");

#[cfg(test)]
mod tests;
