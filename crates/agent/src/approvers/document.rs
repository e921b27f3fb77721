//! What a person is asked, as the exact bytes that the agent signs.

use super::{ApproverKey, ApproverSecret, KeyKind};
use crate::asks::Ask;
use base::{base64url, error::ToolError};
use contract::{access::question, config::ApproverKinds};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `purpose` of an ask: a signature over something else is none over an ask.
pub const PURPOSE: &str = "raspi-mcp ask 1";
/// Columns of the lines, where nobody knows how wide the reader's screen is.
const COLUMNS: usize = 80;

/// An ask as an approver sees it. Read it from the signed bytes; never write it again to check a signature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskDocument {
    pub purpose: String,
    /// The id of the device that asks ([`super::DeviceId`]).
    pub device: String,
    /// Another one after each start of the agent: no answer outlives it.
    pub boot: String,
    /// The ask's id, six characters.
    pub ask: String,
    /// 32 random bytes, base64url.
    pub nonce: String,
    pub tool: String,
    pub summary: String,
    pub args: Value,
    pub args_sha256: String,
    pub principal: String,
    /// Every line that a person is shown, as on a terminal of 80 columns.
    pub lines: Vec<String>,
    /// Milliseconds since 1970 UTC, by the device's clock.
    pub created_ms: i64,
    pub expires_ms: i64,
    /// The kinds of key that may approve it. Every enrolled key may deny.
    pub kinds: Vec<KeyKind>,
}

/// The signed bytes of an ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedAsk {
    /// An [`AskDocument`] in JSON: exactly the bytes that are signed.
    pub document: String,
    /// Ed25519 over "raspi-mcp ask 1", a zero byte and the document; base64url.
    pub signature: String,
    /// The key that signed it. Its id is the document's `device`.
    pub key: ApproverKey,
}

impl SignedAsk {
    /// Renders and signs `ask`.
    ///
    /// # Errors
    /// `internal` when it cannot be written as JSON.
    pub(super) fn of(
        ask: &Ask,
        boot: &str,
        nonce: &str,
        (secret, key): &(ApproverSecret, ApproverKey),
        narrowed: &ApproverKinds,
    ) -> Result<Self, ToolError> {
        let request = &ask.request;
        let document = AskDocument {
            purpose: PURPOSE.into(),
            device: key.id(),
            boot: boot.into(),
            ask: ask.id.clone(),
            nonce: nonce.into(),
            tool: request.tool.clone(),
            summary: request.summary.clone(),
            args: request.args.clone(),
            args_sha256: request.args_sha256.clone(),
            principal: request.principal.clone(),
            lines: question::lines(request, COLUMNS).lines().map(str::to_owned).collect(),
            created_ms: ask.created_ms,
            expires_ms: ask.expires_ms,
            kinds: KeyKind::ALL.into_iter().filter(|kind| kind.counts_for(&request.tool, narrowed)).collect(),
        };
        let document = serde_json::to_string(&document)
            .map_err(|error| ToolError::internal(format!("ask {} cannot be written: {error}", ask.id)))?;
        let signature = base64url::encode(&secret.sign(&message(&document)));
        Ok(Self { document, signature, key: key.clone() })
    }

    /// The ask, if the signature is that of the device with id `device`.
    ///
    /// # Errors
    /// `permission_denied` for another device or a wrong signature, `invalid_argument` for a document that is none.
    pub fn open(&self, device: &str) -> Result<AskDocument, ToolError> {
        let forged = |why: &str| {
            ToolError::denied(format!("this ask is not from the device with id {device}: {why}"))
                .hint("compare the id with `raspi-mcp approver list` at the device's console")
        };
        if self.key.id() != device {
            return Err(forged("another key signed it"));
        }
        let signature = base64url::decode(&self.signature).unwrap_or_default();
        if !self.key.verifies(&message(&self.document), &signature) {
            return Err(forged("its signature is wrong"));
        }
        let ask: AskDocument = serde_json::from_str(&self.document)
            .map_err(|error| ToolError::invalid(format!("the device sent an ask that cannot be read: {error}")))?;
        if ask.purpose != PURPOSE || ask.device != device {
            return Err(forged("it was signed for something else"));
        }
        Ok(ask)
    }
}

fn message(document: &str) -> Vec<u8> {
    [PURPOSE.as_bytes(), &[0], document.as_bytes()].concat()
}
