//! Sends a signal to a process.

use crate::{
    authorization::Authorization,
    context::Context,
    operations::Operation,
    processes::{SignalName, SignalTarget},
};
use base::error::{ErrorCode, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const TOOL: &str = "process.send_signal";

/// The signal to send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignalRequest {
    pub pid: u32,
    /// When the process in question began, in ticks since boot; `None` only for a simulated one.
    #[serde(default)]
    pub start_ticks: Option<u64>,
    pub signal: SignalName,
    /// Judge it and send nothing.
    pub dry_run: bool,
    #[serde(rename = "warrant")]
    pub authorization: Authorization,
}

/// The process that got it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signalled {
    pub name: String,
    pub simulated: bool,
}

/// Sends the signal, unless the process is protected.
pub struct SendSignal;

impl Operation for SendSignal {
    const TAG: &'static str = "signal_process";
    const ANSWER: &'static str = "signalled";
    const CHANGES: bool = true;
    type Request = SignalRequest;
    type Answer = Signalled;

    fn was_shown(request: &SignalRequest, args: &Value) -> bool {
        let signal = args.get("signal").cloned().unwrap_or_else(|| json!(SignalName::default()));
        args.get("pid").and_then(Value::as_u64) == Some(request.pid.into())
            && signal == json!(request.signal)
            && args.get("dry_run").and_then(Value::as_bool) != Some(true)
    }

    async fn run(cx: &Context<'_>, request: SignalRequest) -> Result<Signalled, ToolError> {
        let result = send(cx, &request);
        cx.noted("send_signal", json!(request), result)
    }
}

fn send(cx: &Context<'_>, request: &SignalRequest) -> Result<Signalled, ToolError> {
    cx.policy().check(TOOL)?;
    let held = cx.processes.hold(request.pid)?;
    let target = held.target();
    if request.start_ticks.is_none() && !cx.simulated {
        return Err(
            ToolError::invalid("the process that is meant has a time it began").with("parameter", "start_ticks")
        );
    }
    if request.start_ticks.is_some_and(|began| began != target.start_ticks) {
        return Err(ToolError::new(ErrorCode::Conflict, format!("process {} is another one by now", request.pid))
            .with("pid", request.pid)
            .hint("look at it again with process.get_process_details"));
    }
    unprotected(cx, target)?;
    if !request.dry_run {
        cx.admit(TOOL, &request.authorization, |args| SendSignal::was_shown(request, args))?;
        held.send(request.signal)?;
    }
    Ok(Signalled { name: target.name.clone(), simulated: cx.simulated })
}

/// Refuses processes that keep the machine running and reachable.
fn unprotected(cx: &Context<'_>, target: &SignalTarget) -> Result<(), ToolError> {
    let settings = &cx.settings;
    let ours = ["/raspi-mcp.service", "/raspi-mcp-agent.service"];
    let why = if target.pid == 1 {
        "it is the first one"
    } else if target.is_kernel {
        "it is a thread of the kernel"
    } else if target.pid == std::process::id() || ours.iter().any(|unit| target.groups.contains(unit)) {
        "it is raspi-mcp"
    } else if settings.server_uid == Some(target.uid) {
        "it is the server's"
    } else if settings.protected_processes.contains(&target.name) {
        "process.protected has its name"
    } else {
        return Ok(());
    };
    Err(ToolError::denied(format!("process {} ({}) gets no signal: {why}", target.pid, target.name))
        .with("pid", target.pid)
        .with("name", target.name.clone())
        .hint("services are stopped with service tools, the machine with system.reboot"))
}
