//! `agents.send_task`: a tool of an agent, by the agent's id (docs/contract/agents.md). The call runs through the pipeline:
//! its role, policy, approval, limits and audit are those of the tool.

use super::NAME;
use crate::{
    agents::{BUSY, NOT_FOUND, TIMEOUT, TaskCall, coded},
    registry::{context::Context, tool::Tool},
    tools::{tools::arguments::Arguments, within},
};
use base::error::{ErrorCode, ToolError};
use contract::meta::{Effect, Listing, Meta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// From agents.spawn.
    #[schemars(length(min = 1, max = NAME))]
    #[serde(deserialize_with = "crate::tools::bounded::<_, 1, NAME>")]
    agent_id: String,
    /// Your own name for the task; it is in the result.
    #[serde(default = "task", deserialize_with = "crate::tools::bounded::<_, 1, NAME>")]
    #[schemars(length(min = 1, max = NAME))]
    id: String,
    /// The operation, like "get_status" of a systemd agent. "command" with params {command, args} is dbus-mcp's form.
    #[schemars(length(min = 1, max = NAME))]
    #[serde(deserialize_with = "crate::tools::bounded::<_, 1, NAME>")]
    r#type: String,
    /// Its arguments as a JSON object.
    #[serde(default)]
    #[schemars(default = "none")]
    params: Arguments,
    /// In seconds.
    #[serde(default = "half_a_minute", deserialize_with = "within::<_, 1, 600>")]
    #[schemars(range(min = 1, max = 600))]
    timeout: u32,
}

fn task() -> String {
    "task".into()
}

/// What is advertised for absent params.
fn none() -> &'static str {
    "{}"
}

fn half_a_minute() -> u32 {
    30
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    id: String,
    /// "success"; whatever fails is an error of this call.
    status: &'static str,
    /// What the tool answered.
    output: Map<String, Value>,
    /// In seconds.
    execution_time: f64,
}

pub struct SendTask;

impl Tool for SendTask {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "agents.send_task",
        title: "Give an agent a task",
        description: "Call a tool of an agent by the agent's id.\n\nUse when: you have an id from agents.spawn.\n\nReturns: what the tool answered, and how long it took.\n\nNote: role, policy and approval of that tool hold.",
        listing: Listing::Extra,
        effect: Effect::Write { destructive: true, idempotent: false },
        open_world: true,
        long: true,
        timeout_seconds: 620,
        estimated_tokens: 300,
        tags: &["agents"],
        ..Meta::WRITE
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let agent = cx.services.agents.get(&cx.caller, &args.agent_id)?;
        let params = args
            .params
            .object()
            .map_err(|why| ToolError::invalid(format!("params: {why}")).with("parameter", "params"))?;
        let (names, params) = named(&agent.agent_type, &args.r#type, params);
        let (began, limit) = (Instant::now(), Duration::from_secs(args.timeout.into()));
        let told = cx.cancel.child_token();
        let call = TaskCall {
            caller: Arc::clone(&cx.caller),
            names,
            args: Value::Object(params),
            request_id: args.id.clone(),
            cancel: told.clone(),
        };
        let mut running = std::pin::pin!(cx.services.agents.perform(call));
        let result = match tokio::time::timeout(limit, &mut running).await {
            Ok(result) => result,
            Err(_) => {
                // The tool ends in its own way, and what it did is in its own record.
                told.cancel();
                let error = running.await.err();
                let late = ToolError::timeout("the task", limit).with("dbus_mcp_code", TIMEOUT);
                Err(error.filter(|error| error.code != ErrorCode::Cancelled).unwrap_or(late))
            }
        };
        match result.map_err(|error| match error.code {
            ErrorCode::Timeout => coded(error, TIMEOUT),
            ErrorCode::ResourceExhausted => coded(error, BUSY),
            ErrorCode::NotFound if error.details.get("parameter") == Some(&json!("type")) => coded(error, NOT_FOUND),
            _ => error,
        })? {
            Value::Object(output) => {
                Ok(Out { id: args.id, status: "success", output, execution_time: began.elapsed().as_secs_f64() })
            }
            other => Err(ToolError::internal(format!("a tool answered {other}"))),
        }
    }
}

/// The tool that a task means, in the order in which the names are tried, and its arguments.
fn named(agent_type: &str, operation: &str, mut params: Map<String, Value>) -> (Vec<String>, Map<String, Value>) {
    let namespace = match agent_type {
        "systemd" => "service",
        "file" => "files",
        other => other,
    };
    let tools = |operation: &str| vec![format!("{agent_type}_{operation}"), format!("{namespace}.{operation}")];
    match (operation, agent_type) {
        ("command", "exec") => (vec!["exec.run".into()], params),
        // dbus-mcp's only example names its command inside.
        ("command", _) => {
            let operation = params.remove("command").and_then(|command| command.as_str().map(str::to_owned));
            let args = match params.remove("args") {
                Some(Value::Object(args)) => args,
                _ => params,
            };
            (tools(&operation.unwrap_or_default()), args)
        }
        _ => (tools(operation), params),
    }
}
