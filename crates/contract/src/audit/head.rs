//! The end of a chain of records.

use serde::{Deserialize, Serialize};

/// The end of a chain at some time: what the agent keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// Which chain: a replaced store begins a new one.
    pub chain: String,
    pub seq: i64,
    /// SHA-256, 64 hexadecimal digits.
    pub hash: String,
}
