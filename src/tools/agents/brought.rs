//! The tools that agents bring: what they are, and what a call of one does.

use super::result::AgentResult;
use crate::{
    agents::AgentCall,
    registry::{
        added::ToolHandler,
        context::Context,
        entry::Entry,
        tool::{ToolFuture, ToolOutput},
    },
    tools::running_command::{StopWhenDropped, told_to_end},
};
use agent::{
    AgentState, OfferedTool, ToolState,
    exec::Ending,
    operations::{
        agents::{AgentToolRequest, RunAgentTool},
        commands::{AFTER_LIMIT, CommandEnd, CommandRef},
    },
};
use base::{
    error::{ErrorCode, ToolError},
    redact::redact_text,
    speech::quoted,
};
use contract::{
    config::{
        AgentType,
        sections::agents::{AgentKind, AgentTool},
    },
    meta::{Effect, Meta, OwnedMeta, Tier},
    schema::{Checker, executable},
};
use serde_json::{Value, json, value::to_raw_value};
use std::time::Duration;

/// Characters of what a failed program said, in the error.
const SAID: usize = 1000;

/// Why this tool could not be offered if it were accepted: its schemas cannot be executed.
pub fn refusal(declared: &AgentType, offered: &OfferedTool) -> Option<String> {
    Some(entry(declared, offered)?.err()?.into_message())
}

/// The accepted tools of an agent, and why some of them are not offered: their schemas cannot be executed.
pub fn entries(declared: &AgentType, state: &AgentState) -> (Vec<Entry>, Option<String>) {
    let accepted = state.tools.iter().filter(|tool| tool.state == ToolState::Accepted);
    let (mut offered, mut refused) = (Vec::new(), Vec::new());
    for tool in accepted {
        match entry(declared, tool) {
            Some(Ok(entry)) => offered.push(entry),
            Some(Err(error)) => {
                tracing::error!(target: "raspi_mcp::agents", agent = declared.name, tool = tool.name, %error, "it is not offered");
                refused.push(format!("{} is not offered: {}", tool.name, error.message));
            }
            None => {}
        }
    }
    (offered, (!refused.is_empty()).then(|| refused.join("; ")))
}

fn entry(declared: &AgentType, offered: &OfferedTool) -> Option<Result<Entry, ToolError>> {
    let (tool, about) = (declared.tools.get(&offered.name)?, offered.descriptor.as_ref()?);
    let (name, input) = (format!("{}.{}", declared.name, offered.name), typed(&about["inputSchema"]));
    let output = if about["outputSchema"].is_null() { Value::Null } else { typed(&about["outputSchema"]) };
    let text = |field: &str| about[field].as_str().filter(|text| !text.is_empty());
    let title = text("title").map_or_else(|| format!("{}: {}", declared.name, offered.name), str::to_owned);
    let meta = OwnedMeta::new(&name, &title, text("description").unwrap_or(&title), meta_of(tool, about));
    let checker = if output.is_null() { Ok(None) } else { Checker::new(&executable(&output)).map(Some) };
    let handler = checker.map_err(ToolError::invalid).map(|output| Brought {
        agent: declared.clone(),
        tool: offered.name.clone(),
        limit: Duration::from_secs(tool.timeout_seconds.into()),
        output,
    });
    Some(handler.and_then(|handler| Entry::brought(meta, input, output, handler)))
}

/// A schema with the type that MCP wants it to have, where it names none.
fn typed(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(words) = schema.as_object_mut() {
        words.entry("type").or_insert_with(|| "object".into());
    }
    schema
}

/// As the owner let it be. What the agent says of itself can only make a change milder than the worst.
fn meta_of(tool: &AgentTool, about: &Value) -> Meta {
    let meta = tool.meta();
    let says = |hint: &str| about["annotations"][hint].as_bool();
    match meta.effect {
        Effect::Write { .. } if tool.tier == Tier::Advanced => {
            let destructive = says("destructiveHint").unwrap_or(true);
            Meta { effect: Effect::Write { destructive, idempotent: says("idempotentHint").unwrap_or(false) }, ..meta }
        }
        _ => meta,
    }
}

/// A tool of an agent.
struct Brought {
    agent: AgentType,
    tool: String,
    limit: Duration,
    /// `None`: the result is a text.
    output: Option<Checker>,
}

impl ToolHandler for Brought {
    fn call<'a>(&'a self, cx: &'a Context, args: Value) -> ToolFuture<'a> {
        Box::pin(async move {
            match self.agent.kind {
                AgentKind::Command => self.run(cx, args).await,
                AgentKind::Mcp | AgentKind::Dbus => {
                    let answer = cx.services.agents.call(&self.agent, self.asked(cx, args)).await?;
                    self.changed(cx);
                    self.mcp_result(answer)
                }
            }
        })
    }
}

