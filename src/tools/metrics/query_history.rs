//! `metrics.query_history`: metrics over time, in buckets (docs/contract/metrics.md).

use super::{
    job::{self, LONGEST, METRIC_NAME, MOST_NAMES, PATTERN},
    resolution::Resolution,
    visible::VisibleMetrics,
    why,
};
use crate::{
    registry::{context::Context, tool::Tool},
    sampling::{
        BucketedRange, MetricBucket, Series,
        metric::{Metric, MetricKey},
    },
    tools::time::Moment,
};
use base::{
    clock::{self, Stamp},
    error::ToolError,
};
use contract::meta::Meta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// A sample's fields; also cpu_percent, memory_percent, and sensors as "sensor:NAME".
    #[schemars(length(min = 1, max = MOST_NAMES), inner(length(min = 1, max = METRIC_NAME)))]
    #[serde(deserialize_with = "job::names")]
    metric_names: Vec<String>,
    /// Not before this time.
    start_time: Moment,
    /// Before this time; else now.
    #[serde(default)]
    end_time: Option<Moment>,
    /// A bucket's length like 1m (s, m, h, d).
    #[serde(default)]
    resolution: Option<Resolution>,
    /// This job's.
    #[schemars(length(min = 1, max = LONGEST), regex(pattern = PATTERN))]
    #[serde(default, deserialize_with = "job::optional_id")]
    job_id: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// By the names that were asked for. A time without samples has no entry: nothing is filled in.
    #[schemars(with = "BTreeMap<String, Vec<Point>>")]
    metrics: ByName,
    #[schemars(with = "String", extend("format" = "date-time"))]
    start_time: Stamp,
    #[schemars(with = "String", extend("format" = "date-time"))]
    end_time: Stamp,
    resolution: String,
    /// Buckets in which something was measured.
    data_points: usize,
    /// Blocks of up to five minutes that the card has damaged; absent when there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    damaged_blocks: Option<u32>,
    /// What to know about this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    note: Option<String>,
}

/// One bucket of one metric.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Point {
    /// Its beginning: a whole multiple of the resolution since 1970 UTC.
    #[schemars(with = "String", extend("format" = "date-time"))]
    timestamp: Stamp,
    /// The mean; of a flag the share of the time that it was up.
    value: f64,
    min: f64,
    max: f64,
}

/// Serialised directly from the buckets: a week by the minute would otherwise be held as megabytes of text twice.
struct ByName {
    span: BucketedRange,
    series: Vec<(String, Series)>,
}

struct Points<'a> {
    span: &'a BucketedRange,
    series: &'a Series,
}

impl Serialize for ByName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.series.len()))?;
        for (name, series) in &self.series {
            map.serialize_entry(name, &Points { span: &self.span, series })?;
        }
        map.end()
    }
}

impl Serialize for Points<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let metric = self.series.metric.about();
        let filled = self.series.cells.iter().enumerate().filter(|(_, cell)| cell.count > 0);
        serializer.collect_seq(filled.map(|(at, cell)| point(metric, self.span.begins(at), cell)))
    }
}

fn point(metric: &Metric, at_ms: i64, cell: &MetricBucket) -> Point {
    Point {
        timestamp: Stamp(at_ms),
        value: metric.mean(cell.sum, cell.count),
        min: metric.number(cell.min),
        max: metric.number(cell.max),
    }
}

pub struct QueryHistory;

impl Tool for QueryHistory {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "metrics.query_history",
        title: "History of metrics",
        description: "Metrics over time: mean, least and most of each bucket.\n\nUse when: you look for a trend or a peak.\n\nReturns: by metric its buckets, oldest first.",
        estimated_tokens: 5000,
        tags: &["metrics", "history", "trend"],
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let mut names = args.metric_names;
        // Remove duplicates.
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        let metrics = job::known("metric_names", &names)?;
        let visible = VisibleMetrics::of(cx, Self::META.name);
        metrics.iter().try_for_each(|metric| visible.check(metric))?;
        let start_ms = clock::millis(args.start_time.0);
        let end_ms = args.end_time.map_or_else(|| cx.services.sampling.now_ms(), |end| clock::millis(end.0));
        if start_ms >= end_ms {
            return Err(ToolError::invalid("start_time is not before end_time")
                .with("parameter", "start_time")
                .with("start_time", Stamp(start_ms).to_string())
                .with("end_time", Stamp(end_ms).to_string())
                .hint("end_time is now when it is left out"));
        }
        let resolution = args.resolution.unwrap_or_else(|| Resolution::for_span(end_ms - start_ms));
        let span = BucketedRange { times: start_ms..end_ms, resolution_ms: resolution.ms };
        let history = cx.services.sampling.history(args.job_id.as_deref(), span, &metrics).await?;
        let filled = |bucket: &usize| history.series.iter().any(|series| series.cells[*bucket].count > 0);
        let buckets = history.series.first().map_or(0, |series| series.cells.len());
        let data_points = (0..buckets).filter(filled).count();
        let without =
            names.iter().zip(&history.series).filter(|(_, series)| series.cells.iter().all(|cell| cell.count == 0));
        let (missing, keys): (Vec<&str>, Vec<&MetricKey>) =
            without.map(|(name, series)| (name.as_str(), &series.metric)).unzip();
        let note = if missing.is_empty() {
            None
        } else {
            let why = why::nothing(cx, args.job_id.as_deref(), &(start_ms..end_ms), &keys).await?;
            Some(format!("nothing of {}: {why}", missing.join(", ")))
        };
        Ok(Out {
            note,
            metrics: ByName { span: history.span, series: names.into_iter().zip(history.series).collect() },
            start_time: Stamp(start_ms),
            end_time: Stamp(end_ms),
            resolution: resolution.text,
            data_points,
            damaged_blocks: (history.damaged > 0).then_some(history.damaged),
        })
    }
}
