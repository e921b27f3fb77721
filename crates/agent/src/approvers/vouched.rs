//! What the device signs when it took a code: the server that carried the code can exchange neither the device nor the
//! approver's key.

use super::ApproverKey;
use base::{base64url, error::ToolError};
use serde::{Deserialize, Serialize};

/// The device's signature over a code and the approver's key that came with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vouched {
    /// The device's key. Its id is the device's.
    pub key: ApproverKey,
    /// Ed25519 over [`vouched_bytes`]; base64url.
    pub signature: String,
}

impl Vouched {
    /// The device's id, if it took exactly this code and this key.
    ///
    /// # Errors
    /// `verification_failed` for another device than `device` (64 hexadecimal digits), and for a wrong signature.
    pub fn check(&self, device: Option<&str>, code: &str, approver: Option<&str>) -> Result<String, ToolError> {
        let (id, signature) = (self.key.id(), base64url::decode(&self.signature).unwrap_or_default());
        let failed = |why: String| {
            ToolError::new(base::error::ErrorCode::VerificationFailed, why)
                .hint("compare the device's ID with the one on its own screen; a taken-over server may answer there")
        };
        if device.is_some_and(|device| !device.eq_ignore_ascii_case(&id)) {
            return Err(failed(format!("another device took the code: its ID is {id}")));
        }
        if !self.key.verifies(&vouched_bytes(code, approver), &signature) {
            return Err(failed("the device did not sign for this code and this approver's key".into()));
        }
        Ok(id)
    }
}

/// What is signed: "raspi-mcp code 1", the code as the device shows it, and the text of the approver's key (nothing
/// without one), with a zero byte between them.
pub fn vouched_bytes(code: &str, approver: Option<&str>) -> Vec<u8> {
    ["raspi-mcp code 1", code, approver.unwrap_or_default()].join("\0").into_bytes()
}
