//! Proof that a caller may read asks: their arguments are private.

use super::KeyKind;
use base::base64url;
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
    /// With one signature for the lists of many devices: 32 bytes for each of them, in base64url, see [`list_part`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<String>,
    /// Which of the parts is this device's: 32 random bytes in base64url that no other device is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub salt: Option<String>,
}

impl ListProof {
    /// What was signed, where `own` is this device's [`list_challenge`]; `None` if it is not among the parts.
    pub(super) fn challenge(&self, own: [u8; 32]) -> Option<[u8; 32]> {
        let Some(parts) = &self.parts else { return Some(own) };
        let (parts, salt) = (base64url::decode(parts)?, base64url::decode(self.salt.as_ref()?)?);
        let part = list_part(&own, &salt);
        parts.chunks(32).any(|one| one == part).then(|| lists_challenge(&parts))
    }
}

/// A device's part of a signature for many. Without the salt, the other devices cannot show it as a proof of their own.
pub fn list_part(challenge: &[u8; 32], salt: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update(challenge).chain_update(salt).finalize().into()
}

/// What is signed for many devices: SHA-256 of "raspi-mcp lists 1", a zero byte and all parts.
pub fn lists_challenge(parts: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update("raspi-mcp lists 1\0").chain_update(parts).finalize().into()
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
