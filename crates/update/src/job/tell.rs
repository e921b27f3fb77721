//! An engine's progress reports.

use super::{FoundRelease, Jobs};
use crate::status::Phase;

/// Reports the progress of one job.
pub struct Tell(Jobs);

impl Tell {
    pub(super) fn new(jobs: Jobs) -> Self {
        Self(jobs)
    }

    /// The release was found. Stored before this returns.
    pub async fn release(&self, release: FoundRelease) {
        let kept = self.0.alter(|kept| {
            kept.message = format!("found {}", release.version);
            kept.release = Some(release);
            true
        });
        if let Some(kept) = kept {
            self.0.clone().put_down(kept).await;
        }
    }

    /// Progress within a phase. Kept in memory only: a restart loses nothing but the number.
    pub fn pace(&self, done: u64, total: u64, message: impl Into<String>) {
        self.0.alter(|kept| {
            kept.percent = kept.percent.max(percent(kept.phase, done, total));
            kept.message = message.into();
            false
        });
    }

    /// Enters `phase`, with `done` of `total` (such as bytes). A new phase is stored before this returns.
    pub async fn step(&self, phase: Phase, done: u64, total: u64, message: impl Into<String>) {
        let kept = self.0.alter(|kept| {
            let entered = kept.phase != phase;
            kept.phase = phase;
            // The percentage never decreases, even when the slots are compared again after the first blocks.
            kept.percent = kept.percent.max(percent(phase, done, total));
            kept.message = message.into();
            entered
        });
        if let Some(kept) = kept {
            self.0.clone().put_down(kept).await;
        }
    }
}

/// The overall percentage, weighting the phases for a card that writes at 20 MB/s.
fn percent(phase: Phase, done: u64, total: u64) -> f64 {
    let (from, to) = match phase {
        Phase::Checking => (0.0, 2.0),
        Phase::Comparing => (2.0, 10.0),
        Phase::Fetching => (10.0, 50.0),
        Phase::Writing => (50.0, 85.0),
        Phase::Verifying => (85.0, 99.0),
        Phase::Armed | Phase::Trial => return 99.0,
        Phase::Committed | Phase::RolledBack | Phase::Failed => return 100.0,
    };
    #[expect(clippy::cast_precision_loss)] // A share, for people.
    let share = if total == 0 { 0.0 } else { (done.min(total) as f64) / (total as f64) };
    f64::round((from + (to - from) * share) * 10.0) / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_follow_each_other_without_a_gap() {
        let order = [Phase::Checking, Phase::Comparing, Phase::Fetching, Phase::Writing, Phase::Verifying];
        for pair in order.windows(2) {
            assert_eq!(percent(pair[0], 7, 7), percent(pair[1], 0, 7), "{pair:?}");
        }
        assert_eq!(percent(Phase::Fetching, 1, 4), 20.0);
        assert_eq!((percent(Phase::Writing, 9, 3), percent(Phase::Writing, 1, 0)), (85.0, 50.0));
        assert!(percent(Phase::Verifying, 1, 1) <= percent(Phase::Armed, 0, 0));
    }
}
