//! How far the agent has recomputed an audit chain.

use super::doubt;
use crate::{context::Context, operations::Operation};
use base::error::ToolError;
use contract::audit::{Beginning, VerifiedPosition};
use serde_json::json;

/// The position of the chain with this beginning; an unknown chain begins with this request.
pub struct FindPosition;

impl Operation for FindPosition {
    const TAG: &'static str = "audit_position";
    const ANSWER: &'static str = "position";
    type Request = Beginning;
    type Answer = VerifiedPosition;

    async fn run(cx: &Context<'_>, request: Beginning) -> Result<VerifiedPosition, ToolError> {
        let (position, began) = cx.heads.position(&request).inspect_err(|error| doubt(cx, error))?;
        if began {
            let about = json!({ "chain": request.chain, "after": position.seq, "missing": position.missing });
            cx.log.write("audit chain begins", cx.peer, about)?;
        }
        Ok(position)
    }
}
