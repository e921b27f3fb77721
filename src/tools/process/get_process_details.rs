//! `process.get_process_details` (docs/contract/process.md).

use super::{measured::ProcessMeasurement, summary::ProcessSummary};
use crate::{
    registry::{context::Context, tool::Tool},
    tools::{system::rounded, within},
};
use agent::operations::process::{InspectProcess, InspectRequest};
use base::{
    error::{ErrorCode, ToolError},
    os::processes::{detail::Detail, is_gone, stat::TICKS},
};
use contract::meta::{Listing, Meta};
use hw::machine::unreadable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io;

/// `PID_MAX_LIMIT` of linux/threads.h.
pub const LARGEST_PID: u32 = 4_194_304;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Its number.
    #[schemars(range(min = 1, max = LARGEST_PID))]
    #[serde(deserialize_with = "within::<_, 1, LARGEST_PID>")]
    pid: u32,
    /// Also what it has mapped, the largest first.
    #[serde(default)]
    memory_maps: bool,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    #[serde(flatten)]
    summary: ProcessSummary,
    /// cpu_percent is a mean over this time before now.
    cpu_interval_seconds: f64,
    cpu_times: CpuTimes,
    #[serde(flatten)]
    detail: Detail,
}

/// Seconds since it started.
#[derive(Serialize, JsonSchema)]
struct CpuTimes {
    user: f64,
    system: f64,
}

pub struct GetProcessDetails;

impl Tool for GetProcessDetails {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "process.get_process_details",
        title: "Process details",
        description: "All about one process.\n\nUse when: one of them needs a closer look.\n\nReturns: CPU, memory, storage; open files, sockets, variables, secrets masked; what cannot be seen.",
        listing: Listing::Extra,
        estimated_tokens: 1500,
        tags: &["process", "files", "sockets"],
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let machine = &cx.services.machine;
        let pid = args.pid;
        let failed = |fault: io::Error| if is_gone(&fault) { absent(pid) } else { unreadable("the process", &fault) };
        let ProcessMeasurement { scale, mut proc, stats, since } =
            ProcessMeasurement::read(cx, true, Self::META.name).await?;
        let stat = stats.iter().find(|stat| stat.pid == pid).ok_or_else(|| absent(pid))?;
        let summary = scale.summary(&mut proc, stat, &since, false).map_err(failed)?;
        let mut detail = Detail::read(&machine.root, pid, args.memory_maps).map_err(failed)?;
        let hidden = detail.unavailable.values().any(|why| why == "not permitted");
        if hidden {
            let request = InspectRequest { pid, start_ticks: stat.start_ticks, memory_maps: args.memory_maps };
            match cx.services.agent.call::<InspectProcess>(request).await {
                Ok(seen) => detail.complete(seen),
                // It ended, or its pid was reused: discard what was read.
                Err(error) if error.code == ErrorCode::NotFound => return Err(error),
                Err(error) => {
                    let why = format!("not permitted to the server, and of the agent: {}", error.message);
                    detail
                        .unavailable
                        .values_mut()
                        .filter(|old| *old == "not permitted")
                        .for_each(|old| old.clone_from(&why));
                }
            }
        }
        // Check that it is still the same process: a pid can be reused.
        if proc.stat(pid).map_err(failed)?.start_ticks != stat.start_ticks {
            return Err(absent(pid));
        }
        Ok(Out {
            cpu_interval_seconds: rounded(since.seconds_of(stat), 2),
            cpu_times: CpuTimes {
                user: rounded(stat.user_ticks as f64 / TICKS, 2),
                system: rounded(stat.system_ticks as f64 / TICKS, 2),
            },
            summary,
            detail,
        })
    }
}

/// The error for a pid that does not exist.
pub fn absent(pid: u32) -> ToolError {
    ToolError::not_found(format!("there is no process {pid}"))
        .with("parameter", "pid")
        .with("pid", pid)
        .hint("process.list_processes has those that run")
}
