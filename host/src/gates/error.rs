//! Why a gate did not do what a plugin asked: the kinds of the contract.

/// See `error-kind` in `wit/types.wit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateErrorKind {
    NotFound,
    Auth,
    RateLimited(Option<u32>),
    Unavailable,
    InvalidInput,
    Refused,
    Other(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct GateError {
    pub kind: GateErrorKind,
    pub message: String,
    pub hint: Option<String>,
}

impl GateError {
    pub fn new(kind: GateErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(GateErrorKind::Refused, message)
    }

    pub fn other(name: &str, message: impl Into<String>) -> Self {
        Self::new(GateErrorKind::Other(name.to_owned()), message)
    }

    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
