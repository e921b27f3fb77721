//! The settings that each slot's release knows. `raspi-mcp allow` and `raspi-mcp fleet join` use it to warn a person who
//! writes something that the other slot's release would not understand.

use super::{Installer, System};
use crate::files;
use contract::config::keys::KEYS;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use update::{
    Slot,
    status::{SlotStatus, UpdateStatus},
};

/// What a release recorded when it ran.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Known {
    /// Of the image in the slot; `None` for a factory image.
    version: Option<String>,
    keys: Vec<String>,
}

fn file(folder: &Path, slot: Slot) -> PathBuf {
    folder.join(format!("known-settings-{slot}.json"))
}

/// Whether the release in that slot recorded that it knows the setting. `None` when there is no record: another release
/// was there, or it is older than this file.
pub fn knows(folder: &Path, slot: &SlotStatus, key: &str) -> Option<bool> {
    let bytes = files::read(&file(folder, slot.slot)).ok()??;
    let known: Known = serde_json::from_slice(&bytes).ok()?;
    (known.version == slot.version).then(|| known.keys.iter().any(|one| one == key))
}

/// What a setting is called, and what happens when a release starts that does not know it.
pub struct NewSetting {
    key: &'static str,
    then: &'static str,
}

/// Grants of `raspi-mcp allow`.
pub const GRANTS: NewSetting =
    NewSetting { key: "tools.allow", then: "`raspi-mcp revoke` takes the grant out before you go back to it" };
/// The section of a fleet's member.
pub const FLEET: NewSetting = NewSetting {
    key: "fleet.name",
    then: "it is then not seen in the fleet, until a release that knows the section runs again",
};

/// A warning if the release that does not run would not support a setting; `folder` is the agent's. `None`: it supports
/// it, or there is no other release.
pub fn warning(status: &UpdateStatus, folder: &Path, NewSetting { key, then }: &NewSetting) -> Option<String> {
    let other = status.slots.iter().find(|slot| !slot.running)?;
    let version = other.version.as_ref()?;
    let says = match knows(folder, other, key) {
        Some(true) => return None,
        Some(false) => "does not know",
        None => "has not said that it knows",
    };
    Some(format!(
        "warning: the release in slot {}, {version}, {says} {key}: if it starts, it may set this whole file aside and then only reads. \
         {then}",
        other.slot
    ))
}

impl Installer {
    /// Records what this release knows, in its slot's file. Reads the card, so it runs at start, before requests are
    /// served.
    pub(super) fn keep_settings(&self, system: &System) {
        let status = system.status(None);
        let Some(running) = status.slots.into_iter().find(|slot| slot.running) else { return };
        let keys = KEYS.iter().map(|key| key.name.to_owned()).collect();
        let (path, known) = (file(&self.settings.state_dir, running.slot), Known { version: running.version, keys });
        let before = files::read(&path).ok().flatten().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if before.as_ref() == Some(&known) {
            return;
        }
        let kept = serde_json::to_vec(&known).map_err(|error| error.to_string());
        let kept = kept.and_then(|bytes| files::replace(&path, &bytes).map_err(|error| error.into_message()));
        if let Err(error) = kept {
            tracing::warn!(target: "agent", error, "what this release knows was not kept");
        }
    }
}
