//! The protocol between the halves: one JSON object per line, at most 128 KiB, versioned.
//!
//! A request is `{"id": 7, "op": {"power": {...}}}`, its answer `{"id": 7, "ok": {...}}` or `{"id": 7, "error":
//! {...}}`. The first request of a connection is `hello`; without it, or with another protocol, every other request is
//! refused. Answers are sent as they become ready, so a long wait does not delay others. [`super::operations`] lists
//! the operations.

pub use super::wire::{MAX_LINE, PROTOCOL};

use super::operations::{Answer, AnyRequest};
use base::error::{ToolError, WireError};
use serde::{Deserialize, Serialize};

/// A line from the server.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Request")]
pub struct AgentRequest {
    pub id: u64,
    pub op: AnyRequest,
}

/// An answer line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Reply")]
pub struct AgentReply {
    /// `None` when the line had no readable id.
    pub id: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<Answer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<WireError>,
}

impl AgentReply {
    pub fn new(id: Option<u64>, result: Result<Answer, ToolError>) -> Self {
        match result {
            Ok(answer) => Self { id, ok: Some(answer), error: None },
            Err(error) => Self { id, ok: None, error: Some(error.into()) },
        }
    }

    /// # Errors
    /// The agent's; `internal` when it is neither a result nor an error.
    pub fn into_result(self) -> Result<Answer, ToolError> {
        match (self.ok, self.error) {
            (Some(answer), None) => Ok(answer),
            (None, Some(error)) => Err(error.into()),
            _ => Err(ToolError::internal("the agent's answer is neither a result nor an error")),
        }
    }
}
