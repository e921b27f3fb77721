//! Runs an agent that stays: an MCP server, or a program on the bus.

use super::{plan::plan, tool::hashed};
use crate::{
    context::Context,
    exec::CommandPlan,
    operations::{
        Operation,
        commands::{CommandEnd, attend},
    },
};
use base::error::ToolError;
use contract::config::sections::agents::{AgentKind, AgentStart};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{sync::Arc, time::Duration};

/// How long an agent may run. A year: systemd wants a limit, should this process fail.
const LIMIT: Duration = Duration::from_secs(365 * 24 * 3600);
/// Kept of what it writes to standard error: the first half and the last.
const SAID: usize = 4096;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentRequest {
    /// The server's id for it: 32 hexadecimal digits. For an MCP server, [`AttachAgent`](super::AttachAgent) comes first.
    pub id: String,
    pub agent: String,
}

/// Runs it until it ends, [`StopCommand`](crate::operations::commands::StopCommand) ends it, or this request's
/// connection closes. The owner's declaration is what allows it; each of its tools has to be accepted on top.
pub struct RunAgent;

impl Operation for RunAgent {
    const TAG: &'static str = "run_agent";
    const ANSWER: &'static str = "command";
    const WAITS: bool = true;
    const CHANGES: bool = true;
    type Request = AgentRequest;
    type Answer = CommandEnd;

    fn patience(_: &AgentRequest) -> Duration {
        LIMIT
    }

    async fn run(cx: &Context<'_>, request: AgentRequest) -> Result<CommandEnd, ToolError> {
        let stream = cx.agents.take_stream(&request.id);
        let declared = cx.agents.find(&request.agent)?;
        if declared.kind == AgentKind::Command || declared.start == AgentStart::Never {
            return Err(ToolError::invalid(format!("{} is not started by raspi-mcp", request.agent)));
        }
        if (declared.kind == AgentKind::Mcp) != stream.is_some() {
            return Err(ToolError::precondition("an MCP server needs its streams, and no other agent has any"));
        }
        // The files are looked at once more: what is accepted holds for a program as it is now.
        let started: Result<_, ToolError> = async {
            hashed(cx, declared).await?;
            let (account, seat) = cx.agents.seat(declared, &request.id)?;
            let plan = plan(cx, declared, &request.id, account.user(), None, LIMIT)?;
            Ok((account, seat, CommandPlan { stdio: stream.map(Arc::new), ..plan }))
        }
        .await;
        let about = json!({ "agent": request.agent, "id": request.id });
        cx.log.note("agent started", cx.peer, about.clone(), started.as_ref().err())?;
        let (_account, seat, plan) = started?;
        let end = attend(cx, &plan, &seat, SAID).await;
        let (ending, error) = (end.as_ref().ok().map(|end| end.ending), end.as_ref().err().map(|error| &error.message));
        cx.log.write("agent ended", cx.peer, json!({ "request": about, "ending": ending, "error": error }))?;
        end
    }
}
