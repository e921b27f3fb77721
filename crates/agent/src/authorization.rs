//! The authorization of an operation: on whose behalf, and by which approval. The agent checks it before it acts.

use serde::{Deserialize, Serialize};

/// Sent with every operation that changes the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Warrant")]
pub struct Authorization {
    /// The principal that called the tool.
    pub principal: String,
    /// SHA-256 of the canonical JSON of its arguments.
    pub args_sha256: String,
    /// The approved ask, where the policy requires one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_id: Option<String>,
}
