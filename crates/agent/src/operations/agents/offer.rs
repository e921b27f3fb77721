//! What a running agent says about its tools.

use crate::{
    context::Context,
    operations::{Done, Operation},
};
use base::error::ToolError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfferRequest {
    pub agent: String,
    /// `name`, `title`, `description`, `inputSchema`, `outputSchema` and `annotations` of one tool; at most 8 KiB.
    pub descriptor: Value,
}

/// Keeps the descriptor, for the owner to look at. It is not accepted by that.
pub struct OfferTool;

impl Operation for OfferTool {
    const TAG: &'static str = "offer_tool";
    const ANSWER: &'static str = "done";
    type Request = OfferRequest;
    type Answer = Done;

    async fn run(cx: &Context<'_>, request: OfferRequest) -> Result<Done, ToolError> {
        cx.agents.offer(cx.agents.find(&request.agent)?, request.descriptor)?;
        Ok(Done {})
    }
}
