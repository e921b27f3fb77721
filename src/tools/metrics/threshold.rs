//! A job's threshold in arguments and in answers.

use super::job::METRIC_NAME;
use crate::{
    sampling::{
        Threshold, ThresholdState,
        metric::{MetricKey, MetricSet},
    },
    tools::bounded,
};
use base::{clock::Stamp, error::ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};

/// Largest limit: beyond it no metric has a value.
const LARGEST: f64 = 1e15;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct ThresholdArg {
    /// One that the job samples.
    #[schemars(length(min = 1, max = METRIC_NAME))]
    #[serde(deserialize_with = "bounded::<_, 1, METRIC_NAME>")]
    metric: String,
    /// Crossed above or below the limit.
    when: Side,
    #[schemars(range(min = -LARGEST, max = LARGEST))]
    #[serde(deserialize_with = "limit::<_, true>")]
    limit: f64,
    /// It is over when the value is back by this much.
    #[schemars(range(min = 0.0, max = LARGEST))]
    #[serde(default, deserialize_with = "limit::<_, false>")]
    hysteresis: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Side {
    Above,
    Below,
}

fn limit<'de, D: Deserializer<'de>, const NEGATIVE: bool>(deserializer: D) -> Result<f64, D::Error> {
    let least = if NEGATIVE { -LARGEST } else { 0.0 };
    match f64::deserialize(deserializer)? {
        number if (least..=LARGEST).contains(&number) => Ok(number),
        number => Err(D::Error::custom(format!("{number} where {least} to {LARGEST} are allowed"))),
    }
}

impl ThresholdArg {
    /// The threshold, of a job with these metrics and sensors.
    ///
    /// # Errors
    /// `invalid_argument` for a metric that the job does not sample.
    pub fn of(self, metrics: MetricSet, sensors: &[String]) -> Result<Threshold, ToolError> {
        let metric = MetricKey::find(&self.metric).filter(|metric| metric.place(metrics, sensors).is_some());
        let metric = metric.ok_or_else(|| {
            ToolError::invalid(format!("this job does not sample '{}'", self.metric))
                .with("parameter", "threshold")
                .with("path", "/threshold/metric")
                .hint("name one of its metrics, or add it to them")
        })?;
        Ok(Threshold { metric, limit: self.limit, above: self.when == Side::Above, hysteresis: self.hysteresis })
    }
}

/// A threshold, and how it is.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ThresholdOut {
    metric: String,
    when: Side,
    limit: f64,
    hysteresis: f64,
    crossed: bool,
    /// Since when it is crossed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    since: Option<Stamp>,
    /// The newest that was sampled since the server started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    value: Option<f64>,
}

impl From<ThresholdState> for ThresholdOut {
    fn from(state: ThresholdState) -> Self {
        let Threshold { metric, limit, above, hysteresis } = state.threshold;
        Self {
            metric: metric.name(),
            when: if above { Side::Above } else { Side::Below },
            limit,
            hysteresis,
            crossed: state.crossed_ms.is_some(),
            since: state.crossed_ms.map(Stamp),
            value: state.value,
        }
    }
}
