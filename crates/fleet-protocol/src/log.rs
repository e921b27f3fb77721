//! What a device tells once and a stream keeps: results of updates, heads of the audit, asks. Signed by its agent.

use crate::{expected::FromDevice, signed};
use base::{error::ToolError, signing::SigningKey};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a message is signed for.
pub const PURPOSE: &str = "raspi-mcp log 1";
/// Longest message, in bytes, with its signature.
pub const MAX_MESSAGE: usize = 2048;

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogKind {
    /// The result of an update; the body is a [`crate::status::StatusAttempt`].
    Update,
    /// The head of the audit's chain: `chain`, `seq`, `hash`.
    Audit,
    /// An ask that waits for a person: `id`, `tool`, `expires_ms`. Never its arguments.
    Ask,
}

impl LogKind {
    /// All, with their words.
    pub const ALL: [(&'static str, Self); 3] = [("update", Self::Update), ("audit", Self::Audit), ("ask", Self::Ask)];
}

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogMessage {
    pub purpose: String,
    pub fleet: String,
    pub name: String,
    /// The device id: 64 hexadecimal digits.
    pub device: String,
    /// Rises as that of a status, and with it.
    pub sequence: u64,
    /// The device's clock, in milliseconds since 1970 UTC.
    pub time_ms: i64,
    pub kind: LogKind,
    /// How many messages the device ever had to drop, because too many waited for the broker.
    #[serde(default, skip_serializing_if = "base::serde_fields::is_zero")]
    pub dropped: u64,
    pub body: Value,
}

impl FromDevice for LogMessage {
    const PURPOSE: &'static str = PURPOSE;
    const LIMIT: usize = MAX_MESSAGE;

    fn sender(&self) -> (&str, &str, &str, &str, u64) {
        (&self.purpose, &self.fleet, &self.name, &self.device, self.sequence)
    }
}

impl LogMessage {
    /// Signs it.
    ///
    /// # Errors
    /// `internal` for one that is too long.
    pub fn sign(&self, key: &SigningKey) -> Result<String, ToolError> {
        let document = serde_json::to_string(self)
            .map_err(|error| ToolError::internal(format!("a log message cannot be written: {error}")))?;
        let message = signed::sign(PURPOSE, &document, key);
        if message.len() > MAX_MESSAGE {
            return Err(ToolError::internal("a log message is too long"));
        }
        Ok(message)
    }
}
