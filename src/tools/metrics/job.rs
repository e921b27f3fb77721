//! A sampling job in answers, and names of jobs and metrics in arguments.

use super::threshold::ThresholdOut;
use crate::sampling::{
    JobSummary,
    metric::{METRICS, Metric, MetricKey, SENSOR_PREFIX},
};
use base::{clock::Stamp, error::ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};

/// Longest name of a job.
pub const LONGEST: usize = 64;
pub const PATTERN: &str = "^[A-Za-z0-9][A-Za-z0-9_.-]*$";
/// Longest name of a metric in arguments, in characters: that of a sensor. And most names in one query.
pub const METRIC_NAME: usize = hw::sensors::LONGEST_NAME + SENSOR_PREFIX.len();
pub const MOST_NAMES: usize = 32;

/// A job's name.
///
/// # Errors
/// The required form.
pub fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let id = String::deserialize(deserializer)?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    let starts = id.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if starts && id.bytes().all(plain) && id.len() <= LONGEST {
        return Ok(id);
    }
    Err(D::Error::custom(format!(
        "a job's name is 1 to {LONGEST} of A-Z, a-z, 0-9, _, . and -, first a letter or digit"
    )))
}

/// As [`id`], optional.
///
/// # Errors
/// Those of [`id`].
pub fn optional_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    struct Id(#[serde(deserialize_with = "id")] String);
    Ok(Option::<Id>::deserialize(deserializer)?.map(|Id(id)| id))
}

/// Names of metrics, not looked up yet; see [`known`].
///
/// # Errors
/// The allowed number and length.
pub fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    if !(1..=MOST_NAMES).contains(&names.len()) {
        return Err(D::Error::custom(format!("{} names where 1 to {MOST_NAMES} are allowed", names.len())));
    }
    match names.iter().find(|name| !(1..=METRIC_NAME).contains(&name.chars().count())) {
        Some(_) => Err(D::Error::custom(format!("a metric's name has 1 to {METRIC_NAME} characters"))),
        None => Ok(names),
    }
}

/// The metrics with these names, one for each.
///
/// # Errors
/// `invalid_argument` that names the first unknown one and the most similar known one.
pub fn known(parameter: &str, names: &[String]) -> Result<Vec<MetricKey>, ToolError> {
    let find = |name: &String| {
        MetricKey::find(name).ok_or_else(|| {
            let all: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
            let error = ToolError::invalid(format!("there is no metric '{name}'"))
                .with("parameter", parameter)
                .with("provided_value", name.as_str())
                .with("metrics", all);
            match Metric::near(name) {
                Some(near) => error.hint(format!("did you mean '{near}'?")),
                None => error
                    .hint("details.metrics has all their names; a sensor of sensors.list is written \"sensor:NAME\""),
            }
        })
    };
    names.iter().map(find).collect()
}

/// How a job is (document 000, `SamplingJobStatus`, and what else is known).
#[derive(Serialize, JsonSchema)]
pub struct JobStatus {
    job_id: String,
    #[schemars(range(min = 5, max = 3600))]
    interval_seconds: u32,
    #[schemars(range(min = 1, max = 168))]
    retention_hours: u32,
    /// "created" is what a dry run would begin.
    status: State,
    /// What it samples.
    metrics: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ThresholdOut")]
    threshold: Option<ThresholdOut>,
    #[schemars(with = "String", extend("format" = "date-time"))]
    created_at: Stamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    stopped_at: Option<Stamp>,
    /// Those of the last five minutes included, which are in memory.
    samples: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    first_sample_at: Option<Stamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    last_sample_at: Option<Stamp>,
    /// In the store.
    stored_bytes: u64,
    /// What it writes to the card in a day while it runs, about; jobs that run together share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    written_per_day_bytes: Option<u64>,
    /// The job that metrics.default_job has the server run; it cannot be stopped by a call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(with = "bool")]
    default: bool,
    /// Samples that could not be kept since the server started; absent when there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    lost_samples: Option<u64>,
    /// Why the newest samples are not on the card, and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    fault: Option<String>,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum State {
    Created,
    Running,
    Stopped,
}

impl JobStatus {
    pub fn of(status: JobSummary) -> Self {
        Self {
            written_per_day_bytes: status.stopped_ms.is_none().then(|| status.written_per_day()),
            default: status.is_default,
            job_id: status.id,
            interval_seconds: status.interval_seconds,
            retention_hours: status.retention_hours,
            status: if status.stopped_ms.is_some() { State::Stopped } else { State::Running },
            metrics: {
                let sensors = status.sensors.iter().map(|sensor| MetricKey::Sensor(sensor.clone()).name());
                status.metrics.names().into_iter().map(str::to_owned).chain(sensors).collect()
            },
            threshold: status.threshold.map(ThresholdOut::from),
            created_at: Stamp(status.created_ms),
            stopped_at: status.stopped_ms.map(Stamp),
            samples: status.samples,
            first_sample_at: status.first_ms.map(Stamp),
            last_sample_at: status.last_ms.map(Stamp),
            stored_bytes: status.bytes,
            lost_samples: (status.lost > 0).then_some(status.lost),
            fault: status.fault,
        }
    }
    /// The job that would begin.
    pub fn planned(status: JobSummary) -> Self {
        Self { status: State::Created, ..Self::of(status) }
    }
}
