//! One device as a rollout sees it: its newest verified status, and what that says about the release.

/// A registered device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolloutDevice {
    pub name: String,
    /// Its newest status that was verified; `None` before the first.
    pub heard: Option<HeardStatus>,
}

/// What its agent signed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeardStatus {
    /// When it arrived, in milliseconds since 1970.
    pub heard_ms: i64,
    /// When the device says that it signed it.
    pub time_ms: i64,
    /// Rises with each status, also over restarts.
    pub sequence: u64,
    /// SHA-256 of the running release's manifest.
    pub manifest: Option<String>,
    /// Whether the running slot is committed.
    pub committed: bool,
    pub healthy: Option<bool>,
    pub problems: Vec<String>,
    pub ring: Option<String>,
    /// Its last attempt of an update.
    pub attempt: Option<HeardAttempt>,
}

/// The last attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeardAttempt {
    pub manifest: String,
    /// As the agent says it: `fetching`, `trial`, `committed`, `rolled_back`, `failed` and others.
    pub phase: String,
    pub reason: String,
}

/// What became of the release on this device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceOutcome {
    /// It has nothing to do with this release, or runs another by now.
    Untouched,
    /// It began: it fetches it, or tries it.
    Trying,
    /// It runs it, committed, and nothing is wrong.
    Committed,
    /// It runs it, committed, and says that it is not healthy.
    Unhealthy(String),
    /// It went back, or could not install it.
    Failed(String),
}

impl HeardStatus {
    /// When the device certainly lived: an old status that arrives late, or again, is as old as it says.
    pub fn alive_ms(&self) -> i64 {
        self.heard_ms.min(self.time_ms)
    }

    /// Its outcome for the release with this manifest.
    pub fn outcome(&self, manifest: &str) -> DeviceOutcome {
        let runs = self.manifest.as_deref() == Some(manifest);
        if runs && self.committed {
            return match self.healthy {
                Some(false) => DeviceOutcome::Unhealthy(match self.problems.is_empty() {
                    true => "is not healthy".into(),
                    false => format!("is not healthy: {}", self.problems.join("; ")),
                }),
                _ => DeviceOutcome::Committed,
            };
        }
        let attempt = self.attempt.as_ref().filter(|attempt| attempt.manifest == manifest);
        match attempt.map(|attempt| (attempt.phase.as_str(), &attempt.reason)) {
            Some(("rolled_back", reason)) => DeviceOutcome::Failed(format!("went back: {reason}")),
            Some(("failed", reason)) => DeviceOutcome::Failed(format!("could not install it: {reason}")),
            // It was committed and runs another release now: somebody installed that.
            Some(("committed", _)) if !runs => DeviceOutcome::Untouched,
            None if !runs => DeviceOutcome::Untouched,
            _ => DeviceOutcome::Trying,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(runs: &str, committed: bool, attempt: Option<(&str, &str)>) -> HeardStatus {
        let attempt = attempt.map(|(manifest, phase)| HeardAttempt {
            manifest: manifest.into(),
            phase: phase.into(),
            reason: "dark".into(),
        });
        HeardStatus { manifest: Some(runs.into()), committed, attempt, ..HeardStatus::default() }
    }

    #[test]
    fn only_the_release_of_the_rollout_counts() {
        use DeviceOutcome::{Committed, Failed, Trying, Untouched};
        let outcome = |runs, committed, attempt| status(runs, committed, attempt).outcome("new");
        assert_eq!(outcome("old", true, None), Untouched);
        assert_eq!(outcome("old", true, Some(("other", "failed"))), Untouched);
        assert_eq!(outcome("other", false, Some(("other", "trial"))), Untouched);
        assert_eq!(outcome("old", true, Some(("new", "fetching"))), Trying);
        assert_eq!(outcome("new", false, Some(("new", "trial"))), Trying);
        assert_eq!(outcome("new", false, None), Trying);
        assert_eq!(outcome("new", true, Some(("new", "committed"))), Committed);
        assert_eq!(outcome("old", true, Some(("new", "rolled_back"))), Failed("went back: dark".into()));
        assert_eq!(outcome("old", true, Some(("new", "failed"))), Failed("could not install it: dark".into()));
        assert_eq!(outcome("newer", true, Some(("new", "committed"))), Untouched);
    }

    #[test]
    fn a_device_that_is_not_healthy_did_not_succeed() {
        let mut status = status("new", true, None);
        status.healthy = Some(true);
        assert_eq!(status.outcome("new"), DeviceOutcome::Committed);
        status.healthy = Some(false);
        assert!(matches!(status.outcome("new"), DeviceOutcome::Unhealthy(_)));
        assert_eq!(status.outcome("other"), DeviceOutcome::Untouched);
    }

    #[test]
    fn a_status_that_arrives_late_is_as_old_as_it_says() {
        let at = |heard_ms, time_ms| HeardStatus { heard_ms, time_ms, ..HeardStatus::default() }.alive_ms();
        assert_eq!((at(50, 10), at(50, 90)), (10, 50));
    }
}
