//! One ask: its content, its state, and the call that an approval is bound to.

use base::error::{ErrorCode, ToolError};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};

/// Crockford's base 32, which has no easily confused characters.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

pub use contract::access::question::AskRequest;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskState {
    Pending,
    Approved,
    Denied,
    Withdrawn,
    Expired,
    Consumed,
}

/// An ask and its state. The release in the other slot may have stored it: unknown fields are ignored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// Six characters, short enough to type.
    pub id: String,
    pub request: AskRequest,
    pub created_ms: i64,
    /// Pending: when it can no longer be answered. Approved: when it can no longer be used. Wall-clock time, for
    /// display; the decision uses the time since power-on.
    pub expires_ms: i64,
    pub state: AskState,
    /// Who answered, as reported by the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
}

impl Ask {
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, AskState::Pending | AskState::Approved)
    }
}

/// The call that an approval must match.
pub(crate) struct BoundCall<'a> {
    pub tool: &'a str,
    pub principal: &'a str,
    pub args_sha256: &'a str,
}

impl BoundCall<'_> {
    pub(super) fn matches(&self, ask: &Ask) -> Result<(), ToolError> {
        let differs = if ask.request.tool != self.tool {
            "tool"
        } else if ask.request.principal != self.principal {
            "caller"
        } else if ask.request.args_sha256 != self.args_sha256 {
            "arguments"
        } else {
            return Ok(());
        };
        Err(ToolError::denied(format!("ask {} was for another call: the {differs} differ", ask.id))
            .with("ask_id", ask.id.clone())
            .with("differs", differs)
            .hint("call again with what was approved, or ask anew"))
    }
}

pub(super) fn demand(ask: &Ask, wanted: AskState) -> Result<(), ToolError> {
    if ask.state == wanted {
        return Ok(());
    }
    let state = match ask.state {
        AskState::Pending => "has not been answered yet",
        AskState::Approved => "has been approved already",
        AskState::Denied => "was denied",
        AskState::Withdrawn => "was withdrawn by its caller",
        AskState::Expired => "has expired",
        AskState::Consumed => "was used before; an approval is good for one call",
    };
    let code = if wanted == AskState::Approved { ErrorCode::PermissionDenied } else { ErrorCode::FailedPrecondition };
    Err(ToolError::new(code, format!("ask {} {state}", ask.id)).with("ask_id", ask.id.clone()))
}

pub(super) fn new_id() -> Result<String, ToolError> {
    let mut bytes = [0u8; 6];
    SystemRandom::new().fill(&mut bytes).map_err(|_| ToolError::internal("the kernel gives no random bytes"))?;
    Ok(bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect())
}

/// Normalizes a typed id: accepts lower case, O for 0, I or L for 1.
pub fn normal_id(id: &str) -> String {
    id.trim()
        .chars()
        .map(|c| match c.to_ascii_uppercase() {
            'O' => '0',
            'I' | 'L' => '1',
            other => other,
        })
        .collect()
}
