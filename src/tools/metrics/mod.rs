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

use crate::registry::tool::Entry;

pub static TOOLS: &[Entry] = &[
    Entry::of::<get_realtime_metrics::GetRealtimeMetrics>(),
    Entry::of::<start_sampling_job::StartSamplingJob>(),
    Entry::of::<stop_sampling_job::StopSamplingJob>(),
    Entry::of::<list_sampling_jobs::ListSamplingJobs>(),
    Entry::of::<get_samples::GetSamples>(),
    Entry::of::<query_history::QueryHistory>(),
];
