//! `metrics.start_sampling_job`: starts storing the machine's metrics (docs/contract/metrics.md).

use super::{
    job::{self, JobStatus, LONGEST, METRIC_NAME, MOST_NAMES, PATTERN},
    threshold::ThresholdArg,
};
use crate::{
    registry::{context::Context, tool::Tool},
    sampling::{
        NewJob,
        metric::{MetricKey, MetricSet, SENSORS},
    },
    tools::within,
};
use base::error::ToolError;
use contract::meta::{Listing, Meta};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Seconds from sample to sample.
    #[schemars(range(min = 5, max = 3600))]
    #[serde(deserialize_with = "within::<_, 5, 3600>")]
    interval_seconds: u32,
    /// Hours a sample is kept.
    #[schemars(range(min = 1, max = 168))]
    #[serde(default = "a_day", deserialize_with = "within::<_, 1, 168>")]
    retention_hours: u32,
    /// Which metrics, by the names of a sample's fields; all when left out. Sensors of sensors.list, at most 8, as
    /// "sensor:NAME".
    #[schemars(length(min = 1, max = MOST_NAMES), inner(length(min = 1, max = METRIC_NAME)))]
    #[serde(default, deserialize_with = "optional_names")]
    metrics: Option<Vec<String>>,
    /// A value to be told of, in the job's status, the log and notifications.
    #[serde(default)]
    threshold: Option<ThresholdArg>,
    /// A name for it; one is made when left out.
    #[schemars(length(min = 1, max = LONGEST), regex(pattern = PATTERN))]
    #[serde(default, deserialize_with = "job::optional_id")]
    job_id: Option<String>,
    /// Only say what would begin.
    #[serde(default)]
    dry_run: bool,
}

fn a_day() -> u32 {
    24
}

fn optional_names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    #[derive(Deserialize)]
    struct Names(#[serde(deserialize_with = "job::names")] Vec<String>);
    Ok(Option::<Names>::deserialize(deserializer)?.map(|Names(names)| names))
}

/// The metrics and the sensors of these names, each once. A sensor must be there when its job begins.
fn chosen(cx: &Context, names: &[String]) -> Result<(MetricSet, Vec<String>), ToolError> {
    let (mut metrics, mut sensors) = (MetricSet::NONE, Vec::new());
    for key in job::known("metrics", names)? {
        match key {
            MetricKey::Known(metric) => metrics = metrics.with(metric),
            MetricKey::Sensor(name) if !sensors.contains(&name) => sensors.push(name),
            MetricKey::Sensor(_) => {}
        }
    }
    if sensors.len() > SENSORS {
        return Err(ToolError::invalid(format!("{} sensors where a job takes {SENSORS}", sensors.len()))
            .with("parameter", "metrics")
            .hint("begin a second job"));
    }
    if !sensors.is_empty() {
        let there = cx.services.machine.sensors.list();
        let unknown = sensors.iter().find(|name| !there.iter().any(|sensor| sensor.name == **name));
        if let Some(name) = unknown {
            return Err(hw::sensors::unknown(name, &there).with("parameter", "metrics"));
        }
    }
    Ok((metrics, sensors))
}

pub struct StartSamplingJob;

impl Tool for StartSamplingJob {
    type Args = Args;
    type Out = JobStatus;
    const META: Meta = Meta {
        name: "metrics.start_sampling_job",
        title: "Start a sampling job",
        description: "Keep this machine's numbers at an interval from now on, also after a restart.\n\nUse when: something is to be watched over hours or days.\n\nReturns: the job and its job_id.\n\nNote: samples reach the card every 5 minutes; a power cut loses the newest.",
        listing: Listing::Extra,
        dry_run: true,
        estimated_tokens: 250,
        effect: contract::meta::Effect::Write { destructive: false, idempotent: false },
        tags: &["metrics", "history", "sampling"],
        ..Meta::WRITE
    };

    async fn call(cx: &Context, args: Args) -> Result<JobStatus, ToolError> {
        let (metrics, sensors) = match &args.metrics {
            Some(names) => chosen(cx, names)?,
            None => (MetricSet::ALL, Vec::new()),
        };
        let threshold = args.threshold.map(|threshold| threshold.of(metrics, &sensors)).transpose()?;
        let request = NewJob {
            id: args.job_id,
            interval_seconds: args.interval_seconds,
            retention_hours: args.retention_hours,
            metrics,
            sensors,
            threshold,
        };
        let status = cx.services.sampling.start(&cx.services.machine, request, args.dry_run).await?;
        if args.dry_run {
            return Ok(JobStatus::planned(status));
        }
        cx.notes.changed();
        Ok(JobStatus::of(status))
    }
}
