//! A signature, and the key that it claims.

use super::Digest;

/// An Ed25519 signature (RFC 8032), allegedly by the key whose public half has this SHA-256. Untrusted until a root of
/// trust verified it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// SHA-256 of the 32 bytes of the public key.
    pub key_id: Digest,
    pub signature: [u8; 64],
}
