//! What a person plans: which release, in which stages, and when it stops.

use base::canonical;
use serde::Serialize;
use serde_json::json;

/// Most stages of a plan.
pub const MAX_STAGES: usize = 16;
/// Most devices that are named as pinned.
pub const MAX_PINNED: usize = 1024;
/// Most rings of a stage.
pub const MAX_RINGS: usize = 64;
/// Largest count of devices in a plan.
pub const MAX_COUNT: u32 = 1_000_000;

/// A rollout of one release, which the channel has already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RolloutPlan {
    pub version: String,
    pub channel: String,
    pub target: RolloutTarget,
    /// A device that was not heard for so long is silent. 20 to 10080; devices report every 10 to 20 minutes.
    pub silent_minutes: u32,
    /// Devices that `update.pin` keeps at another version: not waited for, and their silence is not counted.
    pub pinned: Vec<String>,
    pub stop: StopConditions,
    /// 1 to [`MAX_STAGES`]; each is for at least the devices of the one before.
    pub stages: Vec<Stage>,
}

/// Where the channel is. Paths are as written: relative to the plan's folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RolloutTarget {
    /// The folder that a web server serves.
    Folder(String),
    /// A web space that is written with PUT.
    Address { url: String, token_file: Option<String>, ca_file: Option<String> },
}

/// When the rollout stops: each is a limit that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StopConditions {
    /// Devices that failed, in percent of those that the stage is for; 1 to 100.
    pub failed_percent: u8,
    /// Devices that failed, in the whole rollout; 1 to [`MAX_COUNT`].
    pub failed_count: u32,
    /// Devices that fell silent since the rollout began, in percent of those that were heard; 1 to 100.
    pub silent_percent: u8,
}

/// One stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stage {
    /// The share of devices; 1 to 100.
    pub percent: u8,
    /// Only devices of these rings; empty: all.
    pub rings: Vec<String>,
    /// So many devices must run the release committed before the soak begins; 1 to [`MAX_COUNT`].
    pub min_committed: u32,
    /// So long it has to stay so; 0 to 43200.
    pub soak_minutes: u32,
}

impl RolloutPlan {
    /// What is approved: SHA-256 of the canonical form of the plan, the release's `manifest` and `base`, the SHA-256 of the
    /// channel's index that the first stage follows. 64 hexadecimal digits.
    pub fn hash(&self, manifest: &str, base: &str) -> String {
        canonical::sha256_hex(&json!({
            "purpose": "raspi-mcp rollout 1", "plan": self, "manifest": manifest, "base": base,
        }))
    }

    /// Why stage `index` cannot follow the one before; `None` if it can.
    pub fn shrinks(&self, index: usize) -> Option<&'static str> {
        let (before, next) = (self.stages.get(index.checked_sub(1)?)?, self.stages.get(index)?);
        let wider = |ring: &String| next.rings.is_empty() || next.rings.contains(ring);
        if !next.rings.is_empty() && before.rings.is_empty() || !before.rings.iter().all(wider) {
            return Some("leaves out a ring of the stage before");
        }
        let same = before.rings.len() == next.rings.len();
        (same && next.percent <= before.percent).then_some("is not for more devices than the stage before")
    }
}

impl Stage {
    /// Whether the stage is for devices of `ring`.
    pub fn is_for(&self, ring: Option<&str>) -> bool {
        self.rings.is_empty() || ring.is_some_and(|ring| self.rings.iter().any(|one| one == ring))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn plan(stages: &[(u8, &[&str], u32, u32)]) -> RolloutPlan {
        let stage = |&(percent, rings, min_committed, soak_minutes): &(u8, &[&str], u32, u32)| Stage {
            percent,
            rings: rings.iter().map(|ring| (*ring).to_owned()).collect(),
            min_committed,
            soak_minutes,
        };
        RolloutPlan {
            version: "1.2.0".into(),
            channel: "stable".into(),
            target: RolloutTarget::Folder("www".into()),
            silent_minutes: 45,
            pinned: vec![],
            stop: StopConditions { failed_percent: 20, failed_count: 5, silent_percent: 10 },
            stages: stages.iter().map(stage).collect(),
        }
    }

    #[test]
    fn the_hash_is_of_all_that_is_approved() {
        let one = plan(&[(5, &[], 1, 60), (100, &[], 10, 60)]);
        let hash = one.hash("aa", "bb");
        assert_eq!(hash.len(), 64);
        assert_eq!(hash, one.clone().hash("aa", "bb"));
        let mut others = vec![one.clone(); 4];
        others[0].stop.failed_count = 6;
        others[1].stages[1].soak_minutes = 59;
        others[2].pinned = vec!["shed".into()];
        others[3].target = RolloutTarget::Folder("other".into());
        let mut hashes: Vec<String> = others.iter().map(|plan| plan.hash("aa", "bb")).collect();
        hashes.extend([one.hash("ab", "bb"), one.hash("aa", "bc"), hash]);
        base::sort::sort(&mut hashes);
        hashes.dedup();
        assert_eq!(hashes.len(), 7);
    }

    #[test]
    fn a_stage_is_for_more_devices_than_the_one_before() {
        let shrinks = |one: (u8, &'static [&'static str]), next: (u8, &'static [&'static str])| {
            plan(&[(one.0, one.1, 1, 0), (next.0, next.1, 1, 0)]).shrinks(1).is_some()
        };
        assert!(!shrinks((5, &[]), (6, &[])) && shrinks((5, &[]), (5, &[])) && shrinks((5, &[]), (4, &[])));
        assert!(!shrinks((100, &["early"]), (5, &[])) && !shrinks((100, &["early"]), (5, &["late", "early"])));
        assert!(shrinks((5, &[]), (100, &["early"])) && shrinks((5, &["early"]), (100, &["late"])));
        assert_eq!(plan(&[(5, &[], 1, 0)]).shrinks(0), None);
    }
}
