//! What a person is asked: the part of an ask that is shown.

use super::Mark;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// What the server wants to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskRequest {
    pub tool: String,
    /// One sentence: what will happen.
    pub summary: String,
    /// The arguments as the person sees them: whole, but for what `marks` names.
    pub args: Value,
    /// What is hidden or cut, by its JSON pointer; in `args` there is null.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub marks: BTreeMap<String, Mark>,
    /// SHA-256 of the canonical JSON of the real arguments.
    pub args_sha256: String,
    pub principal: String,
}
