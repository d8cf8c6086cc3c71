//! The only code that opens a socket, starts a process, reads a secret or a
//! user's file. Each gate checks the grant at the moment of use.

pub mod documents;
mod error;
pub mod http;
pub mod notify;
pub mod process;
pub mod secrets;

pub use error::{GateError, GateErrorKind};

use self::secrets::Mask;

/// All that one plugin can reach, each gate with that plugin's grants.
pub struct Gates {
    pub http: http::HttpGate,
    pub process: process::ProcessGate,
    pub documents: documents::DocumentsGate,
    /// What the plugin must not tell of what went through them.
    pub mask: Mask,
}

impl Gates {
    pub fn new(
        http: http::HttpGate,
        process: process::ProcessGate,
        documents: documents::DocumentsGate,
    ) -> Self {
        let mask = Mask::new(http.secrets().chain(process.secrets()));
        Self { http, process, documents, mask }
    }
}
