//! `requestState` (2026-07-28): state that a client carries from one round of a call to the next. The client can read
//! it but not change it.

use base::canonical::{from_hex, hex};
use base::error::ToolError;
use ring::{hmac, rand::SystemRandom};
use serde_json::{Value, json};
use std::sync::LazyLock;

/// JSON-RPC "Invalid params".
const INVALID_PARAMS: i32 = -32602;

/// New in each process: states sealed by an earlier process are invalid.
static KEY: LazyLock<Option<hmac::Key>> =
    LazyLock::new(|| hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new()).ok());

fn key() -> Result<&'static hmac::Key, ToolError> {
    KEY.as_ref().ok_or_else(|| ToolError::internal("the system gave no random bytes, so nothing can be sealed"))
}

/// `state` as authenticated text: hexadecimal JSON, a dot, its HMAC.
///
/// # Errors
/// `internal` if the system provides no randomness.
pub fn seal(state: &Value) -> Result<String, ToolError> {
    let payload = state.to_string();
    Ok(format!("{}.{}", hex(payload.as_bytes()), hex(hmac::sign(key()?, payload.as_bytes()).as_ref())))
}

/// Opens text made by [`seal`].
///
/// # Errors
/// -32602 for any other text.
pub fn open(sealed: &str) -> Result<Value, ToolError> {
    let key = key()?;
    let opened = || {
        let (payload, tag) = sealed.split_once('.')?;
        let (payload, tag) = (from_hex(payload)?, from_hex(tag)?);
        hmac::verify(key, &payload, &tag).ok()?;
        serde_json::from_slice(&payload).ok()
    };
    opened().ok_or_else(|| {
        ToolError::invalid("requestState was not made by this server, or was changed")
            .protocol(INVALID_PARAMS, json!({ "parameter": "requestState" }))
            .hint("send it back as it came, or begin again without it")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_sealed_opens() {
        let sealed = seal(&json!({ "round": 1 })).unwrap();
        assert_eq!(open(&sealed).unwrap(), json!({ "round": 1 }));
        let other = seal(&json!({ "round": 2 })).unwrap();
        let swapped = format!("{}.{}", other.split_once('.').unwrap().0, sealed.split_once('.').unwrap().1);
        for bad in ["", ".", "7b7d", "7b7d.00", "zz.zz", &swapped, &format!("{sealed}0"), &format!("{sealed}-TAMPERED")]
        {
            assert_eq!(open(bad).unwrap_err().as_protocol().unwrap().0, INVALID_PARAMS, "{bad}");
        }
    }
}