impl Brought {
    fn name(&self) -> String {
        format!("{}.{}", self.agent.name, self.tool)
    }

    fn asked<'a>(&'a self, cx: &'a Context, args: Value) -> AgentCall<'a> {
        let timeout_seconds = u32::try_from(self.limit.as_secs()).unwrap_or(u32::MAX);
        AgentCall { tool: &self.tool, args, caller: &cx.caller, timeout_seconds, cancel: &cx.cancel }
    }

    fn changed(&self, cx: &Context) {
        if self.agent.tools.get(&self.tool).is_some_and(|tool| tool.tier != Tier::Fundamental) {
            cx.notes.changed();
        }
    }

    /// Runs the program once.
    async fn run(&self, cx: &Context, args: Value) -> Result<ToolOutput, ToolError> {
        let CommandRef { id } = CommandRef::random()?;
        let agent = &cx.services.agent;
        let stop = StopWhenDropped::new(agent, &id);
        let request = AgentToolRequest {
            id: id.clone(),
            agent: self.agent.name.clone(),
            tool: self.tool.clone(),
            args,
            authorization: cx.authorization(),
        };
        let run = agent.call_within::<RunAgentTool>(request, self.limit + AFTER_LIMIT);
        tokio::pin!(run);
        let end = tokio::select! {
            biased;
            end = &mut run => end,
            () = cx.cancel.cancelled() => tokio::select! {
                biased;
                end = run => end,
                never = told_to_end(agent, &id) => match never {},
            },
        }?;
        stop.ended();
        if end.simulated {
            cx.notes.simulated();
        }
        self.changed(cx);
        self.command_result(&end)
    }

    fn command_result(&self, end: &CommandEnd) -> Result<ToolOutput, ToolError> {
        let name = self.name();
        if end.stopped {
            return Err(ToolError::cancelled(&name));
        }
        if end.timed_out {
            return Err(ToolError::timeout(&name, Duration::from_millis(end.limit_ms)));
        }
        let said: String = redact_text(&end.stderr.text()).chars().take(SAID).collect();
        let failed = |what: String| {
            Err(ToolError::unavailable(format!("{name} {what}"))
                .with("agent", self.agent.name.as_str())
                .with("stderr", said.as_str())
                .hint("the owner of the agent sees to it; journalctl on the device may say more"))
        };
        match end.ending {
            Ending::Exited(0) => {}
            Ending::Exited(code) => return failed(format!("failed with exit code {code}")),
            Ending::Killed(signal) => return failed(format!("was ended by signal {signal}")),
        }
        if end.stdout.cut() > 0 {
            return Err(too_large(&name, 1 << 20));
        }
        let text = end.stdout.text();
        match &self.output {
            None => output(json!({ "text": redact_text(&text) }), Vec::new()),
            Some(_) => match serde_json::from_str(&text) {
                Ok(value) => self.checked(value, Vec::new()),
                Err(error) => failed(format!("answered what is no JSON: {error}")),
            },
        }
    }

    fn mcp_result(&self, answer: Value) -> Result<ToolOutput, ToolError> {
        let AgentResult { text, pictures, structured, is_error } = AgentResult::of(answer).map_err(|why| {
            ToolError::unavailable(format!("{} answered {why}", self.name()))
                .with("agent", self.agent.name.as_str())
                .hint("the result is not passed on; tell the owner of the agent")
        })?;
        if is_error {
            let (name, said) = (self.name(), quoted(&text));
            let whole: String = text.chars().take(SAID).collect();
            return Err(ToolError::precondition(format!("{name} failed; its agent says: {said}"))
                .with("agent", self.agent.name.as_str())
                .with("agent_error", whole));
        }
        match &self.output {
            None => output(json!({ "text": text }), pictures),
            Some(_) => self.checked(structured.unwrap_or_default(), pictures),
        }
    }

    /// A result that its schema allows.
    fn checked(&self, value: Value, content: Vec<Value>) -> Result<ToolOutput, ToolError> {
        let fault = self.output.as_ref().and_then(|checker| checker.check(&value).err());
        if let Some(fault) = fault {
            return Err(ToolError::unavailable(format!("{} answered something else than it promised", self.name()))
                .with("agent", self.agent.name.as_str())
                .with("fault", fault.refusal(&value).message.as_str())
                .hint("the result is not passed on; tell the owner of the agent"));
        }
        output(value, content)
    }
}

fn output(value: Value, content: Vec<Value>) -> Result<ToolOutput, ToolError> {
    let json = to_raw_value(&value).map_err(|error| ToolError::internal(error.to_string()))?;
    Ok(ToolOutput { json, content, whole: None, blob: None })
}

fn too_large(name: &str, limit: usize) -> ToolError {
    ToolError::new(ErrorCode::ContentTooLarge, format!("{name} answered more than {limit} bytes"))
        .with("limit_bytes", limit)
        .hint("ask it for less")
}
