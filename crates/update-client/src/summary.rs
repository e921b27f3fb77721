//! The state of updates: the server's job and the agent's slots combined.

use crate::UpdateClient;
use agent::operations::update::GetUpdateStatus;
use base::error::ToolError;
use update::{
    job::{JobRecord, JobState},
    status::{Attempt, Phase, RestartPlan, UpdateStatus},
};

/// The complete state.
pub struct UpdateOverview {
    pub summary: Summary,
    pub job: Option<JobRecord>,
    /// The agent's part, or why it is not available.
    pub slots: Result<UpdateStatus, ToolError>,
    /// The problems that the last check of this boot found; `None`: not checked.
    pub problems: Option<Vec<String>>,
    /// Why the server's own record cannot be written or read.
    pub fault: Option<String>,
}

/// A summary of the newest update.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// `None`: there was no update.
    pub phase: Option<Phase>,
    pub percent: Option<f64>,
    pub message: String,
    pub old_version: Option<String>,
    pub new_version: Option<String>,
    pub started_ms: Option<i64>,
    pub finished_ms: Option<i64>,
}

impl Summary {
    fn none() -> Self {
        Self {
            phase: None,
            percent: None,
            message: "nothing was updated yet".into(),
            old_version: None,
            new_version: None,
            started_ms: None,
            finished_ms: None,
        }
    }

    fn of_job(job: &JobRecord) -> Self {
        Self {
            phase: Some(job.phase),
            percent: Some(job.percent),
            message: job.description(),
            old_version: job.order.old_version.clone(),
            new_version: job.release.as_ref().map(|release| release.version.clone()),
            started_ms: Some(job.started_ms),
            finished_ms: job.finished_ms,
        }
    }

    fn of_attempt(attempt: &Attempt, slots: &UpdateStatus) -> Self {
        let seconds_left = slots.trial_seconds_left;
        let message = match attempt.phase {
            Phase::Trial => {
                let left = seconds_left.map(|left| format!(", with {left} s left")).unwrap_or_default();
                format!("{} runs and has to prove itself{left}", attempt.version)
            }
            Phase::Committed => format!("{} runs, and is what starts from now on", attempt.version),
            Phase::Armed => {
                let why = if attempt.reason.is_empty() { String::new() } else { format!(" ({})", attempt.reason) };
                let plan = match slots.restart.unwrap_or_default() {
                    _ if !slots.waits_for.is_empty() => {
                        format!("is tried again once this works here: {}", slots.waits_for.join(", "))
                    }
                    RestartPlan::Waits => "waits for an order (manage.update_server) or for system.reboot".into(),
                    RestartPlan::Soon => "is restarted into by itself as soon as the limit of restarts lets it".into(),
                    RestartPlan::InWindow => "is restarted into by itself once update.window is open".into(),
                };
                format!("{} is armed and {plan}{why}; manage.rollback takes it back", attempt.version)
            }
            Phase::RolledBack | Phase::Failed => attempt.reason.clone(),
            _ if attempt.reason.is_empty() => format!("{} is being installed", attempt.version),
            _ => attempt.reason.clone(),
        };
        let ended = matches!(attempt.phase, Phase::Committed | Phase::RolledBack | Phase::Failed);
        Self {
            phase: Some(attempt.phase),
            percent: Some(if ended { 100.0 } else { 99.0 }),
            message,
            old_version: None,
            new_version: Some(attempt.version.clone()),
            started_ms: Some(attempt.started_ms),
            finished_ms: attempt.finished_ms,
        }
    }

    /// From the job and the agent's last attempt. For the same update, the agent's data is used once it is armed; of
    /// two updates, the newer one is shown.
    pub fn of(job: Option<&JobRecord>, slots: Option<&UpdateStatus>) -> Self {
        let attempt = slots.and_then(|slots| slots.last_attempt.as_ref().map(|attempt| (attempt, slots)));
        match (job, attempt) {
            (None, None) => Self::none(),
            (Some(job), None) => Self::of_job(job),
            (None, Some((attempt, slots))) => Self::of_attempt(attempt, slots),
            (Some(job), Some((attempt, slots))) => {
                let same = job.release.as_ref().is_some_and(|is| is.manifest.to_string() == attempt.manifest_sha256);
                let over = attempt.phase >= Phase::Armed;
                if job.state == JobState::Running || !same && job.started_ms > attempt.started_ms || same && !over {
                    return Self::of_job(job);
                }
                let summary = Self::of_attempt(attempt, slots);
                if same { Self { old_version: job.order.old_version.clone(), ..summary } } else { summary }
            }
        }
    }
}

impl UpdateClient {
    /// Queries the agent, and combines everything.
    pub async fn overview(&self) -> UpdateOverview {
        let slots = self.0.agent.get::<GetUpdateStatus>().await;
        let job = self.0.jobs.newest();
        let problems = self.seen().problems.clone();
        let summary = Summary::of(job.as_ref(), slots.as_ref().ok());
        UpdateOverview { summary, job, slots, problems, fault: self.0.jobs.fault() }
    }

    /// The running version: of the slot if there are slots, otherwise of this program.
    pub async fn running_version(&self) -> String {
        let slots = self.0.agent.get::<GetUpdateStatus>().await;
        let running = slots.ok().and_then(|status| status.slots.into_iter().find(|slot| slot.running));
        running.and_then(|slot| slot.version).unwrap_or_else(|| env!("CARGO_PKG_VERSION").into())
    }
}
