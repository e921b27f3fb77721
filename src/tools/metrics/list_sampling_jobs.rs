//! `metrics.list_sampling_jobs`: the jobs, and whether their samples are being stored.

use super::{job::JobStatus, why};
use crate::{
    registry::{context::Context, tool::Tool},
    tools::{
        empty,
        page::{Offset, PageLimit, Pagination},
    },
};
use base::error::ToolError;
use contract::meta::{Listing, Meta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    #[serde(default)]
    limit: PageLimit,
    #[serde(default)]
    offset: Offset,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// In the order they were begun; those that have ended until their samples are gone.
    jobs: Vec<JobStatus>,
    pagination: Pagination,
    /// What to know about this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    note: Option<String>,
}

pub struct ListSamplingJobs;

impl Tool for ListSamplingJobs {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "metrics.list_sampling_jobs",
        title: "Sampling jobs",
        description: "List the sampling jobs.\n\nUse when: you need a job_id, or ask what is watched.\n\nReturns: interval, retention, metrics, number and time of samples, bytes on the card, faults.",
        listing: Listing::Extra,
        estimated_tokens: 500,
        paginated: true,
        tags: &["metrics", "history", "sampling"],
        resource_uri: Some("raspi://sampling"),
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let jobs = cx.services.sampling.list().await?;
        let (page, pagination) = Pagination::of(jobs, args.limit, args.offset);
        let none = || (pagination.total_count == 0).then(|| why::no_job().to_owned());
        let note = empty::beyond(&pagination).or_else(none);
        Ok(Out { jobs: page.into_iter().map(JobStatus::of).collect(), pagination, note })
    }
}
