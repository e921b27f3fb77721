//! The description of PWM in answers.

use hw::pwm::{Jitter, PwmChannelId, PwmReport};
use schemars::JsonSchema;
use serde::Serialize;

/// Where a wave comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum PwmSource {
    /// A channel of a PWM chip: exact, and no work for the processor.
    Hardware,
    /// A thread that moves the line.
    Software,
}

/// A wave that runs.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct PwmInfo {
    /// Hertz: measured for software, else what the kernel was told.
    pub frequency_hz: f64,
    /// Per cent of the time that it is high, likewise.
    pub duty_cycle_percent: f64,
    pub source: PwmSource,
    /// How close to their time 99 of 100 edges are: low within 100 µs, medium within 1 ms, high beyond.
    pub jitter: Jitter,
    /// What makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<ChannelInfo>,
    /// What the figures of software rest on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredInfo>,
}

/// A channel of the kernel's.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ChannelInfo {
    /// The device of the PWM chip.
    chip: String,
    channel: u32,
}

/// A measurement, since the wave was last changed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct MeasuredInfo {
    /// Whole periods; without any, the figures are the schedule's.
    periods: u64,
    /// How late the latest edge was, in microseconds.
    latest_edge_us: f64,
}

impl PwmInfo {
    pub fn of(report: &PwmReport) -> Self {
        Self {
            frequency_hz: thousandth(report.frequency_hz),
            duty_cycle_percent: thousandth(report.duty_cycle_percent),
            source: if report.slot.is_some() { PwmSource::Hardware } else { PwmSource::Software },
            jitter: report.jitter,
            channel: report.slot.clone().map(|PwmChannelId { chip, channel }| ChannelInfo { chip, channel }),
            measured: report.measured.map(|measured| MeasuredInfo {
                periods: measured.periods,
                latest_edge_us: thousandth(measured.latest_edge_us),
            }),
        }
    }
}

/// What was asked for, as given.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Requested {
    /// Hertz.
    pub frequency_hz: f64,
    pub duty_cycle_percent: f64,
}

/// Rounds to three decimal places.
fn thousandth(figure: f64) -> f64 {
    (figure * 1000.0).round() / 1000.0
}
