//! JSON that means one thing only.

use super::Fault;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// Parses JSON of the strict kind: an object of exactly the fields of `T`, each once, no `null` for what is left out, no array for an
/// object, nothing after it. What two readers could understand in two ways is refused, since it is signed once for all of them.
///
/// # Errors
/// [`Fault::Malformed`], naming `what`.
pub fn strict<T: Serialize + DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T, Fault> {
    let wrong = |error: serde_json::Error| Fault::malformed(what, error.to_string());
    // Before `Value`, which would let the later of two equal keys win.
    let parsed: T = serde_json::from_slice(bytes).map_err(wrong)?;
    let as_written: Value = serde_json::from_slice(bytes).map_err(wrong)?;
    if serde_json::to_value(&parsed).map_err(wrong)? == as_written {
        Ok(parsed)
    } else {
        Err(Fault::malformed(
            what,
            "a value is not written in its one way (null for what is left out, or an array for an object)",
        ))
    }
}
