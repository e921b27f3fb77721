//! The configuration of pins: which may be used, and their safe states.

use crate::line::Level;
use contract::{
    config::{GpioSettings, Revert},
    values::Pin,
};
use std::collections::BTreeSet;

/// How a pin is while nobody uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Safe {
    /// Not driven.
    Input,
    Low,
    High,
}

impl Safe {
    /// The level of the safe state, if it has one.
    pub const fn level(self) -> Option<Level> {
        match self {
            Self::Input => None,
            Self::Low => Some(Level::Low),
            Self::High => Some(Level::High),
        }
    }
}

/// The rules of one server. They do not change while it runs.
#[derive(Debug)]
pub struct Rules {
    allow: BTreeSet<u8>,
    /// The agent's pins: the approval button and its LED.
    kept: BTreeSet<u8>,
    safe_low: BTreeSet<u8>,
    safe_high: BTreeSet<u8>,
    pub revert: Revert,
}

impl Rules {
    /// `kept` belong to the agent, whatever the configuration says.
    pub fn of(settings: &GpioSettings, kept: BTreeSet<u8>, simulated: bool) -> Self {
        Self {
            allow: settings.allowed(simulated),
            kept,
            safe_low: settings.safe_low.clone(),
            safe_high: settings.safe_high.clone(),
            revert: settings.revert,
        }
    }

    /// Whether tools may use it. Reserved pins and the agent's are never allowed.
    pub fn allows(&self, pin: Pin) -> bool {
        !pin.is_reserved() && !self.keeps(pin) && self.allow.contains(&pin.bcm())
    }

    /// Whether it belongs to the agent: tools do not see it.
    pub fn keeps(&self, pin: Pin) -> bool {
        self.kept.contains(&pin.bcm())
    }

    pub fn safe(&self, pin: Pin) -> Safe {
        if self.keeps(pin) {
            Safe::Input
        } else if self.safe_low.contains(&pin.bcm()) {
            Safe::Low
        } else if self.safe_high.contains(&pin.bcm()) {
            Safe::High
        } else {
            Safe::Input
        }
    }

    /// Pins that are driven as long as the server runs.
    pub fn driven(&self) -> impl Iterator<Item = (Pin, Level)> {
        Pin::all().filter_map(|pin| Some((pin, self.safe(pin).level()?)))
    }
}
