//! Which settings the running release knows, kept for the other slot's: before something is written that the other one would not
//! understand, a person is told (`raspi-mcp allow`).

use super::{Installer, System};
use crate::files;
use contract::config::keys::KEYS;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use update::{Slot, status::SlotStatus};

/// What one release said when it ran.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Known {
    /// Of the image in the slot; none of a factory image.
    version: Option<String>,
    keys: Vec<String>,
}

fn file(folder: &Path, slot: Slot) -> PathBuf {
    folder.join(format!("known-settings-{slot}.json"))
}

/// Whether the release in that slot said that it knows the setting; `None` when it has not said so: another one was there, or it is
/// older than this file.
pub fn knows(folder: &Path, slot: &SlotStatus, key: &str) -> Option<bool> {
    let bytes = files::read(&file(folder, slot.slot)).ok()??;
    let known: Known = serde_json::from_slice(&bytes).ok()?;
    (known.version == slot.version).then(|| known.keys.iter().any(|one| one == key))
}

impl Installer {
    /// Keeps what this release knows, in its slot's file. Reads the card, so it is done at start, before anybody is served.
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
        let kept = kept.and_then(|bytes| files::replace(&path, &bytes).map_err(|error| error.message));
        if let Err(error) = kept {
            tracing::warn!(target: "agent", error, "what this release knows was not kept");
        }
    }
}
