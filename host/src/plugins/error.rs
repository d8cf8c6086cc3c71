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
    Printed,
}

impl LimitKind {
    /// The key in `[plugins.NAME.limits]` that moves it.
    fn key(self) -> Option<&'static str> {
        match self {
            Self::Memory => Some("memory_mb"),
            Self::Compute => Some("compute_seconds"),
            Self::Timeout => Some("timeout_seconds"),
            Self::HostCalls => Some("host_calls"),
            Self::ValueSize => Some("value_mb"),
            Self::Stack | Self::Printed => None,
        }
    }
}

/// Why a call of a plugin gave no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The plugin did its work and says it cannot be done.
    #[error("{plugin}: {error}")]
    Failed { plugin: String, error: PluginError },
    /// The plugin was ended by a limit.
    #[error("plugin {plugin} {message}")]
    Limit { plugin: String, limit: LimitKind, message: String },
    /// The plugin panicked or broke the rules of the sandbox.
    #[error("plugin {plugin} crashed: {message}")]
    Crashed { plugin: String, message: String },
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl CallError {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Failed { error, .. } => error.hint.clone(),
            Self::Limit { plugin, limit, .. } => limit.key().map(|key| {
                format!(
                    "if the plugin is sound and needs more, raise `{key}` in [plugins.{plugin}.limits]"
                )
            }),
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
    /// Nothing is wrong with it; it only lacks something to reach.
    pub lacks_grant: bool,
}

impl LoadError {
    pub fn new(plugin: &str, message: impl Into<String>) -> Self {
        Self { plugin: plugin.to_owned(), message: message.into(), hint: None, lacks_grant: false }
    }

    pub fn lacking_grant(mut self) -> Self {
        self.lacks_grant = true;
        self
    }

    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
