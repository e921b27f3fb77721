//! The status of long work, in the form that all tools use (docs/contract/manage.md).

use base::clock::Stamp;
use schemars::JsonSchema;
use serde::Serialize;
use update::status::Phase;
use update_client::Summary;

/// How long work stands.
#[derive(Serialize, JsonSchema)]
pub struct CommonStatus {
    pub status: WorkStatus,
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub started_at: Option<Stamp>,
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub finished_at: Option<Stamp>,
    #[schemars(range(min = 0, max = 100))]
    pub progress_percent: Option<f64>,
    /// What it does now, or how it ended and what to do.
    pub message: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum WorkStatus {
    /// Not begun.
    Pending,
    Running,
    Succeeded,
    Failed,
}

impl WorkStatus {
    /// An update counts as running until its trial was committed or rolled back.
    pub fn of(phase: Option<Phase>) -> Self {
        match phase {
            None => Self::Pending,
            Some(Phase::Committed) => Self::Succeeded,
            Some(Phase::RolledBack | Phase::Failed) => Self::Failed,
            Some(_) => Self::Running,
        }
    }
}

impl From<&Summary> for CommonStatus {
    fn from(summary: &Summary) -> Self {
        let status = WorkStatus::of(summary.phase);
        Self {
            status,
            started_at: summary.started_ms.map(Stamp),
            // The server's part may have ended while the update continues.
            finished_at: summary.finished_ms.filter(|_| status != WorkStatus::Running).map(Stamp),
            progress_percent: summary
                .percent
                .map(|percent| if status == WorkStatus::Running { percent.min(99.0) } else { percent }),
            message: Some(summary.message.clone()),
        }
    }
}
