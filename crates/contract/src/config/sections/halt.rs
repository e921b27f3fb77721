//! `[halt]`: what a halt does beside refusing changes (docs/halt.md).

use crate::config::{declare::section, key::InState, kind::SettingKind};

section! {
    /// What a halt does beside refusing every change (docs/halt.md).
    [halt] pub struct HaltSettings {
        /// Whether a halt puts every output and PWM channel into its safe state, as at the end of a lease. Without it
        /// they hold until their leases end. What changes outputs by itself ends either way.
        safe_outputs: bool = false, SettingKind::Bool, InState::Never;
    }
}
