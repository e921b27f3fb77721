//! The devices: each looks at the index every ten minutes, installs what is chosen for it, and reports on change and every 15
//! minutes. A sick one goes back, or is never heard again.

use crate::update::{HARDWARE, LAYOUT};
use fleet_protocol::rollout::{DeviceOutcome, HeardAttempt, HeardStatus, RolloutDevice};
use update::{
    bundle::Digest,
    channel::{ChannelIndex, DeviceId, ReleaseChoice, TargetDevice, choose, salt},
};

/// Minutes that a trial takes.
const TRIAL: i64 = 6;

/// What the new release does to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Well,
    GoesBack,
    Dies,
}

pub struct Device {
    pub name: String,
    pub fate: Fate,
    target: TargetDevice,
    /// The highest sequence of an index that it saw.
    seen: u64,
    trial_until: Option<i64>,
    dead: bool,
    status: HeardStatus,
}

pub struct Fleet(pub Vec<Device>);

fn manifest(version: &str) -> String {
    Digest::of(version.as_bytes()).to_string()
}

impl Fleet {
    pub fn new(devices: usize) -> Self {
        let device = |n: usize| Device {
            name: format!("d{n:04}"),
            fate: Fate::Well,
            target: TargetDevice {
                version: "1.1.0".into(),
                counter: 11,
                counter_floor: 0,
                hardware: vec![HARDWARE.into()],
                layout: LAYOUT.into(),
                ring: None,
                pin: None,
                id: Some(DeviceId::of(&format!("machine {n}"))),
                blocked: vec![],
            },
            seen: 0,
            trial_until: None,
            dead: false,
            status: HeardStatus {
                heard_ms: super::START_MS,
                time_ms: super::START_MS,
                sequence: 1,
                manifest: Some(manifest("1.1.0")),
                committed: true,
                healthy: Some(true),
                ..HeardStatus::default()
            },
        };
        Self((0..devices).map(device).collect())
    }

    /// One percent of the devices, spread over all shares: the n-th of those in the order of their places.
    pub fn sicken(&mut self, fate: Fate, one_in: usize) {
        let mut order: Vec<usize> = (0..self.0.len()).collect();
        order.sort_by_key(|n| self.0[*n].place());
        for n in order.into_iter().skip(one_in / 2).step_by(one_in) {
            self.0[n].fate = fate;
        }
    }

    pub fn minute(&mut self, now_ms: i64, minute: i64, index: &ChannelIndex) {
        for (n, device) in self.0.iter_mut().enumerate() {
            device.minute(now_ms, minute, n as i64, index);
        }
    }

    pub fn statuses(&self) -> Vec<RolloutDevice> {
        self.0.iter().map(|one| RolloutDevice { name: one.name.clone(), heard: Some(one.status.clone()) }).collect()
    }

    pub fn count(&self, which: impl Fn(&Device) -> bool) -> usize {
        self.0.iter().filter(|device| which(device)).count()
    }
}

impl Device {
    /// Its place in the rollout of 1.2.0, from 0 to 9999.
    pub fn place(&self) -> u16 {
        self.target.id.unwrap().place(&salt(&Digest::of(b"1.2.0")))
    }

    pub fn outcome(&self) -> DeviceOutcome {
        match self.dead {
            true => DeviceOutcome::Failed("dead".into()),
            false => self.status.outcome(&manifest("1.2.0")),
        }
    }

    pub fn is_trying(&self) -> bool {
        self.trial_until.is_some()
    }

    fn minute(&mut self, now_ms: i64, minute: i64, n: i64, index: &ChannelIndex) {
        if self.dead {
            return;
        }
        if let Some(until) = self.trial_until {
            if minute < until {
                return;
            }
            self.trial_until = None;
            match self.fate {
                Fate::Well => {
                    (self.target.version, self.target.counter) = ("1.2.0".into(), 12);
                    self.report(now_ms, "1.2.0", true, "committed");
                }
                Fate::GoesBack => {
                    self.target.blocked.push((Digest::of(b"1.2.0"), "cameras stay dark".into()));
                    self.report(now_ms, "1.1.0", true, "rolled_back");
                }
                Fate::Dies => self.dead = true,
            }
        } else if minute % 10 == n % 10 {
            // As `accept` does, whose own tests are elsewhere.
            assert!(index.sequence >= self.seen, "an index went back");
            self.seen = index.sequence;
            if let ReleaseChoice::Install(release) = choose(index, &self.target) {
                assert_eq!(release.version, "1.2.0");
                self.trial_until = Some(minute + TRIAL);
                self.report(now_ms, "1.2.0", false, "trial");
            }
        }
        if minute % 15 == n % 15 {
            (self.status.heard_ms, self.status.time_ms) = (now_ms, now_ms);
            self.status.sequence += 1;
        }
    }

    fn report(&mut self, now_ms: i64, runs: &str, committed: bool, phase: &str) {
        let status = &mut self.status;
        (status.heard_ms, status.time_ms, status.sequence) = (now_ms, now_ms, status.sequence + 1);
        (status.manifest, status.committed) = (Some(manifest(runs)), committed);
        let reason = if phase == "rolled_back" { "cameras stay dark" } else { "" };
        status.attempt = Some(HeardAttempt { manifest: manifest("1.2.0"), phase: phase.into(), reason: reason.into() });
    }
}
