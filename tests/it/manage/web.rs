//! A channel in a folder, with keys of its own, and a server that takes its releases.

use crate::{
    support::served::{Answer, Door, Pi, Wire},
    update::{a_boot_of, a_bundle_of, a_key, a_plan, a_root_file, ids, signed},
};
use contract::{config::Settings, meta::Mode};
use serde_json::{Value, json};
use std::{fs, path::Path, time::Duration};
use tempfile::TempDir;
use update::{
    bundle::{BundleContent, Digest},
    channel::{ChannelIndex, ROOTS, ReleaseEntry, Rollout},
    trust::{KeyRole, Purpose, RootFile},
};

pub const SIMULATED: &str = "raspi-mcp,simulated";

/// Seconds since 1970: the server under test has the machine's own clock.
pub fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

/// The publisher's folder.
pub struct Web {
    pub folder: TempDir,
    /// Its time, in seconds since 1970: stands still.
    now: u64,
    index: ChannelIndex,
    root: RootFile,
    /// The number of the key that signs the channel.
    channel_key: u8,
}

/// For how long what is published holds, in seconds.
const HOLDS: u64 = 60 * 86_400;

impl Web {
    pub fn new() -> Self {
        Self::at(now())
    }

    /// One whose publisher's clock shows `now`, in seconds since 1970.
    pub fn at(now: u64) -> Self {
        Self::lasting(now, HOLDS)
    }

    /// The same, with a root of trust that holds for so many seconds.
    pub fn lasting(now: u64, seconds: u64) -> Self {
        let folder = TempDir::new().unwrap();
        let mut root = a_root_file(1);
        (root.created, root.expires) = (now - 100, now + seconds);
        let signed_root = signed(Purpose::Root, &serde_json::to_vec(&root).unwrap(), &[1, 2]);
        fs::write(folder.path().join("root.signed"), signed_root).unwrap();
        let index = ChannelIndex {
            format: 1,
            product: crate::update::PRODUCT.into(),
            channel: "stable".into(),
            sequence: 0,
            created: now - 50,
            expires: now + HOLDS,
            paused: None,
            releases: Vec::new(),
            revoked: Vec::new(),
        };
        Self { folder, now, index, root, channel_key: 21 }
    }

    /// The root after `root`: new root keys and a new channel key, the same release keys. `salt` tells it from others of its version.
    fn next_root(root: &RootFile, salt: u8) -> (RootFile, u8, Vec<u8>) {
        // Below 30 are the keys of the first one.
        let root_keys = |version: u64, salt| match version {
            1 => [1, 2],
            _ => [0, 1].map(|key| 30 + 4 * u8::try_from(version).unwrap() + 2 * salt + key),
        };
        let (version, channel) = (root.version + 1, 130 + 2 * u8::try_from(root.version).unwrap() + salt);
        let (old, new) = (root_keys(root.version, 0), root_keys(version, salt));
        let next = RootFile {
            version,
            keys: [&new[..], &[11, 12, 13, channel]].concat().iter().map(|key| a_key(*key).public()).collect(),
            root: KeyRole { keys: ids(&new), threshold: 2 },
            channel: KeyRole { keys: ids(&[channel]), threshold: 1 },
            ..root.clone()
        };
        let text = signed(Purpose::Root, &serde_json::to_vec(&next).unwrap(), &[old, new].concat());
        (next, channel, text)
    }

    /// Publishes the next root of trust, and a channel that only its key has signed.
    pub fn rotate(&mut self) {
        let (next, channel, text) = Self::next_root(&self.root, 0);
        let folder = self.folder.path().join(ROOTS);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{}.signed", next.version)), text).unwrap();
        (self.root, self.channel_key) = (next, channel);
        self.publish();
    }

    /// A root of version 2 by the keys of the first one that is not the published one.
    pub fn another_root(&self) -> Vec<u8> {
        let first = RootFile { created: self.root.created, expires: self.root.expires, ..a_root_file(1) };
        Self::next_root(&first, 1).2
    }

