//! For whom the server asks for an operation, and by which approval: what the agent judges before it does anything.

use serde::{Deserialize, Serialize};

/// What goes with every operation that changes the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Warrant")]
pub struct Authorization {
    /// Who called the tool.
    pub principal: String,
    /// SHA-256 of the canonical JSON of its arguments.
    pub args_sha256: String,
    /// The ask a person answered, where the policy wants one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_id: Option<String>,
}
