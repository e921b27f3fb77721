//! `metrics.stop_sampling_job`: ends a job (docs/contract/metrics.md).

use super::job::{self, JobStatus, LONGEST, PATTERN};
use crate::registry::{context::Context, tool::Tool};
use base::error::ToolError;
use contract::meta::{Effect, Listing, Meta};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The job.
    #[schemars(length(min = 1, max = LONGEST), regex(pattern = PATTERN))]
    #[serde(deserialize_with = "job::id")]
    job_id: String,
    /// Also forget the job and its samples at once.
    #[serde(default)]
    discard_samples: bool,
    /// Only say how it would end.
    #[serde(default)]
    dry_run: bool,
}

pub struct StopSamplingJob;

impl Tool for StopSamplingJob {
    type Args = Args;
    type Out = JobStatus;
    const META: Meta = Meta {
        name: "metrics.stop_sampling_job",
        title: "Stop a sampling job",
        description: "End a sampling job; its samples stay until they have aged out.\n\nUse when: nothing is to be watched any more, or room for another job is needed.\n\nReturns: the job as it is then.",
        listing: Listing::Extra,
        dry_run: true,
        estimated_tokens: 250,
        effect: Effect::Write { destructive: true, idempotent: true },
        tags: &["metrics", "history", "sampling"],
        ..Meta::WRITE
    };

    async fn call(cx: &Context, args: Args) -> Result<JobStatus, ToolError> {
        let (status, changes) = cx.services.sampling.end(&args.job_id, args.discard_samples, args.dry_run).await?;
        if changes && !args.dry_run {
            cx.notes.changed();
        }
        Ok(JobStatus::of(status))
    }
}
