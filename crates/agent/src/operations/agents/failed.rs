//! An agent that could not be started: a person who wants to accept its tools is told why.

use crate::{
    agents::AgentFailure,
    context::Context,
    operations::{Done, Operation},
};
use base::error::ToolError;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailedRequest {
    pub agent: String,
    pub failure: AgentFailure,
}

/// Keeps the failure until the agent describes a tool, or a person wants to see it again.
pub struct AgentFailed;

impl Operation for AgentFailed {
    const TAG: &'static str = "agent_failed";
    const ANSWER: &'static str = "done";
    type Request = FailedRequest;
    type Answer = Done;

    async fn run(cx: &Context<'_>, request: FailedRequest) -> Result<Done, ToolError> {
        cx.agents.failed(cx.agents.find(&request.agent)?, request.failure);
        Ok(Done {})
    }
}
