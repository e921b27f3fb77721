//! `[metrics]`: what sampling jobs may keep, and whether one runs by itself.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricSettings {
    /// What all samples together may take in the store.
    pub max_bytes: u64,
    /// The service on a real board samples by itself.
    pub default_job: bool,
}

impl Default for MetricSettings {
    /// A week at five seconds is 2 to 4 MB: room for all eight jobs.
    fn default() -> Self {
        Self { max_bytes: 32 * 1024 * 1024, default_job: true }
    }
}
