//! One call of a tool of kind `command`: the program is run once, with the arguments on its standard input.

use super::{files_of, plan::plan};
use crate::{
    authorization::Authorization,
    context::Context,
    exec::{CommandPlan, RunningCommand},
    operations::{
        Operation,
        commands::{CommandEnd, attend, digest},
    },
};
use base::{error::ToolError, os::blocking};
use contract::{config::AgentType, config::sections::agents::AgentKind, meta::Effect};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// Maximum bytes of a result.
const RESULT: usize = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentToolRequest {
    /// The server's id for the call: 32 hexadecimal digits.
    pub id: String,
    pub agent: String,
    pub tool: String,
    pub args: Value,
    #[serde(rename = "warrant")]
    pub authorization: Authorization,
}

/// Runs the call to its end. Dropping the future ends everything that it has started.
pub struct RunAgentTool;

impl Operation for RunAgentTool {
    const TAG: &'static str = "run_agent_tool";
    const ANSWER: &'static str = "command";
    const WAITS: bool = true;
    const CHANGES: bool = true;
    type Request = AgentToolRequest;
    type Answer = CommandEnd;

    async fn run(cx: &Context<'_>, request: AgentToolRequest) -> Result<CommandEnd, ToolError> {
        let input = request.args.to_string().into_bytes();
        let about = json!({
            "by": format!("agent:{}", request.agent), "tool": request.tool, "id": request.id,
            "args": digest(&input), "warrant": request.authorization,
        });
        let begun = begin(cx, &request, input).await;
        cx.log.note("agent tool", cx.peer, about, begun.as_ref().err())?;
        let (_account, seat, plan) = begun?;
        attend(cx, &plan, &seat, RESULT).await
    }
}

async fn begin<'a>(
    cx: &'a Context<'_>,
    request: &'a AgentToolRequest,
    input: Vec<u8>,
) -> Result<(crate::agents::AccountSeat<'a>, RunningCommand<'a>, CommandPlan), ToolError> {
    let declared = cx.agents.find(&request.agent)?;
    let name = format!("{}.{}", request.agent, request.tool);
    if declared.kind != AgentKind::Command {
        return Err(ToolError::invalid(format!("{name} is no tool of kind command")));
    }
    cx.policy().check_call(&name, &request.args)?;
    let files = hashed(cx, declared).await?;
    cx.agents.check(declared, &request.tool, &files)?;
    let tool = declared.tools.get(&request.tool).ok_or_else(|| ToolError::internal("the tool was there"))?;
    if let (Effect::Write { .. }, Some(halted)) = (tool.meta().effect, cx.halt.halted()) {
        return Err(halted.refusal(&name));
    }
    let (account, seat) = cx.agents.seat(declared, &request.id)?;
    let limit = Duration::from_secs(tool.timeout_seconds.into());
    let plan = plan(cx, declared, &request.id, account.user(), Some(&request.tool), limit)?;
    cx.admit_call(&name, &request.args, &request.authorization, |shown| *shown == request.args)?;
    Ok((account, seat, CommandPlan { stdin: input, ..plan }))
}

/// The hash of the program's files, off the runtime's thread where they have to be read.
pub(super) async fn hashed(cx: &Context<'_>, declared: &AgentType) -> Result<String, ToolError> {
    let (agent, declared) = (Arc::clone(cx.agent), declared.clone());
    blocking::run("agents", move |_| agent.agents.files(&declared, &files_of(&agent, &declared)?)).await
}
