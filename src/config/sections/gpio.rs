//! `[gpio]`: which pins tools may use, and how they are left.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The section. Pins are Broadcom numbers from 2 to 27.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpioSettings {
    pub allow: BTreeSet<u8>,
    /// Label or device file; empty for the usual one.
    pub chip: String,
    /// Driven low while nobody uses them.
    pub safe_low: BTreeSet<u8>,
    /// Driven high while nobody uses them.
    pub safe_high: BTreeSet<u8>,
    pub revert: Revert,
}

/// `gpio.revert`: what follows a level that was written with a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Revert {
    Previous,
    Invert,
}

impl Default for GpioSettings {
    fn default() -> Self {
        Self {
            allow: BTreeSet::new(),
            chip: String::new(),
            safe_low: BTreeSet::new(),
            safe_high: BTreeSet::new(),
            revert: Revert::Previous,
        }
    }
}

impl GpioSettings {
    /// The pins that tools may use: on a simulated board all but the reserved ones, where nothing is said.
    pub fn allowed(&self, simulated: bool) -> BTreeSet<u8> {
        if simulated && self.allow.is_empty() { (2..=27).collect() } else { self.allow.clone() }
    }
}

/// Every rule between its keys that does not hold.
pub fn faults(gpio: &GpioSettings) -> Vec<String> {
    let both = gpio.safe_low.intersection(&gpio.safe_high);
    both.map(|pin| format!("GPIO {pin} is in gpio.safe_low and in gpio.safe_high; leave it in one")).collect()
}
