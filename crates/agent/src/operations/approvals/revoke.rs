//! Revokes an approver, at the console.

use super::demand_root;
use crate::{approvers::Enrolled, context::Context, operations::Operation, peer::Callers};
use base::error::ToolError;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RevokeRequest {
    pub name: String,
}

/// Accepted from root only.
pub struct RevokeApprover;

impl Operation for RevokeApprover {
    const TAG: &'static str = "revoke_approver";
    const ANSWER: &'static str = "approver";
    const CALLERS: Callers = Callers::Approvers { command: "raspi-mcp approver revoke" };
    const CHANGES: bool = true;
    type Request = RevokeRequest;
    type Answer = Enrolled;

    async fn run(cx: &Context<'_>, request: RevokeRequest) -> Result<Enrolled, ToolError> {
        demand_root(cx, "revoking an approver")?;
        let gone = cx.approvers.revoke(&request.name);
        cx.noted("revoke_approver", json!({ "name": request.name }), gone)
    }
}
