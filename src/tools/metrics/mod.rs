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
mod why;

use crate::registry::row::Row;

pub static TOOLS: &[Row] = &[
    Row::of::<get_realtime_metrics::GetRealtimeMetrics>(),
    Row::of::<start_sampling_job::StartSamplingJob>(),
    Row::of::<stop_sampling_job::StopSamplingJob>(),
    Row::of::<list_sampling_jobs::ListSamplingJobs>(),
    Row::of::<get_samples::GetSamples>(),
    Row::of::<query_history::QueryHistory>(),
];
