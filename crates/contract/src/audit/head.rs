//! The end of a chain of records.

use serde::{Deserialize, Serialize};

/// The position of the end of a chain at one time, which the agent keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Head")]
pub struct AuditHead {
    /// The chain's id. A replaced store begins a new chain.
    pub chain: String,
    pub seq: i64,
    /// SHA-256, 64 hexadecimal digits.
    pub hash: String,
}