    /// Publishes a release whose simulated system is as its root image says.
    pub fn release(&mut self, version: &str, counter: u64, root: &str) -> Digest {
        self.release_that(version, counter, root, |_| {})
    }

    /// The same, where the manifest says more.
    pub fn release_that(
        &mut self,
        version: &str,
        counter: u64,
        root: &str,
        says: impl FnOnce(&mut BundleContent),
    ) -> Digest {
        let mut plan = a_plan(version, counter);
        says(&mut plan);
        plan.hardware = vec![SIMULATED.into()];
        (plan.created, plan.expires) = (self.now - 60, self.now + HOLDS);
        let mut root = root.as_bytes().to_vec();
        root.resize(64 << 10, 0);
        let bundle = a_bundle_of(&plan, &a_boot_of(version), &root, &[11, 12]);
        let manifest = Digest::of(&crate::update::envelope(&bundle).manifest);
        let file = format!("{version}.bundle");
        fs::write(self.folder.path().join(&file), &bundle).unwrap();
        let offer = ReleaseEntry {
            version: version.into(),
            counter,
            manifest,
            url: file,
            size: bundle.len() as u64,
            released: self.now - 60,
            layout: crate::update::LAYOUT.into(),
            hardware: vec![SIMULATED.into()],
            rollout: Rollout { percent: 100, salt: version.into() },
            rings: Vec::new(),
            min_counter: None,
            notes: format!("What is new in {version}."),
            notes_url: None,
        };
        self.index.releases.insert(0, offer);
        self.publish();
        manifest
    }

    /// The publisher's clock goes on: what is published from now on is of that time, in seconds since 1970.
    pub fn clock(&mut self, now: u64) {
        self.now = now;
        (self.index.created, self.index.expires) = (now - 50, now + HOLDS);
    }

    pub fn publish(&mut self) {
        self.index.sequence += 1;
        let text = self.index.encode().unwrap();
        fs::create_dir_all(self.folder.path().join("stable")).unwrap();
        fs::write(self.folder.path().join("stable/index.signed"), signed(Purpose::Channel, &text, &[self.channel_key]))
            .unwrap();
    }

    pub fn change(&mut self, change: impl FnOnce(&mut ChannelIndex)) {
        change(&mut self.index);
        self.publish();
    }

    /// A server that looks here, where everything that `manage.*` does is allowed to whoever is admin.
    pub async fn pi(&self, change: impl FnOnce(&mut Settings)) -> Pi {
        let folder = self.folder.path().to_owned();
        Pi::standard(move |settings| {
            looks_at(settings, &folder);
            change(settings);
        })
        .await
    }
}

pub fn looks_at(settings: &mut Settings, folder: &Path) {
    settings.update.url = folder.display().to_string();
    settings.update.trust = folder.join("root.signed");
    settings.update.product = crate::update::PRODUCT.into();
    settings.update.health_deadline_seconds = 30;
    settings.tools.enable.insert("manage".into());
    for tool in ["update_server", "apply_os_updates", "rollback", "mark_good"] {
        settings.policy.insert(format!("manage.{tool}"), Mode::Allow);
    }
}

/// Asks for the update's status until it is as `is` says.
pub async fn until(wire: &mut Wire, what: &str, is: impl Fn(&Value) -> bool) -> Value {
    let started = std::time::Instant::now();
    loop {
        let answer: Answer = wire.call("manage.get_update_status", json!({})).await;
        let status = answer.ok().clone();
        if is(&status) {
            return status;
        }
        assert!(started.elapsed() < Duration::from_secs(90), "not {what}: {status:#}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

pub async fn admin(pi: &Pi) -> Wire {
    pi.on(Door::Stdio).await
}

/// A slot of a status.
pub fn slot<'a>(status: &'a Value, name: &str) -> &'a Value {
    status["slots"].as_array().unwrap().iter().find(|slot| slot["slot"] == name).unwrap()
}
