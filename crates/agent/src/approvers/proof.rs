//! Proof that a caller may read asks: their arguments are private.

use super::KeyKind;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A signature by an enrolled key over the device's id, its boot and its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListProof {
    /// The id of the approver's key.
    pub key: String,
    pub kind: KeyKind,
    /// The device's time that it reported, in milliseconds since 1970 UTC. Good for five minutes.
    pub time_ms: i64,
    /// As in [`super::SignedAnswer`].
    pub signature: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authenticator_data: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_data: Option<String>,
}

/// What is signed: SHA-256 of "raspi-mcp list 1", the device's id, its boot and its time in decimal digits, with a zero
/// byte between them.
pub fn list_challenge(device: &str, boot: &str, time_ms: i64) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in ["raspi-mcp list 1", "\0", device, "\0", boot, "\0", &time_ms.to_string()] {
        hash.update(part.as_bytes());
    }
    hash.finalize().into()
}
