//! What a rollout has to remember between two judgements, whoever makes them: kept with its record.

use super::{DeviceOutcome, FailedDevice, RolloutDevice};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Since the rollout began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RolloutMemory {
    /// Silent since before: not counted until they are heard.
    pub silent_before: BTreeSet<String>,
    /// This release failed there before: not counted until it is tried again.
    pub failed_before: BTreeSet<String>,
    /// Not healthy before: not counted until they are.
    pub unhealthy_before: BTreeSet<String>,
    /// Failed, with the sequence of the status that said so. A device leaves it by a later status that says committed.
    pub failed: BTreeMap<String, (u64, String)>,
    /// Since when the stage has enough committed devices, in milliseconds since 1970.
    pub enough_since_ms: Option<i64>,
}

impl RolloutMemory {
    /// The state of all devices when the rollout begins. `silent_ms`: after so long a device is silent.
    pub fn at_start(devices: &[RolloutDevice], manifest: &str, now_ms: i64, silent_ms: i64) -> Self {
        let mut memory = Self::default();
        for device in devices {
            let name = || device.name.clone();
            let Some(heard) = &device.heard else {
                memory.silent_before.insert(name());
                continue;
            };
            if now_ms.saturating_sub(heard.alive_ms()) > silent_ms {
                memory.silent_before.insert(name());
            }
            if matches!(heard.outcome(manifest), DeviceOutcome::Failed(_)) {
                memory.failed_before.insert(name());
            }
            if heard.healthy == Some(false) {
                memory.unhealthy_before.insert(name());
            }
        }
        memory
    }

    /// Takes note of a device's newest status. Older ones than a failure that is known change nothing.
    pub(super) fn note(&mut self, device: &RolloutDevice, manifest: &str, fresh: bool) {
        let (Some(heard), name) = (&device.heard, &device.name) else { return };
        if self.failed.get(name).is_some_and(|(sequence, _)| heard.sequence < *sequence) {
            return;
        }
        if fresh {
            self.silent_before.remove(name);
        }
        if heard.healthy == Some(true) {
            self.unhealthy_before.remove(name);
        }
        match heard.outcome(manifest) {
            DeviceOutcome::Failed(_) if self.failed_before.contains(name) => {}
            DeviceOutcome::Unhealthy(_) if self.unhealthy_before.contains(name) => {}
            DeviceOutcome::Failed(why) | DeviceOutcome::Unhealthy(why) => {
                self.failed.insert(name.clone(), (heard.sequence, why));
            }
            DeviceOutcome::Committed => {
                self.failed_before.remove(name);
                self.failed.remove(name);
            }
            DeviceOutcome::Trying | DeviceOutcome::Untouched => drop(self.failed_before.remove(name)),
        }
    }

    /// Those that failed, in the order of their names.
    pub(super) fn failures(&self) -> impl Iterator<Item = FailedDevice> {
        self.failed.iter().map(|(name, (_, why))| FailedDevice { name: name.clone(), why: why.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{HeardAttempt, HeardStatus};
    use super::*;

    fn device(sequence: u64, phase: &str, committed: bool) -> RolloutDevice {
        let attempt = HeardAttempt { manifest: "new".into(), phase: phase.into(), reason: "dark".into() };
        let manifest = Some(if committed { "new" } else { "old" }.to_owned());
        let heard = HeardStatus { sequence, manifest, committed, attempt: Some(attempt), ..HeardStatus::default() };
        RolloutDevice { name: "shed".into(), heard: Some(heard) }
    }

    #[test]
    fn a_failure_stays_until_a_later_status_says_committed() {
        let mut memory = RolloutMemory::default();
        memory.note(&device(5, "rolled_back", false), "new", true);
        assert_eq!(memory.failures().count(), 1);
        // A replay, and a second attempt.
        memory.note(&device(4, "committed", true), "new", true);
        memory.note(&device(6, "fetching", false), "new", true);
        assert_eq!(memory.failures().count(), 1);
        memory.note(&device(7, "committed", true), "new", true);
        assert_eq!(memory.failures().count(), 0);
    }

    #[test]
    fn what_failed_before_counts_when_it_is_tried_again() {
        let mut memory = RolloutMemory::at_start(&[device(5, "failed", false)], "new", 0, 1000);
        memory.note(&device(5, "failed", false), "new", true);
        assert_eq!(memory.failures().count(), 0);
        memory.note(&device(6, "trial", false), "new", true);
        memory.note(&device(7, "rolled_back", false), "new", true);
        assert_eq!(memory.failures().count(), 1);
    }

    #[test]
    fn who_was_ill_before_is_not_the_releases_fault() {
        let ill = |sequence, healthy| {
            let mut device = device(sequence, "committed", true);
            device.heard.as_mut().unwrap().healthy = Some(healthy);
            device
        };
        let mut before = device(1, "", false);
        before.heard.as_mut().unwrap().healthy = Some(false);
        let mut memory = RolloutMemory::at_start(&[before], "new", 0, 1000);
        memory.note(&ill(2, false), "new", true);
        assert_eq!(memory.failures().count(), 0);
        memory.note(&ill(3, true), "new", true);
        memory.note(&ill(4, false), "new", true);
        assert_eq!(memory.failures().count(), 1);
    }
}
