//! The part of an ask that a person is shown.

use super::Mark;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The server's request for an approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskRequest {
    pub tool: String,
    /// One sentence that says what will happen.
    pub summary: String,
    /// The arguments as the person sees them, with null where `marks` has an entry.
    pub args: Value,
    /// Hidden or truncated values, by their JSON pointer in `args`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub marks: BTreeMap<String, Mark>,
    /// SHA-256 of the canonical JSON of the original arguments.
    pub args_sha256: String,
    pub principal: String,
}
