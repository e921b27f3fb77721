//! What the privileged half tells about agents.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// All declared agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentsNow {
    /// Grows with each change.
    pub revision: u64,
    pub agents: Vec<AgentState>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentState {
    #[serde(rename = "type")]
    pub name: String,
    pub tools: Vec<OfferedTool>,
    /// A person wants to see what it says of its tools: it has to be started.
    pub wanted: bool,
    /// Why its program cannot be used.
    pub problem: Option<String>,
    /// For kind `dbus`: the user that it has to be on the bus. `None`: there is no such account.
    #[serde(default)]
    pub uid: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfferedTool {
    pub name: String,
    pub state: ToolState,
    /// What would be accepted.
    pub sha256: Option<String>,
    /// What it says about itself.
    pub descriptor: Option<Value>,
}

/// Whether a tool may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolState {
    Accepted,
    /// Never accepted.
    New,
    /// Not as it was accepted.
    Changed,
    /// It has not described itself yet.
    Unknown,
    /// Its program cannot be used.
    Unusable,
}

impl ToolState {
    pub fn word(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::New => "new",
            Self::Changed => "changed",
            Self::Unknown => "unknown",
            Self::Unusable => "unusable",
        }
    }
}
