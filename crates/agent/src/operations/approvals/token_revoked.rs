//! Records that tokens were revoked at the console: `raspi-mcp token revoke` has taken them out of the configuration.

use super::demand_root;
use crate::{context::Context, operations::Operation, peer::Callers};
use base::{error::ToolError, os::blocking};
use contract::config::Sha256;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokensRevoked {
    /// Their hashes.
    pub tokens: Vec<Sha256>,
}

/// The outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RevocationKept {
    /// Whether this machine keeps such a record: only one with an identity of its own does.
    pub kept: bool,
}

/// Accepted from root only.
pub struct RecordRevokedTokens;

impl Operation for RecordRevokedTokens {
    const TAG: &'static str = "tokens_revoked";
    const ANSWER: &'static str = "revocation";
    const CALLERS: Callers = Callers::Approvers { command: "raspi-mcp token revoke" };
    const CHANGES: bool = true;
    type Request = TokensRevoked;
    type Answer = RevocationKept;

    async fn run(cx: &Context<'_>, request: TokensRevoked) -> Result<RevocationKept, ToolError> {
        demand_root(cx, "recording that tokens were revoked")?;
        let (agent, count) = (Arc::clone(cx.agent), request.tokens.len());
        let kept = blocking::run("revoke", move |_| agent.approvers.tokens_revoked(request.tokens)).await;
        cx.noted("tokens_revoked", json!({ "count": count }), kept.map(|kept| RevocationKept { kept }))
    }
}
