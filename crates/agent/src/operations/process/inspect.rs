//! Inspects a process that is not the server's own.

use crate::{context::Context, operations::Operation};
use base::{
    error::ToolError,
    os::processes::{Proc, detail::Detail, is_gone},
};
use serde::{Deserialize, Serialize};

const TOOL: &str = "process.get_process_details";

/// A process that the server may not inspect itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InspectRequest {
    pub pid: u32,
    pub start_ticks: u64,
    pub memory_maps: bool,
}

/// What root sees of a process; secrets are masked before they leave the agent.
pub struct InspectProcess;

impl Operation for InspectProcess {
    const TAG: &'static str = "inspect_process";
    const ANSWER: &'static str = "process";
    type Request = InspectRequest;
    type Answer = Detail;

    async fn run(cx: &Context<'_>, request: InspectRequest) -> Result<Detail, ToolError> {
        cx.policy().check_read(TOOL)?;
        let InspectRequest { pid, start_ticks, memory_maps } = request;
        let gone = || {
            ToolError::not_found(format!("there is no process {pid} any more"))
                .with("pid", pid)
                .hint("process.list_processes has those that run")
        };
        let root = &cx.settings.root;
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
