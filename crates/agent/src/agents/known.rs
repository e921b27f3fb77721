//! What the privileged half tells about agents.

use base::{error::ToolError, speech::last_chars};
use contract::config::AgentType;
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
    /// What the configuration of the privileged half says: this is what runs.
    pub declared: Box<AgentType>,
    /// Hash of the program's files; `None`: `problem` says why.
    pub files_sha256: Option<String>,
    /// Why it could not be started the last time that it had to be.
    #[serde(default)]
    pub failure: Option<AgentFailure>,
    /// For kind `dbus`: the user that it has to be on the bus. `None`: there is no such account.
    #[serde(default)]
    pub uid: Option<u32>,
}

/// Maximum characters of each text of an [`AgentFailure`].
const SAID: usize = 2000;

/// Why an agent could not be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentFailure {
    /// What it did last: "start", "initialize" or "tools/list". `None`: it was not started.
    pub step: Option<String>,
    pub message: String,
    /// The end of what it wrote to standard error.
    pub stderr: Option<String>,
}

impl AgentFailure {
    /// The error of a start, with its `details.step` and `details.stderr`.
    pub fn of(error: &ToolError) -> Self {
        let detail = |name: &str| error.details.get(name).and_then(|value| value.as_str()).map(str::to_owned);
        let stderr = detail("stderr").filter(|said| !said.trim().is_empty());
        Self { step: detail("step"), message: error.advice(), stderr }.cut()
    }

    /// The same, with texts of at most [`SAID`] characters: their ends, where a program says what was wrong.
    pub(crate) fn cut(self) -> Self {
        let end = |text: String| last_chars(&text, SAID).to_owned();
        Self { step: self.step.map(end), message: end(self.message), stderr: self.stderr.map(end) }
    }
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
