//! Profiles for Ethernet that NetworkManager makes by itself, in memory: "Wired connection 1".
//!
//! At its start it makes one for a device that no profile is for. One that it would not use by itself counts, too
//! (nm-settings.c, `have_connection_for_device`): once a profile for Ethernet is on the card, a machine that lived by a
//! generated one would have no network after its next start.

use super::{
    ETHERNET, InterfaceProperties, Objects, PROFILE, SERVICE,
    edit::{Settings, TO_DISK, read, write},
    is_gone,
};
use crate::{
    error::ToolError,
    os::bus::{DBus, DBusObject},
};

/// NM_SETTINGS_CONNECTION_FLAG_NM_GENERATED, and those of profiles that only describe what others configured, or that
/// end with their device (nm-dbus-types, NMSettingsConnectionFlags).
const GENERATED: u32 = 0x02;
const VOLATILE: u32 = 0x04;
const EXTERNAL: u32 = 0x08;

/// Writes those profiles to the card, as they are.
///
/// # Errors
/// `unavailable` when NetworkManager does not answer.
pub(super) async fn keep(bus: &DBus) -> Result<(), ToolError> {
    let objects = Objects::read(bus).await?;
    for (path, _) in objects.all(PROFILE).filter(|(_, profile)| is_generated(profile)) {
        let object = DBusObject { service: SERVICE, path, interface: PROFILE };
        let settings = match read(bus, object, "GetSettings", &()).await {
            // It went with its device since it was listed.
            Err(error) if is_gone(&error) => continue,
            answer => answer?,
        };
        if kind(&settings) == Some(ETHERNET) {
            write(bus, object, Settings::new(), TO_DISK).await?;
        }
    }
    Ok(())
}

fn is_generated(profile: &InterfaceProperties) -> bool {
    profile.number("Flags").unwrap_or(0) & (GENERATED | VOLATILE | EXTERNAL) == GENERATED
}

/// The type of a profile.
pub(super) fn kind(settings: &Settings) -> Option<&str> {
    <&str>::try_from(settings.get("connection")?.get("type")?).ok()
}
