//! How a backup travels: sealed so that the server half, which carries it, reads nothing of it.
//!
//! From a device to the computer of a person, to a key that is made for this one backup and that the person signed. To a
//! device without an owner under the claim code, which is on that device's screen and is not sent.

use super::{MAX_PLAIN, aead, random, unsealed};
use crate::Code;
use base::{
    base64url,
    error::{ErrorCode, ToolError},
};
use ring::{
    agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral},
    digest, hkdf,
    rand::SystemRandom,
};

/// What the device signs a backup for.
const SEALED: &str = "raspi-mcp backup 1";
const RESTORED: &str = "raspi-mcp restore 1";
/// Bytes of a key of X25519 (RFC 7748).
const POINT: usize = 32;

/// The key of one transfer, whose secret half does not leave this process.
pub struct Recipient {
    secret: EphemeralPrivateKey,
    public: Vec<u8>,
}

impl Recipient {
    /// # Errors
    /// `internal` without random bytes.
    pub fn make() -> Result<Self, ToolError> {
        let secret = EphemeralPrivateKey::generate(&X25519, &SystemRandom::new()).map_err(|_| unsealed())?;
        let public = secret.compute_public_key().map_err(|_| unsealed())?.as_ref().to_vec();
        Ok(Self { secret, public })
    }

    /// Its public half: base64url of 32 bytes.
    pub fn public(&self) -> String {
        base64url::encode(&self.public)
    }

    /// Opens what [`seal_to`] made for this key.
    ///
    /// # Errors
    /// `verification_failed` for anything else.
    pub fn open(self, message: &[u8]) -> Result<Vec<u8>, ToolError> {
        let wrong = || ToolError::new(ErrorCode::VerificationFailed, "what came is no backup for this key");
        let (sender, sealed) = message.split_at_checked(POINT).ok_or_else(wrong)?;
        let key = agreed(self.secret, sender, &self.public, sender).ok_or_else(wrong)?;
        opened(&key, SEALED, sealed).ok_or_else(wrong)
    }
}

/// Seals to the public half of a [`Recipient`].
///
/// # Errors
/// `invalid_argument` for what is no such key.
pub fn seal_to(public: &str, plain: &[u8]) -> Result<Vec<u8>, ToolError> {
    let wrong = || ToolError::invalid("to must be base64url of a public key of X25519, 32 bytes").with("name", "to");
    let recipient = base64url::decode(public).filter(|key| key.len() == POINT).ok_or_else(wrong)?;
    let Recipient { secret, public } = Recipient::make()?;
    let key = agreed(secret, &recipient, &recipient, &public).ok_or_else(wrong)?;
    Ok([public, sealed(&key, SEALED, plain)?].concat())
}

/// What the device signs with its own key: that it made `message` for the key `to`.
pub fn signed_bytes(to: &str, message: &[u8]) -> Vec<u8> {
    let hash = digest::digest(&digest::SHA256, message);
    [SEALED.as_bytes(), b"\0", to.as_bytes(), b"\0", hash.as_ref()].concat()
}

/// Seals what is restored, for the device that shows `code`.
///
/// # Errors
/// `internal` without random bytes.
pub fn seal_for(code: &Code, plain: &[u8]) -> Result<Vec<u8>, ToolError> {
    sealed(&derived(&code.bits(), RESTORED, &[]).ok_or_else(unsealed)?, RESTORED, plain)
}

/// Opens what [`seal_for`] made; `None` for another code, or altered bytes.
pub fn open_by(code: &Code, message: &[u8]) -> Option<Vec<u8>> {
    opened(&derived(&code.bits(), RESTORED, &[])?, RESTORED, message)
}

fn sealed(key: &[u8; aead::KEY], purpose: &str, plain: &[u8]) -> Result<Vec<u8>, ToolError> {
    let nonce = random::<{ aead::NONCE }>()?;
    Ok([nonce.to_vec(), aead::seal(key, nonce, purpose.as_bytes(), plain)?].concat())
}

fn opened(key: &[u8; aead::KEY], purpose: &str, message: &[u8]) -> Option<Vec<u8>> {
    let (start, sealed) = message.split_at_checked(aead::NONCE).filter(|(_, sealed)| sealed.len() <= 2 * MAX_PLAIN)?;
    let mut nonce = [0; aead::NONCE];
    nonce.copy_from_slice(start);
    aead::open(key, nonce, purpose.as_bytes(), sealed)
}

/// The key that both ends of an agreement derive, bound to both public keys.
fn agreed(secret: EphemeralPrivateKey, peer: &[u8], recipient: &[u8], sender: &[u8]) -> Option<[u8; aead::KEY]> {
    let peer = UnparsedPublicKey::new(&X25519, peer);
    agree_ephemeral(secret, &peer, |shared| derived(shared, SEALED, &[sender, recipient])).ok()?
}

/// HKDF-SHA256 (RFC 5869).
fn derived(secret: &[u8], purpose: &str, about: &[&[u8]]) -> Option<[u8; aead::KEY]> {
    let pseudorandom = hkdf::Salt::new(hkdf::HKDF_SHA256, purpose.as_bytes()).extract(secret);
    let mut key = [0; aead::KEY];
    pseudorandom.expand(about, hkdf::HKDF_SHA256).and_then(|long| long.fill(&mut key)).ok()?;
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_recipient_of_one_backup_opens_it() {
        let (one, other) = (Recipient::make().unwrap(), Recipient::make().unwrap());
        let message = seal_to(&one.public(), b"keys").unwrap();
        assert!(other.open(&message).is_err());
        assert_eq!(one.open(&message).unwrap(), b"keys");
        for at in 0..message.len() {
            let recipient = Recipient::make().unwrap();
            let mut altered = seal_to(&recipient.public(), b"keys").unwrap();
            altered[at] ^= 2;
            assert!(recipient.open(&altered).is_err(), "byte {at}");
        }
        for short in 0..POINT + 30 {
            assert!(Recipient::make().unwrap().open(&message[..short.min(message.len())]).is_err());
        }
        for bad in ["", "AAAA", &base64url::encode(&[0; 32]), &base64url::encode(&[9; 33])] {
            assert!(seal_to(bad, b"keys").is_err(), "{bad}");
        }
    }

    #[test]
    fn the_device_signs_for_one_recipient_and_one_message() {
        let bytes = signed_bytes("a", b"message");
        assert!(bytes != signed_bytes("b", b"message") && bytes != signed_bytes("a", b"another"));
    }

    #[test]
    fn only_the_code_on_the_screen_opens_what_is_restored() {
        let (code, other) = (Code::mint().unwrap(), Code::mint().unwrap());
        let message = seal_for(&code, b"keys").unwrap();
        assert_eq!(open_by(&code, &message).as_deref(), Some(&b"keys"[..]));
        assert_eq!(open_by(&other, &message), None);
        assert_ne!(seal_for(&code, b"keys").unwrap(), message);
        for at in 0..message.len() {
            let mut altered = message.clone();
            altered[at] ^= 1;
            assert_eq!(open_by(&code, &altered), None, "byte {at}");
            assert_eq!(open_by(&code, &message[..at]), None, "{at} bytes");
        }
    }
}
