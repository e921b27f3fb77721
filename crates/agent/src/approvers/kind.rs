//! Kinds of approver keys, and which asks each kind may answer.

use contract::{actions::Does, config::ApproverKinds};
use serde::{Deserialize, Serialize};

/// Actions that a `browser` key never approves. Whoever is let past a certificate warning once can run a script on that
/// origin, and with it use the key.
const NEVER_BY_BROWSER: &[&str] = &[
    "agents:shutdown",
    "agents:spawn",
    "exec:run",
    "network:add",
    "network:update",
    "system:mark_good",
    "system:reboot",
    "system:rollback",
    "system:shutdown",
    "system:update",
];

/// Where an approver's key is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyKind {
    /// A WebAuthn credential: a security key or a phone, which verifies its user.
    Passkey,
    /// An Ed25519 key that a browser keeps for one origin.
    Browser,
    /// An Ed25519 key in a file, used by `raspi-mcp approve`.
    Cli,
}

impl KeyKind {
    pub const ALL: [Self; 3] = [Self::Passkey, Self::Browser, Self::Cli];

    /// Its name on the wire and in commands.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passkey => "passkey",
            Self::Browser => "browser",
            Self::Cli => "cli",
        }
    }

    /// Whether a key of this kind may approve an ask about `tool`, with what the configuration takes away. A `browser`
    /// key may not answer for tools that restart, update or run commands, nor for tools that the agent does not know,
    /// whatever the configuration says.
    pub fn counts_for(self, tool: &str, narrowed: &ApproverKinds) -> bool {
        match self {
            _ if !narrowed.allow(tool, self.name()) => false,
            Self::Passkey | Self::Cli => true,
            Self::Browser => {
                let actions = Does::of(tool).map(Does::all).unwrap_or_default();
                !actions.is_empty() && !actions.iter().any(|action| NEVER_BY_BROWSER.contains(action))
            }
        }
    }
}
