//! `[claim]`: how an appliance without an owner shows that it can be claimed, and for how long (docs/claim.md).

use crate::config::{
    declare::section,
    key::InState,
    kind::{SettingKind, count},
};

section! {
    /// How a newly flashed appliance gets its owner (docs/claim.md).
    [claim] pub struct ClaimSettings {
        /// How long after power-on the code that the machine shows is accepted.
        window_minutes: u32 = 15, count(1, 1440), InState::Never;
        /// The LED that blinks until the machine is claimed, by its name in `/sys/class/leds`. Empty: none.
        // The green LED beside the card, which every Raspberry Pi has.
        led: String = "ACT".into(), SettingKind::Text, InState::Never;
    }
}
