//! `metrics.get_samples`: samples as they were taken (docs/contract/metrics.md).

use super::{
    job::{self, LONGEST, PATTERN},
    shown::JobSample,
    visible::VisibleMetrics,
    why,
};
use crate::{
    registry::{context::Context, tool::Tool},
    tools::{
        empty,
        page::{Offset, PageLimit, Pagination},
        time::Moment,
    },
};
use base::{clock, error::ToolError};
use contract::meta::{Listing, Meta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// This job's; else all, one after the other.
    #[schemars(length(min = 1, max = LONGEST), regex(pattern = PATTERN))]
    #[serde(default, deserialize_with = "job::optional_id")]
    job_id: Option<String>,
    /// Not before this time.
    #[serde(default)]
    since: Option<Moment>,
    /// Before this time.
    #[serde(default)]
    until: Option<Moment>,
    #[serde(default)]
    limit: Option<PageLimit>,
    #[serde(default)]
    offset: Offset,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// In the order they were taken. What could not be measured is absent.
    samples: Vec<JobSample>,
    /// Blocks of up to five minutes that the card has damaged; absent when there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    damaged_blocks: Option<u32>,
    pagination: Pagination,
    /// What to know about this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    note: Option<String>,
}

pub struct GetSamples;

impl Tool for GetSamples {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "metrics.get_samples",
        title: "Samples",
        description: "Samples of sampling jobs, as they were taken.\n\nUse when: single values matter; for a trend metrics.query_history is shorter.\n\nReturns: samples, oldest first.",
        listing: Listing::Extra,
        estimated_tokens: 9000,
        paginated: true,
        tags: &["metrics", "history", "sampling"],
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let ms = |moment: Moment| clock::millis(moment.0);
        let times = args.since.map_or(i64::MIN, ms)..args.until.map_or(i64::MAX, ms);
        if let (Some(since), Some(until)) = (args.since, args.until)
            && since > until
        {
            return Err(ToolError::invalid("since is after until").with("parameter", "since").hint("exchange them"));
        }
        let limit = args.limit.unwrap_or_default();
        let first = args.offset.get() as u64;
        let page =
            cx.services.sampling.page(args.job_id.as_deref(), times.clone(), first..first + limit.get() as u64).await?;
        let visible = VisibleMetrics::of(cx, Self::META.name);
        let covered = page.samples.into_iter().map(|(job_id, sensors, mut sample)| {
            visible.cover(&mut sample, &sensors);
            JobSample { job_id, sensors, sample }
        });
        let samples: Vec<JobSample> = covered.collect();
        let total = usize::try_from(page.total).unwrap_or(usize::MAX);
        let pagination = Pagination::at(limit, args.offset, samples.len(), total);
        let note = match total {
            0 if page.damaged == 0 => Some(why::nothing(cx, args.job_id.as_deref(), &times, &[]).await?),
            _ => empty::beyond(&pagination).or_else(|| visible.note()),
        };
        Ok(Out { samples, damaged_blocks: (page.damaged > 0).then_some(page.damaged), pagination, note })
    }
}
