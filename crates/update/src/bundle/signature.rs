//! A signature, and whose it is said to be.

use super::Digest;

/// An Ed25519 signature (RFC 8032) by the key whose public half has this SHA-256. Worth nothing until a root of trust looked at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// SHA-256 of the 32 bytes of the public key.
    pub key_id: Digest,
    pub signature: [u8; 64],
}
