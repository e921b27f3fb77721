//! A signed answer, and what exactly is signed.

use super::KeyKind;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What an approver decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Approve,
    Deny,
}

impl Decision {
    fn word(self) -> &'static [u8] {
        match self {
            Self::Approve => b"approve",
            Self::Deny => b"deny",
        }
    }
}

/// An answer to an ask. Anybody may carry it; the signature is what counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedAnswer {
    /// The ask's id.
    pub ask: String,
    /// The ask's nonce.
    pub nonce: String,
    pub decision: Decision,
    /// The id of the approver's key ([`super::ApproverKey::id`]).
    pub key: String,
    pub kind: KeyKind,
    /// Base64url: over [`challenge`] itself, or for passkeys over what WebAuthn signs.
    pub signature: String,
    /// Base64url of `authenticatorData` (WebAuthn Level 3, section 6.1); passkeys only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authenticator_data: Option<String>,
    /// Base64url of `clientDataJSON` (WebAuthn Level 3, section 5.8.1); passkeys only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_data: Option<String>,
}

/// What an approver signs: SHA-256 of "raspi-mcp answer 1", a zero byte, the decision, a zero byte, and SHA-256 of the
/// ask's document.
pub fn challenge(decision: Decision, document: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in [b"raspi-mcp answer 1".as_slice(), &[0], decision.word(), &[0]] {
        hash.update(part);
    }
    hash.update(Sha256::digest(document.as_bytes()));
    hash.finalize().into()
}
