//! The agent's own log of privileged operations, out of the server's reach: who, what, how it ended.

use super::{Clock, files::Lines, peer::Peer};
use crate::{access::audit::rfc3339, error::ToolError};
use serde_json::{Value, json};
use std::path::Path;

/// Twice this is the most the log takes on the card: some ten thousand operations.
const MAX_BYTES: u64 = 1 << 20;

pub(super) struct OpLog {
    lines: Lines,
    clock: Clock,
}

impl OpLog {
    pub(super) fn new(folder: &Path, clock: Clock) -> Self {
        Self { lines: Lines::new(folder.join("operations.ndjson"), MAX_BYTES), clock }
    }

    /// Writes one event and waits for the card. The event is also in the journal.
    pub(super) fn write(&self, what: &str, peer: &Peer, fields: Value) -> Result<(), ToolError> {
        let line = json!({
            "ts": rfc3339((self.clock)()), "what": what, "peer": peer.to_string(), "fields": fields,
        });
        tracing::info!(target: "agent", peer = %peer, %fields, "{what}");
        self.lines.append(&line.to_string(), true).map(drop)
    }
}
