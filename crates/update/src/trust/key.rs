//! Ed25519 keys, using ring.

use super::Purpose;
use crate::bundle::{Digest, Signature};
use base::signing::is_small_order;
use ring::{
    rand::SystemRandom,
    signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// The public half. As text: 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey(pub [u8; 32]);

impl Serialize for PublicKey {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        Digest(self.0).serialize(out)
    }
}

impl<'de> Deserialize<'de> for PublicKey {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // One spelling per key, as for digests.
        let key = Digest::deserialize(from)?.0;
        if is_small_order(&key) {
            return Err(D::Error::custom(
                "this is no Ed25519 key: a point of small order, under which anybody can sign",
            ));
        }
        Ok(Self(key))
    }
}

impl PublicKey {
    /// Its id in signatures and roles: its SHA-256.
    pub fn id(&self) -> Digest {
        Digest::of(&self.0)
    }

    /// Whether `signature` is this key's, over `bytes`, for `purpose`.
    pub fn verifies(&self, purpose: Purpose, bytes: &[u8], signature: &Signature) -> bool {
        signature.key_id == self.id()
            && !is_small_order(&self.0)
            && UnparsedPublicKey::new(&ED25519, self.0).verify(&purpose.message(bytes), &signature.signature).is_ok()
    }
}

/// The secret half. Kept in a file by the person who signs, never on a device.
pub struct SecretKey(Ed25519KeyPair);

impl SecretKey {
    /// Generates a key, as PKCS #8 version 2 (RFC 5958).
    ///
    /// # Errors
    /// When the system's random source fails.
    pub fn generate() -> Result<Vec<u8>, String> {
        Ed25519KeyPair::generate_pkcs8(&SystemRandom::new())
            .map(|document| document.as_ref().to_vec())
            .map_err(|_| "the system gave no random bytes".into())
    }

    /// Reads PKCS #8, version 2 as generated here, or version 1 as of `openssl genpkey -algorithm ed25519`.
    ///
    /// # Errors
    /// Why it is invalid.
    pub fn from_pkcs8(der: &[u8]) -> Result<Self, String> {
        Ed25519KeyPair::from_pkcs8_maybe_unchecked(der)
            .map(Self)
            .map_err(|error| format!("not an Ed25519 key in PKCS #8: {error}"))
    }

    pub fn public(&self) -> PublicKey {
        let mut public = [0; 32];
        public.copy_from_slice(self.0.public_key().as_ref());
        PublicKey(public)
    }

    /// Ed25519 is deterministic: the same key and bytes give the same signature.
    pub fn sign(&self, purpose: Purpose, bytes: &[u8]) -> Signature {
        let mut signature = [0; 64];
        signature.copy_from_slice(self.0.sign(&purpose.message(bytes)).as_ref());
        Signature { key_id: self.public().id(), signature }
    }
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "the secret half of {}", self.public().id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_of_small_order_is_no_key() {
        let identity = format!("\"01{}\"", "00".repeat(31));
        let error = serde_json::from_str::<PublicKey>(&identity).unwrap_err().to_string();
        assert!(error.contains("small order"), "{error}");
        // The identity as R and s = 0: what the equation alone accepts for any message under such a key.
        let mut raw = [0; 32];
        raw[0] = 1;
        let mut signature = Signature { key_id: PublicKey(raw).id(), signature: [0; 64] };
        signature.signature[0] = 1;
        assert!(!PublicKey(raw).verifies(Purpose::Root, b"any message", &signature));
        let good = format!("\"{}\"", "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
        serde_json::from_str::<PublicKey>(&good).unwrap();
    }
}
