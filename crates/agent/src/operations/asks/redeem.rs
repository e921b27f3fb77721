//! Checks an approved ask against one call.

use crate::{
    asks::{AskState, BoundCall},
    context::Context,
    operations::Operation,
    policy::AgentPolicy,
};
use base::error::ToolError;
use contract::{audit::ApprovalRecord, config::sections::routeros::write_tier};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct variant Op::RedeemAsk")]
pub struct RedeemRequest {
    pub id: String,
    pub tool: String,
    pub principal: String,
    /// SHA-256 of the canonical JSON of the arguments.
    pub args_sha256: String,
}

/// Consumes the approval, except for a tool whose calls become an operation of the agent: that operation consumes it.
pub struct RedeemAsk;

impl Operation for RedeemAsk {
    const TAG: &'static str = "redeem_ask";
    const ANSWER: &'static str = "approval";
    type Request = RedeemRequest;
    type Answer = ApprovalRecord;

    async fn run(cx: &Context<'_>, request: RedeemRequest) -> Result<ApprovalRecord, ToolError> {
        let RedeemRequest { id, tool, principal, args_sha256 } = &request;
        cx.halt.check(tool)?;
        if write_tier(tool).is_some() {
            return Err(ToolError::denied(format!(
                "approvals of {tool} are used by the process that talks to routers"
            ))
            .with("tool", tool.as_str())
            .with("ask_id", id.as_str())
            .hint("call the tool; raspi-mcp-routeros uses the approval just before it acts"));
        }
        let call = BoundCall { tool, principal, args_sha256 };
        // The agent's own operations consume their approval themselves, just before they act.
        let (ask, approval) = cx.asks.redeem(id, &call, !AgentPolicy::is_operation(tool) && !cx.agents.runs(tool))?;
        if ask.state == AskState::Consumed {
            cx.log.note_ask("ask used", cx.peer, &ask)?;
        }
        Ok(approval)
    }
}
