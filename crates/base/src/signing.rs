//! Keys that sign documents: Ed25519, and P-256 where only a signature is checked (passkeys).

use crate::{base64url, canonical, error::ToolError};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1, ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// SubjectPublicKeyInfo of an Ed25519 key before its 32 bytes (RFC 8410, section 4).
const ED25519_SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
/// The same of an uncompressed P-256 point before its 65 bytes (RFC 5480, section 2.1.1).
const P256_SPKI: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// The y coordinates of the Ed25519 points whose order divides 8, in every encoding, without the sign of x. Under such a key one
/// signature is valid for many messages, and no secret is needed to make it.
const SMALL_ORDER: [[u8; 32]; 7] = [
    [
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    ],
    [
        0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    ],
    [
        0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0, 0xd5, 0xdf,
        0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
    ],
    [
        0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f, 0x2a, 0x20,
        0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
    ],
    [
        0xec, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,
    ],
    [
        0xed, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,
    ],
    [
        0xee, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,
    ],
];

/// Whether a raw Ed25519 key is a point of small order, which signs nothing.
pub fn is_small_order(key: &[u8]) -> bool {
    let Ok(mut y) = <[u8; 32]>::try_from(key) else { return false };
    y[31] &= 0x7f;
    SMALL_ORDER.contains(&y)
}

/// A public key as SubjectPublicKeyInfo (RFC 5280, section 4.1): Ed25519, or P-256. As text: base64url without padding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PublicKey(String);

impl PublicKey {
    /// Reads base64url without padding of a SubjectPublicKeyInfo; `None` for other text, for other algorithms, and for an Ed25519
    /// point of small order.
    pub fn parse(text: &str) -> Option<Self> {
        let key = Self(text.to_owned());
        Algorithm::of(&key.spki()).is_some().then_some(key)
    }

    /// Whether it is an Ed25519 key.
    pub fn is_ed25519(&self) -> bool {
        matches!(Algorithm::of(&self.spki()), Some(Algorithm::Ed25519(_)))
    }

    /// Its id: SHA-256 of the SubjectPublicKeyInfo, in 64 hexadecimal digits.
    pub fn id(&self) -> String {
        canonical::hex(&Sha256::digest(self.spki()))
    }

    /// Base64url of the SubjectPublicKeyInfo.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether `signature` is this key's over `message`. P-256 signatures are ASN.1 (RFC 3279, section 2.2.3).
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let spki = self.spki();
        match Algorithm::of(&spki) {
            Some(Algorithm::Ed25519(key)) => UnparsedPublicKey::new(&ED25519, key).verify(message, signature).is_ok(),
            Some(Algorithm::P256(key)) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, key).verify(message, signature).is_ok()
            }
            None => false,
        }
    }

    fn spki(&self) -> Vec<u8> {
        base64url::decode(&self.0).unwrap_or_default()
    }

    /// The SubjectPublicKeyInfo of a raw Ed25519 key.
    fn of_ed25519(raw: &[u8]) -> Self {
        Self(base64url::encode(&[ED25519_SPKI.as_slice(), raw].concat()))
    }
}

/// The uncompressed point in the SubjectPublicKeyInfo of a P-256 key, 65 bytes; `None` for other keys.
pub fn p256_point(spki: &[u8]) -> Option<&[u8]> {
    spki.strip_prefix(&P256_SPKI).filter(|point| point.len() == 65 && point[0] == 4)
}

enum Algorithm<'a> {
    Ed25519(&'a [u8]),
    P256(&'a [u8]),
}

impl<'a> Algorithm<'a> {
    fn of(spki: &'a [u8]) -> Option<Self> {
        if let Some(key) = spki.strip_prefix(&ED25519_SPKI)
            && key.len() == 32
            && !is_small_order(key)
        {
            return Some(Self::Ed25519(key));
        }
        p256_point(spki).map(Self::P256)
    }
}

/// The secret half of an Ed25519 key.
pub struct SigningKey(Ed25519KeyPair);

impl SigningKey {
    /// Generates a key, as PKCS #8 (RFC 5958).
    ///
    /// # Errors
    /// `internal` when the kernel gives no random bytes.
    pub fn generate() -> Result<Vec<u8>, ToolError> {
        Ed25519KeyPair::generate_pkcs8(&SystemRandom::new())
            .map(|document| document.as_ref().to_vec())
            .map_err(|_| ToolError::internal("the kernel gives no random bytes"))
    }

    /// Reads PKCS #8, as generated here or by `openssl genpkey -algorithm ed25519`.
    ///
    /// # Errors
    /// `invalid_argument`.
    pub fn from_pkcs8(der: &[u8]) -> Result<Self, ToolError> {
        Ed25519KeyPair::from_pkcs8_maybe_unchecked(der)
            .map(Self)
            .map_err(|error| ToolError::invalid(format!("not an Ed25519 key in PKCS #8: {error}")))
    }

    pub fn public(&self) -> PublicKey {
        PublicKey::of_ed25519(self.0.public_key().as_ref())
    }

    /// Its signature over `message`, 64 bytes.
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.0.sign(message).as_ref().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_of_small_order_is_no_key_and_verifies_nothing() {
        for y in SMALL_ORDER {
            for sign in [0, 0x80] {
                let mut raw = y;
                raw[31] |= sign;
                let key = PublicKey::of_ed25519(&raw);
                assert!(PublicKey::parse(key.text()).is_none() && !key.is_ed25519(), "{raw:02x?}");
                // R and the key are the identity, s is 0: a signature that the equation alone accepts for any message.
                let mut signature = [0; 64];
                signature[0] = 1;
                assert!(!key.verifies(b"any message", &signature), "{raw:02x?}");
            }
        }
        let good = SigningKey::from_pkcs8(&SigningKey::generate().unwrap()).unwrap();
        let key = PublicKey::parse(good.public().text()).unwrap();
        assert!(key.is_ed25519() && key.verifies(b"x", &good.sign(b"x")));
    }
}
