//! The firmware's throttling flags in answers.

use crate::sampling::power::{FlagHistory, Story};
use hw::firmware::Throttled;
use schemars::JsonSchema;
use serde::Serialize;

/// What holds the board back now, and what has since boot.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
pub struct ThrottlingFlags {
    /// The supply is below 4.63 V.
    under_voltage: bool,
    /// The processor's clock is capped.
    freq_capped: bool,
    /// The processor is throttled.
    throttled: bool,
    soft_temperature_limit: bool,
    under_voltage_occurred: bool,
    freq_capped_occurred: bool,
    throttled_occurred: bool,
    soft_temperature_limit_occurred: bool,
    /// Whether the firmware's own record was read, which lasts since boot. Otherwise only the kernel's was, which lasts two
    /// seconds, and `_occurred` holds what was seen here since boot.
    since_boot: bool,
}

impl ThrottlingFlags {
    /// The word's flags, with what `story` has seen in this boot.
    pub fn of(word: Throttled, story: Option<&Story>) -> Self {
        let seen = |flag: fn(&Story) -> FlagHistory| story.is_some_and(|story| flag(story).in_boot());
        Self {
            under_voltage: word.under_voltage(),
            freq_capped: word.freq_capped(),
            throttled: word.throttled(),
            soft_temperature_limit: word.soft_temperature_limit(),
            under_voltage_occurred: word.under_voltage_occurred() || seen(|story| story.under_voltage),
            freq_capped_occurred: word.freq_capped_occurred() || seen(|story| story.freq_capped),
            throttled_occurred: word.throttled_occurred() || seen(|story| story.throttled),
            soft_temperature_limit_occurred: word.soft_temperature_limit_occurred()
                || seen(|story| story.soft_temperature_limit),
            since_boot: word.remembers(),
        }
    }
}
