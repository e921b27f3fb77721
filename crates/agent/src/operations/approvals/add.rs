//! Enrols an approver, at the console.

use super::demand_root;
use crate::{
    approvers::{Approver, NewApprover},
    context::Context,
    operations::Operation,
    peer::Callers,
};
use base::error::ToolError;
use serde_json::json;

/// Accepted from root only.
pub struct AddApprover;

impl Operation for AddApprover {
    const TAG: &'static str = "add_approver";
    const ANSWER: &'static str = "approver";
    const CALLERS: Callers = Callers::Approvers { command: "raspi-mcp approver add" };
    const CHANGES: bool = true;
    type Request = NewApprover;
    type Answer = Approver;

    async fn run(cx: &Context<'_>, request: NewApprover) -> Result<Approver, ToolError> {
        demand_root(cx, "enrolling an approver")?;
        let about = json!({ "name": request.name, "kind": request.kind, "key": request.key, "origin": request.origin });
        let added = cx.approvers.add(request, &cx.peer.name);
        cx.noted("add_approver", about, added)
    }
}
