//! What the client of a conversation has reported about itself.

use super::params::{BATCHING, InitializeParams};

/// Learned from `initialize`; grants no rights.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// `clientInfo.name`.
    pub client: Option<String>,
    /// The negotiated revision.
    pub version: Option<String>,
}

/// Longer names are cut, because they are kept for each session.
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
