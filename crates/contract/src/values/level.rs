//! The level of a GPIO line, and the pull resistor that holds it while it is not driven.

use serde::{Deserialize, Serialize};
use std::ops::Not;

/// What is on a line: physical, not inverted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Level {
    Low,
    High,
}

impl Level {
    pub const fn of(high: bool) -> Self {
        if high { Self::High } else { Self::Low }
    }
    pub const fn is_high(self) -> bool {
        matches!(self, Self::High)
    }
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::High => "high",
        }
    }
}

impl Not for Level {
    type Output = Self;
    fn not(self) -> Self {
        Self::of(!self.is_high())
    }
}

/// The resistor between an input and one of the supplies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Pull {
    #[default]
    None,
    Up,
    Down,
}
