//! `process.list_processes` (docs/contract/process.md).

use super::{
    measured::ProcessMeasurement,
    selection::{Looks, ProcessFilter, SortBy, SortOrder, sort},
    summary::ProcessSummary,
};
use crate::{
    registry::{context::Context, tool::Tool},
    tools::{
        empty,
        page::{Offset, PageLimit, Pagination},
        system::rounded,
    },
};
use base::{error::ToolError, os::processes::is_gone};
use contract::meta::Meta;
use hw::machine::unreadable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// All that is given must hold.
    #[serde(default, deserialize_with = "ProcessFilter::of_an_object")]
    filter: ProcessFilter,
    /// What comes first.
    #[serde(default)]
    sort_by: SortBy,
    /// Up or down.
    #[serde(default)]
    sort_order: SortOrder,
    /// Also exe and cwd, where they may be seen.
    #[serde(default)]
    detail: bool,
    #[serde(default)]
    limit: PageLimit,
    #[serde(default)]
    offset: Offset,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    processes: Vec<ProcessSummary>,
    total_count: usize,
    returned_count: usize,
    has_more: bool,
    pagination: Pagination,
    /// cpu_percent is a mean over this time; of processes younger than it, and when absent of all, since they started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    cpu_interval_seconds: Option<f64>,
    /// What to know about this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    note: Option<String>,
}

const SINCE_START: &str = "cpu_percent is the mean since each process started: no call of the last minute has measured it; sort_by cpu_percent does";

pub struct ListProcesses;

impl Tool for ListProcesses {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "process.list_processes",
        title: "List processes",
        description: "Processes of this machine, with what they use.\n\nUse when: something is slow or full, or you need a process' number.\n\nReturns: a page of them, filtered and sorted.",
        paginated: true,
        estimated_tokens: 6000,
        tags: &["process", "cpu", "memory"],
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let failed = |fault: std::io::Error| unreadable("the list of processes", &fault);
        // Callers that neither sort nor filter by it need not wait for it.
        let asks_for_cpu = args.sort_by == SortBy::CpuPercent || args.filter.asks_for_cpu();
        let ProcessMeasurement { scale, mut proc, mut stats, since } =
            ProcessMeasurement::read(cx, asks_for_cpu, Self::META.name).await?;
        let running = stats.len();
        let mut looks = Looks { proc: &mut proc, scale: &scale, since: &since };
        let mut fault = None;
        stats.retain(|stat| match args.filter.admits(stat, &mut looks) {
            Ok(admitted) => admitted,
            Err(error) if is_gone(&error) => false,
            Err(error) => {
                fault.get_or_insert(error);
                false
            }
        });
        if let Some(fault) = fault {
            return Err(failed(fault));
        }
        sort(&mut stats, args.sort_by, args.sort_order, &looks);
        let mut processes = Vec::with_capacity(args.limit.get().min(stats.len()));
        let mut ended = 0;
        for stat in stats.iter().skip(args.offset.get()) {
            if processes.len() == args.limit.get() {
                break;
            }
            match scale.summary(&mut proc, stat, &since, args.detail) {
                Ok(summary) => processes.push(summary),
                // It ended between listing and reading.
                Err(error) if is_gone(&error) => ended += 1,
                Err(error) => return Err(failed(error)),
            }
        }
        let pagination = Pagination::at(args.limit, args.offset, processes.len(), stats.len() - ended);
        let since_start = || since.seconds().is_none().then(|| SINCE_START.to_owned());
        Ok(Out {
            note: empty::filtered(&pagination, running, "processes").or_else(since_start),
            total_count: pagination.total_count,
            returned_count: pagination.returned_count,
            has_more: pagination.has_more,
            pagination,
            cpu_interval_seconds: since.seconds().map(|seconds| rounded(seconds, 2)),
            processes,
        })
    }
}
