//! The owner accepts the tools of an agent as they are, or takes that back.

use super::{is_owner, tool::hashed};
use crate::{
    context::Context,
    operations::{Done, Operation},
    peer::Callers,
};
use base::error::ToolError;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptRequest {
    pub agent: String,
    /// The hash of each tool that was shown; none takes back what was accepted. Without it, the agent is only started, so
    /// that it describes its tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<BTreeMap<String, String>>,
}

/// For root at the machine, as `raspi-mcp allow`.
pub struct AcceptAgent;

impl Operation for AcceptAgent {
    const TAG: &'static str = "accept_agent";
    const ANSWER: &'static str = "done";
    const CALLERS: Callers = Callers::Approvers { command: "raspi-mcp agents accept" };
    const CHANGES: bool = true;
    type Request = AcceptRequest;
    type Answer = Done;

    async fn run(cx: &Context<'_>, request: AcceptRequest) -> Result<Done, ToolError> {
        if !is_owner(cx.peer) {
            return Err(ToolError::denied("only root accepts agents: what they may do is in root's configuration")
                .hint("run it with sudo"));
        }
        let agent = cx.agents.find(&request.agent)?;
        let Some(tools) = request.tools else {
            cx.agents.want(agent);
            return Ok(Done {});
        };
        if !tools.is_empty() {
            // A program that cannot be used is not accepted, whoever saw it before.
            hashed(cx, agent).await?;
        }
        let about = json!({ "agent": request.agent, "tools": tools });
        cx.noted("agent accepted", about, cx.agents.accept(agent, tools))?;
        Ok(Done {})
    }
}
