//! What a conversation has told about itself.

use super::params::{BATCHING, InitializeParams};

/// Learned from `initialize`; nothing of it grants anything.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// `clientInfo.name`.
    pub client: Option<String>,
    /// The revision that both sides speak.
    pub version: Option<String>,
}

/// Names longer than this are cut: they are kept per session.
const NAME_LIMIT: usize = 64;

impl Session {
    pub fn learn(&mut self, params: InitializeParams) {
        self.client = Some(params.client_info.name.chars().take(NAME_LIMIT).collect());
        self.version = Some(params.protocol_version.chars().take(NAME_LIMIT).collect());
    }

    /// Only 2025-03-26 has batches.
    pub fn batches(&self) -> bool {
        self.version.as_deref() == Some(BATCHING)
    }
}
