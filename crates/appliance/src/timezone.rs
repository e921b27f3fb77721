//! The appliance's time zone. `/etc` is read-only there, so the image's `/etc/localtime` leads into `/run`, and what is
//! there leads into the zone database. The choice is in the agent-state area and is applied again at each boot.

use base::os::{Root, clock};
use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};
use update::slots::StateRecord;

/// Its key in [`StateRecord::kept`].
const KEY: &str = "timezone";
/// Where the image's `/etc/localtime` leads (buildroot-external/board/raspi-mcp/post-build.sh).
const LINK: &str = "/run/raspi-mcp-zone/localtime";

/// The recorded choice; `None` if there never was one, or it is no text.
pub fn kept(state: &StateRecord) -> Option<String> {
    String::from_utf8(state.kept.get(KEY)?.clone()).ok()
}

/// The state with `zone`; `None` if it is kept already.
pub fn to_keep(zone: &str, state: &StateRecord) -> Option<StateRecord> {
    if kept(state).as_deref() == Some(zone) {
        return None;
    }
    let mut next = state.clone();
    next.kept.insert(KEY.into(), zone.into());
    Some(next)
}

/// After a reset it is UTC again.
pub(crate) fn forget(state: &mut StateRecord) {
    state.kept.remove(KEY);
}

/// Whether the zone of this machine is set here, because its image's link leads here.
pub fn is_ours(root: &Root) -> bool {
    root.link("etc/localtime").is_ok_and(|target| target == Path::new(LINK))
}

/// Makes the link, in place of another: for every program that starts from now on.
///
/// # Errors
/// Those of the folder and the link.
pub fn apply(root: &Root, zone: &str) -> io::Result<()> {
    let link = root.path(LINK);
    let folder = link.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(folder)?;
    // Whatever the umask: all programs read the time.
    fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    let new = folder.join("new");
    if let Err(error) = fs::remove_file(&new)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    symlink(format!("/{}/{zone}", clock::ZONES), &new)?;
    fs::rename(new, link)
}

/// Applies the recorded choice at the start of an appliance, or UTC.
///
/// # Errors
/// The fault, for a person: the time is UTC then, or what it was.
pub(crate) fn apply_kept(root: &Root, state: &StateRecord) -> Option<String> {
    if !is_ours(root) {
        return None;
    }
    let kept = kept(state);
    let known = kept.as_deref().is_none_or(|zone| clock::is_zone(root, zone));
    let zone = kept.as_deref().filter(|_| known).unwrap_or("UTC");
    if let Err(error) = apply(root, zone) {
        return Some(format!("the time zone cannot be set: {error}"));
    }
    (!known).then(|| format!("this image has no time zone {:?}: times are in UTC", kept.unwrap_or_default()))
}
