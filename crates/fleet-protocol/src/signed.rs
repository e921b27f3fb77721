//! A signed document as it travels: the document, a line feed, and the signature in base64url without padding.
//!
//! The document is JSON on one line: exactly the bytes that were signed. It is read from them and never written again to
//! check a signature. What is signed with Ed25519 is SHA-256 of the document's purpose, a zero byte, and SHA-256 of the
//! document, so that a signature for one purpose is none for another.

use base::{
    base64url,
    error::{ErrorCode, ToolError},
    signing::{PublicKey, SigningKey},
};
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

/// Characters of a signature.
const SIGNATURE: usize = 86;

/// Signs `document`, which has no line feed.
pub fn sign(purpose: &str, document: &str, key: &SigningKey) -> String {
    let signature = base64url::encode(&key.sign(&challenge(purpose, document)));
    format!("{document}\n{signature}")
}

/// Reads a message of at most `limit` bytes that `key` signed for `purpose`.
///
/// # Errors
/// `verification_failed` for a message that is no signed document, or that another key signed;
/// `invalid_argument` for a document of another form.
pub fn read<T: DeserializeOwned>(purpose: &str, message: &[u8], limit: usize, key: &PublicKey) -> Result<T, ToolError> {
    let document = verified(purpose, message, limit, key)?;
    serde_json::from_str(document).map_err(|error| ToolError::invalid(format!("a {purpose}: {error}")))
}

/// The document of a message, if `key` signed it.
///
/// # Errors
/// `verification_failed`.
pub fn verified<'a>(purpose: &str, message: &'a [u8], limit: usize, key: &PublicKey) -> Result<&'a str, ToolError> {
    let wrong = |why: &str| ToolError::new(ErrorCode::VerificationFailed, format!("a message is no {purpose}: {why}"));
    if message.len() > limit {
        return Err(wrong(&format!("it has more than {limit} bytes")));
    }
    let (document, signature) = parts(message).ok_or_else(|| wrong("it has no document and signature"))?;
    let signature = base64url::decode(signature).ok_or_else(|| wrong("its signature is not base64url"))?;
    if !key.verifies(&challenge(purpose, document), &signature) {
        return Err(wrong("its signature is not that of the expected key"));
    }
    Ok(document)
}

/// The document of a message whose signature nobody checked: to find out which key has to be used.
pub fn unverified(message: &[u8]) -> Option<&str> {
    parts(message).map(|(document, _)| document)
}

fn parts(message: &[u8]) -> Option<(&str, &str)> {
    let text = str::from_utf8(message).ok()?;
    let (document, signature) = text.split_once('\n')?;
    (signature.len() == SIGNATURE).then_some((document, signature))
}

fn challenge(purpose: &str, document: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(purpose);
    hash.update([0]);
    hash.update(Sha256::digest(document.as_bytes()));
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn key() -> SigningKey {
        SigningKey::from_pkcs8(&SigningKey::generate().expect("random bytes")).expect("its own key")
    }

    #[test]
    fn only_these_bytes_for_this_purpose_by_this_key_count() {
        let key = key();
        let message = sign("a 1", r#"{"n":1}"#, &key);
        let read = |purpose: &str, message: &str, by: &SigningKey| {
            super::read::<Value>(purpose, message.as_bytes(), 200, &by.public())
        };
        assert_eq!(read("a 1", &message, &key).expect("valid")["n"], 1);
        assert!(read("b 1", &message, &key).is_err());
        assert!(read("a 1", &message.replace('1', "2"), &key).is_err());
        assert!(read("a 1", &message, &super::tests::key()).is_err());
        assert!(read("a 1", &format!("{message}\n"), &key).is_err());
        assert!(read("a 1", &format!("{}{message}", " ".repeat(200)), &key).is_err());
        assert!(read("a 1", r#"{"n":1}"#, &key).is_err());
    }
}
