//! What can go wrong with a plugin: before it runs (`LoadError`), and in a call
//! (`CallError`). Every message names the plugin.

use super::contract::PluginError;

/// The limit a call ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitKind {
    Memory,
    Compute,
    Timeout,
    HostCalls,
    ValueSize,
    Stack,
}

/// Why a call of a plugin gave no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The plugin did its work and says it cannot be done.
    #[error("{plugin}: {error}")]
    Failed { plugin: String, error: PluginError },
    /// The plugin was ended by a limit.
    #[error("{plugin}: {message}")]
    Limit { plugin: String, limit: LimitKind, message: String },
    /// The plugin panicked or broke the rules of the sandbox.
    #[error("{plugin} crashed: {message}")]
    Crashed { plugin: String, message: String },
    /// The plugin could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl CallError {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Failed { error, .. } => error.hint.clone(),
            Self::Limit { plugin, limit, .. } => {
                let key = match limit {
                    LimitKind::Memory => "memory_mb",
                    LimitKind::Compute => "compute_seconds",
                    LimitKind::Timeout => "timeout_seconds",
                    LimitKind::HostCalls => "host_calls",
                    LimitKind::ValueSize => "value_mb",
                    LimitKind::Stack => return None,
                };
                Some(format!(
                    "if the plugin is sound and needs more, raise `{key}` in [plugins.{plugin}.limits]"
                ))
            }
            Self::Crashed { .. } => None,
            Self::Load(error) => error.hint.clone(),
        }
    }
}

/// Why a plugin was not loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot load plugin {plugin}: {message}")]
pub struct LoadError {
    pub plugin: String,
    pub message: String,
    pub hint: Option<String>,
}
