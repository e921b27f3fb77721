//! The part of an ask that a person is shown.

use super::Mark;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The server's request for an approval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
    /// Whose share of the asks it takes ([`Caller::party`](crate::access::caller::Caller::party)), if that is not the one
    /// that the principal alone says. No part of what a person is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub party: Option<String>,
    /// Whether it may take a place of the reserve for admins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub admin: bool,
}
