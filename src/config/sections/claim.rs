//! `[claim]`: how an appliance that has no owner yet shows its code, and for how long (docs/claim.md).

use serde::{Deserialize, Serialize};

/// The section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimSettings {
    /// Minutes from power-on in which the code is taken.
    pub window_minutes: u32,
    /// The LED that blinks while there is no owner, by its name in `/sys/class/leds`; empty: none.
    pub led: String,
}

impl Default for ClaimSettings {
    /// The green LED beside the card, which every Raspberry Pi has.
    fn default() -> Self {
        Self { window_minutes: 15, led: "ACT".into() }
    }
}
