//! Devices that follow a channel: each looks at the signed index, installs what the update engine chooses for it, and reports the trial
//! and how it ended. Time is compressed: what takes a device an hour takes it ten seconds here.

use crate::{
    fleet::DeviceClient,
    keys::{HARDWARE, LAYOUT, NOW, PRODUCT, a_key, a_root, roots},
};
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};
use tokio::time::interval;
use update::{
    bundle::Digest,
    channel::{ChannelIndex, DeviceId, ReleaseChoice, ReleaseEntry, Rollout, TargetDevice, choose, salt, sign},
    trust::{Purpose, Signed},
};

/// Between two looks of a device.
const LOOK: Duration = Duration::from_secs(10);
/// What a trial takes.
const TRIAL: Duration = Duration::from_secs(5);
/// How often it reports at least. Not compressed: a controller counts whoever is silent for 20 minutes.
const REPORT: Duration = Duration::from_secs(480);
/// How often the time is looked at.
const STEP: Duration = Duration::from_millis(250);

/// The files that `raspi-mcp fleet rollout sign` needs: a key, a root of trust, and a channel whose new release nobody gets yet.
pub fn make_channel(folder: &Path) {
    // RFC 8410, as in `a_key`.
    let mut der = vec![0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
    der.extend_from_slice(&[21; 32]);
    fs::write(folder.join("channel.key"), der).unwrap();
    fs::write(folder.join("root.signed"), a_root()).unwrap();
    fs::create_dir_all(folder.join("www/stable")).unwrap();
    let release = |version: &str, counter, percent| {
        let manifest = Digest::of(version.as_bytes());
        ReleaseEntry {
            version: version.into(),
            counter,
            manifest,
            url: format!("bundles/{version}.bundle"),
            size: 1,
            released: NOW,
            layout: LAYOUT.into(),
            hardware: vec![HARDWARE.into()],
            rollout: Rollout { percent, salt: salt(&manifest) },
            rings: vec![],
            min_counter: None,
            notes: String::new(),
            notes_url: None,
        }
    };
    let index = ChannelIndex {
        format: 1,
        product: PRODUCT.into(),
        channel: "stable".into(),
        sequence: 7,
        created: NOW,
        expires: NOW + 90 * 86_400,
        paused: None,
        releases: vec![release("1.2.0", 12, 0), release("1.1.0", 11, 100)],
        revoked: vec![],
    };
    fs::write(folder.join("www/stable/index.signed"), sign(&index, &[a_key(21)], Some(&roots())).unwrap()).unwrap();
}

struct Follower<'a> {
    client: &'a mut DeviceClient,
    target: TargetDevice,
    /// Its place in the rollout, 0 to 9999.
    place: u16,
    sick: bool,
    look_at: Instant,
    report_at: Instant,
    trial_until: Option<Instant>,
    touched: bool,
    failed: bool,
}

pub struct Followers<'a>(Vec<Follower<'a>>);

impl<'a> Followers<'a> {
    /// One in `one_in` is sick, spread over all shares.
    pub fn new(clients: &'a mut [DeviceClient], one_in: usize) -> Self {
        let now = Instant::now();
        let many = u32::try_from(clients.len()).unwrap();
        let follower = |(number, client): (u32, &'a mut DeviceClient)| {
            let id = DeviceId::of(&client.device.name);
            Follower {
                client,
                target: TargetDevice {
                    version: "1.1.0".into(),
                    counter: 11,
                    counter_floor: 0,
                    hardware: vec![HARDWARE.into()],
                    layout: LAYOUT.into(),
                    ring: None,
                    pin: None,
                    id: Some(id),
                    blocked: vec![],
                },
                place: id.place(&salt(&Digest::of(b"1.2.0"))),
                sick: false,
                look_at: now + LOOK * number / many,
                report_at: now + REPORT * number / many,
                trial_until: None,
                touched: false,
                failed: false,
            }
        };
        let mut all: Vec<_> = (0..many).zip(clients).map(follower).collect();
        all.sort_by_key(|follower| follower.place);
        all.iter_mut().skip(one_in / 2).step_by(one_in).for_each(|follower| follower.sick = true);
        Self(all)
    }

    /// Follows the channel below `folder` until it is paused and every trial has ended. Returns what became of the devices.
    pub async fn until_paused(mut self, folder: &Path) -> Value {
        let mut timer = interval(STEP);
        let mut in_flight = None;
        loop {
            timer.tick().await;
            let bytes = fs::read(folder.join("www/stable/index.signed")).unwrap();
            let index = ChannelIndex::parse(&Signed::parse(&bytes, Purpose::Channel).unwrap().text).unwrap();
            let trying = self.0.iter().filter(|follower| follower.trial_until.is_some()).count();
            if index.paused.is_some() {
                in_flight.get_or_insert(trying);
                if trying == 0 {
                    break;
                }
            }
            let now = Instant::now();
            for follower in &mut self.0 {
                follower.step(now, &index).await;
            }
        }
        let count = |is: &dyn Fn(&&Follower) -> bool| self.0.iter().filter(is).count();
        json!({
            "in_flight": in_flight,
            "failed": count(&|one| one.failed),
            "touched": count(&|one| one.touched),
            "highest_place": self.0.iter().filter(|one| one.touched).map(|one| one.place).max(),
        })
    }
}

impl Follower<'_> {
    async fn step(&mut self, now: Instant, index: &ChannelIndex) {
        match self.trial_until {
            Some(until) if now >= until => {
                self.trial_until = None;
                self.failed = self.sick;
                if self.sick {
                    self.target.blocked.push((Digest::of(b"1.2.0"), "cameras stay dark".into()));
                    self.report("1.1.0", "good", "rolled_back").await;
                } else {
                    (self.target.version, self.target.counter) = ("1.2.0".into(), 12);
                    self.report("1.2.0", "good", "committed").await;
                }
            }
            None if now >= self.look_at => {
                self.look_at += LOOK;
                if let ReleaseChoice::Install(_) = choose(index, &self.target) {
                    (self.touched, self.trial_until) = (true, Some(now + TRIAL));
                    self.report("1.2.0", "trial", "trial").await;
                }
            }
            _ if now >= self.report_at => {
                self.report_at += REPORT;
                self.client.reports().await;
            }
            _ => {}
        }
    }

    async fn report(&mut self, runs: &str, state: &str, phase: &str) {
        let manifest = |version: &str| Digest::of(version.as_bytes()).to_string();
        let reason = if phase == "rolled_back" { "cameras stay dark" } else { "" };
        self.client.device.differs = json!({
            "version": runs, "manifest": manifest(runs), "state": state,
            "attempt": { "version": "1.2.0", "manifest": manifest("1.2.0"), "phase": phase, "reason": reason, "time_ms": 1 },
        });
        self.client.reports().await;
    }
}
