//! NetworkManager's profiles (its "connections"), and which are active. Never their secrets: `GetSettings` omits them,
//! and only the fields below are read.

use super::{ACTIVE, InterfaceProperties, Objects, PROFILE, SERVICE, absent, is_gone, unknown};
use crate::{
    error::{ErrorCode, ToolError},
    os::bus::{DBus, DBusObject},
};
use futures::future::try_join_all;
use std::collections::HashMap;
use zbus::OwnedVariant;

/// Profiles read at most.
pub const MOST: usize = 256;

/// One profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkManagerProfile {
    /// Its D-Bus object path, until NetworkManager restarts.
    pub path: String,
    pub uuid: String,
    /// Its display name; not unique.
    pub name: String,
    /// "802-3-ethernet", "802-11-wireless", "vpn".
    pub kind: String,
    /// The interface that it is restricted to, if any.
    pub interface: Option<String>,
    pub autoconnect: bool,
    /// When it was last active, in seconds since 1970.
    pub last_active: Option<u64>,
    pub ssid: Option<String>,
    /// "auto", "manual", "disabled", ...
    pub ipv4_method: Option<String>,
    pub ipv6_method: Option<String>,
    /// Its current use, if it is active.
    pub active: Option<Active>,
}

/// An active profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Active {
    pub path: String,
    pub uuid: String,
    pub name: String,
    /// NMActiveConnectionState.
    pub state: u32,
    /// Names of interfaces.
    pub interfaces: Vec<String>,
    /// Has the default route of IPv4 or IPv6.
    pub default: bool,
}

/// "activated" and the like (NMActiveConnectionState).
pub fn state_name(state: u32) -> &'static str {
    match state {
        1 => "activating",
        2 => "activated",
        3 => "deactivating",
        4 => "deactivated",
        _ => "unknown",
    }
}

/// What is in use now.
pub fn active(objects: &Objects) -> Vec<Active> {
    let all = objects.all(ACTIVE).filter_map(|(path, active)| {
        let devices = active.objects("Devices");
        Some(Active {
            path: path.to_owned(),
            uuid: active.text("Uuid")?.to_owned(),
            name: active.text("Id").unwrap_or_default().to_owned(),
            state: active.number("State").unwrap_or(0),
            interfaces: devices.iter().filter_map(|each| objects.interface_of(each).map(str::to_owned)).collect(),
            default: active.flag("Default").unwrap_or(false) || active.flag("Default6").unwrap_or(false),
        })
    });
    all.collect()
}

/// Every profile, those in use first, then by name; at most [`MOST`].
///
/// # Errors
/// `unavailable` when NetworkManager does not answer.
pub async fn all(bus: &DBus, objects: &Objects) -> Result<Vec<NetworkManagerProfile>, ToolError> {
    let in_use = active(objects);
    let mut paths: Vec<&str> = objects.all(PROFILE).map(|(path, _)| path).collect();
    crate::sort::sort_by_key(&mut paths, |path| (path.len(), path.to_owned()));
    paths.truncate(MOST);
    let found = try_join_all(paths.into_iter().map(|path| one(bus, path, &in_use))).await?;
    let mut profiles: Vec<NetworkManagerProfile> = found.into_iter().flatten().collect();
    crate::sort::sort_by(&mut profiles, |a, b| {
        (a.active.is_none(), &a.name, &a.uuid).cmp(&(b.active.is_none(), &b.name, &b.uuid))
    });
    Ok(profiles)
}

/// `None` for one that has just been deleted, or that is another user's alone.
async fn one(bus: &DBus, path: &str, in_use: &[Active]) -> Result<Option<NetworkManagerProfile>, ToolError> {
    let object = DBusObject { service: SERVICE, path, interface: PROFILE };
    let answer = match bus.call(object, "GetSettings", &()).await.map_err(absent) {
        Ok(answer) => answer,
        Err(error) if is_gone(&error) || error.code == ErrorCode::PermissionDenied => return Ok(None),
        Err(error) => return Err(error),
    };
    let settings: HashMap<String, HashMap<String, OwnedVariant>> =
        answer.body().deserialize().map_err(|fault| unknown("GetSettings", &fault))?;
    let settings: HashMap<String, InterfaceProperties> =
        settings.into_iter().map(|(name, values)| (name, InterfaceProperties(values))).collect();
    let text = |section: &str, key: &str| settings.get(section)?.text(key).map(str::to_owned);
    let uuid = text("connection", "uuid").unwrap_or_default();
    Ok(Some(NetworkManagerProfile {
        path: path.to_owned(),
        name: text("connection", "id").unwrap_or_default(),
        kind: text("connection", "type").unwrap_or_default(),
        interface: text("connection", "interface-name"),
        autoconnect: settings.get("connection").and_then(|each| each.flag("autoconnect")).unwrap_or(true),
        last_active: settings.get("connection").and_then(|each| each.get("timestamp")).filter(|time| *time > 0),
        ssid: settings.get("802-11-wireless").and_then(|each| each.bytes("ssid")),
        ipv4_method: text("ipv4", "method"),
        ipv6_method: text("ipv6", "method"),
        active: in_use.iter().find(|active| active.uuid == uuid).cloned(),
        uuid,
    }))
}
