//! A person accepts that a chain is missing.

use crate::{context::Context, operations::Operation, peer::Callers};
use base::error::ToolError;
use contract::audit::AcceptedGap;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct variant Op::AcceptGap")]
pub struct GapRequest {
    /// The chain's name.
    pub chain: String,
    /// The last record that was known of it.
    pub seq: i64,
}

/// Accepts that a chain is missing. Taken from approvers only, never from the server.
pub struct AcceptGap;

impl Operation for AcceptGap {
    const TAG: &'static str = "accept_gap";
    const ANSWER: &'static str = "accepted_gap";
    const CALLERS: Callers = Callers::Approvers { command: "raspi-mcp audit accept-gap" };
    type Request = GapRequest;
    type Answer = AcceptedGap;

    async fn run(cx: &Context<'_>, request: GapRequest) -> Result<AcceptedGap, ToolError> {
        let gap = cx.heads.accept(&request.chain, request.seq, &cx.peer.to_string())?;
        cx.log.write("audit gap accepted", cx.peer, json!(gap))?;
        Ok(gap)
    }
}
