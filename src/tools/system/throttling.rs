//! The firmware's throttling flags in answers.

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
}

impl From<Throttled> for ThrottlingFlags {
    fn from(word: Throttled) -> Self {
        Self {
            under_voltage: word.under_voltage(),
            freq_capped: word.freq_capped(),
            throttled: word.throttled(),
            soft_temperature_limit: word.soft_temperature_limit(),
            under_voltage_occurred: word.under_voltage_occurred(),
            freq_capped_occurred: word.freq_capped_occurred(),
            throttled_occurred: word.throttled_occurred(),
            soft_temperature_limit_occurred: word.soft_temperature_limit_occurred(),
        }
    }
}
