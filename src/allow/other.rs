//! The release in the other slot, which reads the same fragments.

use agent;
use std::path::Path;
use update::status::UpdateStatus;

/// A warning if the release that does not run would not support grants; `folder` is the agent's. `None`: it supports
/// them, or there is no other release.
pub fn warning(status: &UpdateStatus, folder: &Path) -> Option<String> {
    let other = status.slots.iter().find(|slot| !slot.running)?;
    let version = other.version.as_ref()?;
    let says = match agent::knows(folder, other, "tools.allow") {
        Some(true) => return None,
        Some(false) => "does not know tools.allow",
        None => "has not said that it knows tools.allow",
    };
    Some(format!(
        "warning: the release in slot {}, {version}, {says}: if it starts, it may set this whole file aside and then only reads. \
         `raspi-mcp revoke` takes the grant out before you go back to it",
        other.slot
    ))
}
