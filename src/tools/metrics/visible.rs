//! Which of the sampled metrics a caller sees: a sample shows no more than the tools that read the same now.

use crate::{
    registry::context::Context,
    sampling::metric::{COUNT, MetricKey, Sample},
};
use base::error::ToolError;
use hw::sensors::is_onewire;

/// What policy lets samples show.
pub struct VisibleMetrics {
    health: bool,
    sensors: bool,
    onewire: bool,
}

impl VisibleMetrics {
    /// For answers of `tool`.
    pub fn of(cx: &Context, tool: &str) -> Self {
        let shows = |action| cx.shows(tool, action);
        Self { health: shows("system:health"), sensors: shows("sensors:read"), onewire: shows("onewire:read") }
    }

    /// Why something is missing; `None`: nothing is hidden.
    pub fn note(&self) -> Option<String> {
        let hidden: Vec<&str> =
            [(self.health, "system:health"), (self.sensors, "sensors:read"), (self.onewire, "onewire:read")]
                .into_iter()
                .filter_map(|(shown, action)| (!shown).then_some(action))
                .collect();
        let hidden = (!hidden.is_empty()).then(|| hidden.join(", "))?;
        Some(format!("without what {hidden} reads: policy denies it, or has a person asked first"))
    }

    fn has_sensor(&self, name: &str) -> bool {
        self.sensors && (self.onewire || !is_onewire(name))
    }

    /// # Errors
    /// `permission_denied` if it is hidden.
    pub fn check(&self, metric: &MetricKey) -> Result<(), ToolError> {
        let shown = match metric {
            MetricKey::Known(_) => self.health,
            MetricKey::Sensor(name) => self.has_sensor(name),
        };
        if shown {
            return Ok(());
        }
        Err(ToolError::denied(format!("{} is not shown: {}", metric.name(), self.note().unwrap_or_default()))
            .with("metric", metric.name())
            .hint("ask for other metrics; the owner can change that line of [policy] in both halves"))
    }

    /// Takes what is hidden out of a sample with these sensors.
    pub fn cover(&self, sample: &mut Sample, sensors: &[String]) {
        if !self.health {
            sample.values[..COUNT].fill(None);
        }
        for (value, name) in sample.values[COUNT..].iter_mut().zip(sensors) {
            if !self.has_sensor(name) {
                *value = None;
            }
        }
    }
}
