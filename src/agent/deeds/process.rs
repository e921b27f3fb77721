//! Signals to processes, and a look into those that are not the server's own.

use crate::{
    agent::{Agent, Ask, Authorization, Peer, processes::SignalName, processes::Target},
    error::{ErrorCode, ToolError},
    os::processes::{Proc, detail::Detail, is_gone},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const SEND: &str = "process.send_signal";
const INSPECT: &str = "process.get_process_details";

/// A signal that the server wants sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignalRequest {
    pub pid: u32,
    /// When the process that is meant began, in ticks since boot; only a simulated one has none.
    #[serde(default)]
    pub start_ticks: Option<u64>,
    pub signal: SignalName,
    /// Judge it and send nothing.
    pub dry_run: bool,
    #[serde(rename = "warrant")]
    pub authorization: Authorization,
}

/// Who got it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signalled {
    pub name: String,
    pub simulated: bool,
}

/// A process the server may not look into itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InspectRequest {
    pub pid: u32,
    pub start_ticks: u64,
    pub memory_maps: bool,
}

impl Agent {
    pub(in crate::agent) fn signal_process(
        &self,
        peer: &Peer,
        request: &SignalRequest,
    ) -> Result<Signalled, ToolError> {
        self.policy().check(SEND)?;
        let held = self.processes.hold(request.pid)?;
        let target = held.target();
        if request.start_ticks.is_none() && !self.simulated {
            return Err(
                ToolError::invalid("the process that is meant has a time it began").with("parameter", "start_ticks")
            );
        }
        if request.start_ticks.is_some_and(|began| began != target.start_ticks) {
            return Err(ToolError::new(ErrorCode::Conflict, format!("process {} is another one by now", request.pid))
                .with("pid", request.pid)
                .hint("look at it again with process.get_process_details"));
        }
        self.unprotected(target)?;
        if !request.dry_run {
            self.admit(peer, SEND, &request.authorization, |ask| shows(ask, request))?;
            held.send(request.signal)?;
        }
        Ok(Signalled { name: target.name.clone(), simulated: self.simulated })
    }

    /// What keeps the machine up and reachable is left alone.
    fn unprotected(&self, target: &Target) -> Result<(), ToolError> {
        let settings = &self.settings;
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

    /// What root sees of a process; secrets are masked before they leave.
    pub(in crate::agent) fn inspect_process(&self, request: InspectRequest) -> Result<Detail, ToolError> {
        self.policy().check_read(INSPECT)?;
        let InspectRequest { pid, start_ticks, memory_maps } = request;
        let gone = || {
            ToolError::not_found(format!("there is no process {pid} any more"))
                .with("pid", pid)
                .hint("process.list_processes has those that run")
        };
        let root = &self.settings.root;
        let same =
            || Proc::open(root).and_then(|mut proc| proc.stat(pid)).is_ok_and(|stat| stat.start_ticks == start_ticks);
        if !same() {
            return Err(gone());
        }
        let detail = Detail::read(root, pid, memory_maps).map_err(|error| {
            if is_gone(&error) {
                gone()
            } else {
                ToolError::unavailable(format!("process {pid} cannot be read: {error}"))
            }
        })?;
        if same() { Ok(detail) } else { Err(gone()) }
    }
}

/// The person approved this signal to this process.
fn shows(ask: &Ask, request: &SignalRequest) -> bool {
    let args = &ask.request.args;
    let signal = args.get("signal").cloned().unwrap_or_else(|| json!(SignalName::default()));
    args.get("pid").and_then(Value::as_u64) == Some(request.pid.into())
        && signal == json!(request.signal)
        && args.get("dry_run").and_then(Value::as_bool) != Some(true)
}
