//! Explains why `metrics.*` has no samples: no job, none of that metric, or none at that time.

use crate::{
    registry::context::Context,
    sampling::{JobSummary, metric::MetricKey},
};
use base::{clock::Stamp, error::ToolError};
use std::ops::Range;

/// One sentence. `metrics` are the requested ones, none for all, `times` milliseconds since 1970 UTC, `job` the requested job, if
/// one.
///
/// # Errors
/// The store's.
pub async fn nothing(
    cx: &Context,
    job: Option<&str>,
    times: &Range<i64>,
    metrics: &[&MetricKey],
) -> Result<String, ToolError> {
    let mut jobs = cx.services.sampling.list().await?;
    jobs.retain(|known| job.is_none_or(|id| known.id == id));
    if jobs.is_empty() {
        return Ok(no_job().to_owned());
    }
    jobs.retain(|job| metrics.is_empty() || metrics.iter().any(|metric| job.takes(metric)));
    if jobs.is_empty() {
        return Ok("no sampling job takes that; metrics.list_sampling_jobs says what each takes".to_owned());
    }
    let first = jobs.iter().filter_map(|job| job.first_ms).min();
    let last = jobs.iter().filter_map(|job| job.last_ms).max();
    let (Some(first), Some(last)) = (first, last) else {
        return Ok(waiting(&jobs));
    };
    Ok(if times.end <= first {
        format!("nothing was sampled before {}", Stamp(first))
    } else if times.start > last {
        format!("the newest sample is of {}", Stamp(last))
    } else {
        format!(
            "no sample of that time: no job ran, or it could not be measured; there are samples between {} and {}",
            Stamp(first),
            Stamp(last)
        )
    })
}

/// The note for an empty list of jobs.
pub fn no_job() -> &'static str {
    "nothing is sampled here: metrics.start_sampling_job begins a job"
}

fn waiting(jobs: &[JobSummary]) -> String {
    match jobs.iter().find(|job| job.stopped_ms.is_none()) {
        Some(job) => format!("sampling job '{}' has no sample yet; one comes every {} s", job.id, job.interval_seconds),
        None => "the sampling job has ended without a sample".to_owned(),
    }
}
