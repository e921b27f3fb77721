//! NetworkManager's overall state, and its connectivity.

use super::{ACTIVE, CHECKPOINT, Objects};

/// NetworkManager's overall state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkManagerState {
    pub version: String,
    /// NMState by its name: "connected_global".
    pub state: &'static str,
    pub connectivity: Connectivity,
    /// The interface of the default route.
    pub primary_interface: Option<String>,
    /// The active profile there: name, UUID and type.
    pub primary: Option<Primary>,
    pub networking_enabled: bool,
    /// By software; a hardware switch counts too.
    pub wireless_enabled: bool,
    /// Number of checkpoints, of any program, that may revert a change.
    pub checkpoints: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Primary {
    pub name: String,
    pub uuid: String,
    /// "802-3-ethernet".
    pub kind: String,
}

/// NMConnectivityState.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Connectivity {
    /// Nobody has looked.
    Unknown,
    /// No network at all.
    None,
    /// A page wants something first (hotel, café).
    Portal,
    /// A network, but no way to the internet.
    Limited,
    Full,
}

/// `None` when the manager itself is not among the objects.
pub fn of(objects: &Objects) -> Option<NetworkManagerState> {
    let manager = objects.manager()?;
    let primary = manager.object("PrimaryConnection").and_then(|path| objects.of(path, ACTIVE));
    let device = primary.and_then(|active| active.objects("Devices").into_iter().next());
    let text = |name: &str| primary.and_then(|active| active.text(name)).map(str::to_owned);
    let enabled = |name: &str| manager.flag(name).unwrap_or(true);
    Some(NetworkManagerState {
        version: manager.text("Version").unwrap_or("unknown").to_owned(),
        state: state(manager.number("State").unwrap_or(0)),
        connectivity: connectivity(manager.number("Connectivity").unwrap_or(0)),
        primary_interface: device.and_then(|device| objects.interface_of(&device).map(str::to_owned)),
        primary: text("Uuid").map(|uuid| Primary {
            uuid,
            name: text("Id").unwrap_or_default(),
            kind: text("Type").unwrap_or_default(),
        }),
        networking_enabled: enabled("NetworkingEnabled"),
        wireless_enabled: enabled("WirelessEnabled") && enabled("WirelessHardwareEnabled"),
        checkpoints: objects.all(CHECKPOINT).count(),
    })
}

fn state(number: u32) -> &'static str {
    match number {
        10 => "asleep",
        20 => "disconnected",
        30 => "disconnecting",
        40 => "connecting",
        50 => "connected_local",
        60 => "connected_site",
        70 => "connected_global",
        _ => "unknown",
    }
}

fn connectivity(number: u32) -> Connectivity {
    match number {
        1 => Connectivity::None,
        2 => Connectivity::Portal,
        3 => Connectivity::Limited,
        4 => Connectivity::Full,
        _ => Connectivity::Unknown,
    }
}
