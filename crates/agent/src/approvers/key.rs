//! The keys of approvers.

use super::KeyKind;
use base::error::ToolError;
pub use base::signing::{PublicKey as ApproverKey, SigningKey as ApproverSecret};

/// Reads base64url without padding of a SubjectPublicKeyInfo.
///
/// # Errors
/// `invalid_argument` for other text, and for an algorithm that `kind` does not use.
pub fn approver_key(text: &str, kind: KeyKind) -> Result<ApproverKey, ToolError> {
    match ApproverKey::parse(text) {
        Some(key) if key.is_ed25519() || kind == KeyKind::Passkey => Ok(key),
        Some(_) => Err(ToolError::invalid(format!("a key of kind {} is an Ed25519 key", kind.name()))),
        None => Err(ToolError::invalid(
            "an approver's key is base64url of a SubjectPublicKeyInfo with an Ed25519 or P-256 key",
        )
        .hint("`raspi-mcp approver key --out FILE` makes a key and prints its public half")),
    }
}
