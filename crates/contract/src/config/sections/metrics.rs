//! `[metrics]`: the size of all samples, and the default sampling job.

use crate::config::{
    declare::section,
    key::InState,
    kind::{GIB, MIB, SettingKind, bytes},
};

section! {
    /// Samples that sampling jobs record of this machine.
    [metrics] pub struct MetricSettings {
        /// Maximum size of all samples together. Beyond it the oldest samples of the largest job are removed early.
        // A week at five seconds is 2 to 4 MB: room for all eight jobs.
        max_bytes: u64 = 32 * 1024 * 1024, bytes(MIB, GIB), InState::Lower;
        /// Whether the service on a real board records all metrics once a minute and keeps them for 48 hours: the job
        /// `default`, which no call can stop. It writes about 2.8 MB to the card a day, and keeps 0.1 MB. Not over
        /// stdio or on a simulated board.
        default_job: bool = true, SettingKind::Bool, InState::Off;
    }
}
