//! An order of the owner: what a person must be able to do as owner on a machine without a console, signed.

use super::{ApproverSecret, KeyKind, authority::random};
use base::{base64url, error::ToolError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// `purpose` of an order.
pub const ORDER_PURPOSE: &str = "raspi-mcp owner 1";
/// Bytes of an order's document, at most.
pub const MAX_ORDER: usize = 8192;

/// An order and its signature. Anybody may carry it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedOrder {
    /// An [`OrderDocument`] in JSON: exactly the bytes that were signed, at most [`MAX_ORDER`].
    pub document: String,
    /// The id of the approver's key.
    pub key: String,
    pub kind: KeyKind,
    /// As in [`super::SignedAnswer`], over [`order_challenge`].
    pub signature: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authenticator_data: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_data: Option<String>,
}

/// What is ordered. Read it from the signed bytes; never write it again to check a signature.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderDocument {
    pub purpose: String,
    /// The id of the device that shall do it.
    pub device: String,
    /// The boot that the device reported: no order outlives it.
    pub boot: String,
    /// 32 random bytes, base64url. Used once.
    pub nonce: String,
    /// The device's time that it reported, in milliseconds since 1970 UTC. Good for five minutes.
    pub time_ms: i64,
    /// One of the operations of docs/approvals.md.
    pub operation: String,
    /// Its arguments, an object.
    pub args: Value,
}

impl SignedOrder {
    /// Writes an order and signs it with a key of kind `cli`. `device`, `boot` and `time_ms` are the device's own.
    ///
    /// # Errors
    /// `internal` when the kernel gives no random bytes.
    pub fn by_cli(
        key: &ApproverSecret,
        (device, boot, time_ms): (&str, &str, i64),
        operation: &str,
        args: &Value,
    ) -> Result<Self, ToolError> {
        let document = json!({
            "purpose": ORDER_PURPOSE, "device": device, "boot": boot, "nonce": random(32)?, "time_ms": time_ms,
            "operation": operation, "args": args,
        })
        .to_string();
        let signature = base64url::encode(&key.sign(&order_challenge(&document)));
        let key = key.public().id();
        Ok(Self { document, key, kind: KeyKind::Cli, signature, authenticator_data: None, client_data: None })
    }
}

/// What is signed: SHA-256 of "raspi-mcp owner 1", a zero byte, and SHA-256 of the document.
pub fn order_challenge(document: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(ORDER_PURPOSE);
    hash.update([0]);
    hash.update(Sha256::digest(document.as_bytes()));
    hash.finalize().into()
}
