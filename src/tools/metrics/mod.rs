//! `metrics.*`: the machine's current metrics, and those stored by sampling jobs (docs/contract/metrics.md).

mod get_realtime_metrics;
mod get_samples;
mod job;
mod list_sampling_jobs;
mod query_history;
mod resolution;
mod shown;
mod start_sampling_job;
mod stop_sampling_job;
mod threshold;
mod visible;
mod why;

use crate::registry::row::ToolRow;

pub static TOOLS: &[ToolRow] = &[
    ToolRow::of::<get_realtime_metrics::GetRealtimeMetrics>(),
    ToolRow::of::<start_sampling_job::StartSamplingJob>(),
    ToolRow::of::<stop_sampling_job::StopSamplingJob>(),
    ToolRow::of::<list_sampling_jobs::ListSamplingJobs>(),
    ToolRow::of::<get_samples::GetSamples>(),
    ToolRow::of::<query_history::QueryHistory>(),
];
