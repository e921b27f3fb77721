//! Signing a bundle.

use super::{Purpose, SecretKey};
use crate::bundle::{BundleError, Envelope, MAX_SIGNATURES, Manifest};

/// Adds a key's signature to a head. Only a valid manifest is signed.
///
/// # Errors
/// [`BundleError`]; the head is unchanged.
pub fn sign(envelope: &mut Envelope, key: &SecretKey) -> Result<(), BundleError> {
    Manifest::parse(&envelope.manifest)?;
    let signature = key.sign(Purpose::Release, &envelope.manifest);
    if envelope.signatures.iter().any(|other| other.key_id == signature.key_id) {
        return Err(BundleError::malformed("the bundle", format!("key {} has signed it already", signature.key_id)));
    }
    if envelope.signatures.len() == MAX_SIGNATURES {
        let (size, limit) = (MAX_SIGNATURES as u64 + 1, MAX_SIGNATURES as u64);
        return Err(BundleError::TooLong { what: "the list of signatures".into(), size, limit });
    }
    envelope.signatures.push(signature);
    Ok(())
}
