//! JSON with a single interpretation.

use super::BundleError;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// Parses strict JSON: an object with exactly the fields of `T`, each once, no `null` for omitted ones, no array for an
/// object, no trailing data. Input that two readers could interpret differently is refused, because one signature
/// covers it for all readers.
///
/// # Errors
/// [`BundleError::Malformed`], naming `what`.
pub fn strict<T: Serialize + DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T, BundleError> {
    let wrong = |error: serde_json::Error| BundleError::malformed(what, error.to_string());
    // Before `Value`, which would silently accept duplicate keys.
    let parsed: T = serde_json::from_slice(bytes).map_err(wrong)?;
    let as_written: Value = serde_json::from_slice(bytes).map_err(wrong)?;
    if serde_json::to_value(&parsed).map_err(wrong)? == as_written {
        Ok(parsed)
    } else {
        Err(BundleError::malformed(
            what,
            "a value is not written in its one way (null for what is left out, or an array for an object)",
        ))
    }
}
