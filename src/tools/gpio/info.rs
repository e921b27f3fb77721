//! The description of one pin in answers: docs/contract/gpio.md.

use super::{
    pwm_info::PwmInfo,
    refusal::{broken, told},
};
use base::{clock, error::ToolError, os::clock::monotonic};
use contract::values::Pin;
use hw::{
    gpio::{
        GpioLines,
        lease::{Back, HeldBy, Owner},
        rules::Safe,
        shown::PinStatus,
    },
    line::{Function, Level, LineError, Pull},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;
use time::OffsetDateTime;
use tokio::time::Instant;

/// What a pin is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum PinMode {
    Input,
    Output,
    /// Something else than GPIO; `function` says what.
    Alt,
    /// Nothing has used it since power-on (a Raspberry Pi 5): free, and without a level until it is used.
    None,
    /// Nothing tells.
    Unknown,
}

/// One pin.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct PinInfo {
    /// The Broadcom number.
    #[schemars(range(min = 0, max = 27))]
    pub pin: u8,
    /// The contact of the 40-pin header.
    #[schemars(range(min = 1, max = 40))]
    pub header: u8,
    pub mode: PinMode,
    /// What is on it; null where only its holder could tell, or policy denies gpio:read.
    pub value: Option<Level>,
    /// Whether tools may use it.
    pub allowed: bool,
    /// What an alternate function is called in the data sheet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The resistor of an input that is lent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull: Option<Pull>,
    /// How it is while nobody uses it.
    pub safe_state: Safe,
    /// Who holds it outside this server, by its own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumer: Option<String>,
    /// The wave that it makes; `value` is one moment of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pwm: Option<PwmInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseInfo>,
}

/// Whom it is lent to.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct LeaseInfo {
    principal: String,
    /// The owner behind it, where the configuration names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    /// Whether that is you, on this connection or as the same owner.
    yours: bool,
    /// What ends it, beside gpio.release_pin.
    held_by: HeldBy,
    /// When it ends unless it is used, UTC; absent where it ends with the connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    expires_at: Option<String>,
    /// When the level is taken back by itself, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    reverts_at: Option<String>,
}

/// Converts a future instant to wall-clock time.
pub(in crate::tools) fn stamp(at: Instant) -> String {
    stamps()(at)
}

/// Converts the future instants of one answer to wall-clock time: equal instants have equal times.
pub(super) fn stamps() -> impl Fn(Instant) -> String + Copy {
    let (wall, now) = (OffsetDateTime::now_utc(), Instant::now());
    move |at| clock::stamp(wall + at.saturating_duration_since(now))
}

/// Converts the kernel's monotonic timestamp of an edge to wall-clock time.
pub(super) fn stamp_of_edge(at: Duration) -> String {
    clock::stamp(OffsetDateTime::now_utc() - monotonic().saturating_sub(at))
}

impl PinInfo {
    /// When its lease ends unless it is used, in UTC.
    pub fn expires_at(&self) -> Option<String> {
        self.lease.as_ref()?.expires_at.clone()
    }

    /// # Errors
    /// If the chip cannot be read.
    pub fn look(lines: &GpioLines, owner: &Owner, pin: Pin) -> Result<Self, ToolError> {
        let PinStatus { look, value, lease } = lines.show(pin, owner).map_err(|fault| broken(Some(pin), fault))?;
        let pull = lease.as_ref().and_then(|lease| lease.pull);
        let (mode, function) = match look.function {
            Function::Input => (PinMode::Input, None),
            Function::Output => (PinMode::Output, None),
            Function::Alt(function) => (PinMode::Alt, Some(function)),
            Function::NoFunction => (PinMode::None, None),
            Function::Unknown => (PinMode::Unknown, None),
        };
        let stamp = stamps();
        Ok(Self {
            pin: pin.bcm(),
            header: pin.header(),
            mode,
            value,
            allowed: lines.rules.allows(pin),
            function,
            pull,
            safe_state: lines.rules.safe(pin),
            consumer: look.consumer,
            pwm: lease.as_ref().and_then(|lease| lease.wave.as_ref()).map(PwmInfo::of),
            lease: lease.map(|lease| LeaseInfo {
                yours: lease.yours,
                held_by: lease.held_by,
                principal: lease.owner.principal,
                owner: lease.owner.name,
                expires_at: lease.ends.map(stamp),
                reverts_at: lease.revert.map(|(at, _)| stamp(at)),
            }),
        })
    }
}

/// The level that a pin returns to, for answers.
pub(super) fn back(lines: &GpioLines, pin: Pin, back: Back) -> Safe {
    match back {
        Back::To(Level::High) => Safe::High,
        Back::To(Level::Low) => Safe::Low,
        Back::Safe => lines.rules.safe(pin),
    }
}

/// Converts a read error for the caller.
pub(super) fn unread(pin: Pin, fault: LineError) -> ToolError {
    told(pin, fault.into())
}
