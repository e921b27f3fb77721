//! Interfaces in `system.get_network_info`, `system.get_detailed_network_info` and `network.get_status`
//! (docs/contract/system.md).

use crate::services::Services;
use base::{
    error::ToolError,
    os::{
        Root,
        net::{
            address::{self, Scope},
            interface::{self, InterfaceKind, OperState},
            resolver,
            route::{self, Defaults, Route},
            wireless,
        },
        net_dev,
        network_manager::radio::{self, Radio},
    },
};
use hw::machine::unreadable;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Most addresses listed for one interface and family.
const ADDRESSES: usize = 32;

/// A network interface.
#[derive(Serialize, JsonSchema)]
pub struct InterfaceInfo {
    pub name: String,
    /// Zeros for an interface that has none (tunnels).
    #[schemars(regex(pattern = "^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$"))]
    mac_address: String,
    /// Largest packet, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    mtu: Option<u32>,
    /// unknown: the driver keeps no such state (loopback, tunnels).
    pub state: LinkState,
    /// Beyond document 000.
    #[serde(rename = "type")]
    kind: InterfaceType,
    /// Beyond document 000: megabits a second, where the driver tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    speed_mbps: Option<u32>,
    pub ipv4_addresses: Vec<Address4>,
    pub ipv6_addresses: Vec<Address6>,
    /// Since the interface came up. Absent for the loopback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Statistics")]
    statistics: Option<Statistics>,
    /// Beyond document 000: the Wi-Fi network it is in, as far as the driver and NetworkManager tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Wifi")]
    wifi: Option<Wifi>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkState {
    Up,
    Down,
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InterfaceType {
    Ethernet,
    Wifi,
    Loopback,
    Bridge,
    Vlan,
    Virtual,
    Tunnel,
    Other,
}

#[derive(Serialize, JsonSchema)]
pub struct Address4 {
    #[schemars(extend("format" = "ipv4"))]
    pub address: String,
    #[schemars(extend("format" = "ipv4"))]
    netmask: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "ipv4"))]
    broadcast: Option<String>,
    /// Beyond document 000: the netmask as a number of bits.
    #[schemars(range(min = 0, max = 32))]
    pub prefix_length: u8,
}

#[derive(Serialize, JsonSchema)]
pub struct Address6 {
    #[schemars(extend("format" = "ipv6"))]
    pub address: String,
    #[schemars(range(min = 0, max = 128))]
    pub prefix_length: u8,
    pub scope: AddressScope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AddressScope {
    Global,
    Link,
    Host,
}

#[derive(Serialize, JsonSchema)]
struct Statistics {
    bytes_sent: u64,
    bytes_recv: u64,
    packets_sent: u64,
    packets_recv: u64,
    errors_in: u64,
    errors_out: u64,
    drops_in: u64,
    drops_out: u64,
}

#[derive(Serialize, JsonSchema)]
struct Wifi {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    ssid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    bssid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    frequency_mhz: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    signal_dbm: Option<f64>,
    /// As NetworkManager rates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u8", range(min = 0, max = 100))]
    signal_percent: Option<u8>,
}

/// Where what has no way of its own goes.
#[derive(Clone, Serialize, JsonSchema)]
pub struct Gateway {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "ipv4"))]
    ipv4: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "ipv6"))]
    ipv6: Option<String>,
    /// The one of the IPv4 route, else of the IPv6 route.
    interface: String,
}

/// Everything read for an answer about the network.
pub struct NetworkInfo {
    pub interfaces: Vec<InterfaceInfo>,
    /// Interfaces omitted beyond the first 128.
    pub omitted: usize,
    pub routes: Vec<Route>,
    pub defaults: Defaults,
    pub dns_servers: Vec<String>,
    /// Parts that exist but could not be read.
    pub unreadable: BTreeMap<&'static str, String>,
}

impl NetworkInfo {
    /// Reads everything; the Wi-Fi part from NetworkManager, if it runs.
    ///
    /// # Errors
    /// `capability_missing` or `unavailable` if the interfaces cannot be listed.
    pub async fn read(services: &Services) -> Result<Self, ToolError> {
        let root = &services.machine.root;
        let (known, all) = interface::read(root).map_err(|fault| unreadable("the list of interfaces", &fault))?;
        let mut faults = BTreeMap::new();
        let mut or_none = |what: &'static str, fault: String| drop(faults.insert(what, fault));
        let v4 = address::v4(root).unwrap_or_else(|fault| {
            or_none("ipv4_addresses", fault.to_string());
            Vec::new()
        });
        let v6 = address::v6(root).unwrap_or_else(|fault| {
            or_none("ipv6_addresses", fault.to_string());
            Vec::new()
        });
        let traffic = net_dev::read(root).unwrap_or_else(|fault| {
            or_none("statistics", fault.to_string());
            Vec::new()
        });
        let routes = route::read(root).unwrap_or_else(|fault| {
            or_none("default_gateway", fault.to_string());
            Vec::new()
        });
        let dns_servers = resolver::servers(root).unwrap_or_else(|fault| {
            or_none("dns_servers", fault.to_string());
            Vec::new()
        });
        // Do not query NetworkManager on a machine without Wi-Fi.
        let radios = match known.iter().any(|each| each.kind == InterfaceKind::Wifi) {
            true => radio::all(&services.machine.bus).await.unwrap_or_else(|fault| {
                // Missing NetworkManager is not a fault: only less is known.
                if fault.code != base::error::ErrorCode::CapabilityMissing {
                    or_none("wifi", fault.into_message());
                }
                Vec::new()
            }),
            false => Vec::new(),
        };
        let omitted = all - known.len();
        let interfaces = known
            .into_iter()
            .map(|each| {
                let mine = v4.iter().filter(|address| address.index == each.index);
                let mine6 = v6.iter().filter(|address| address.interface == each.name);
                let counters = traffic.iter().find(|counters| counters.name == each.name);
                let radio = radios.iter().find(|radio| radio.interface == each.name);
                InterfaceInfo {
                    ipv4_addresses: mine.take(ADDRESSES).map(Address4::from).collect(),
                    ipv6_addresses: mine6.take(ADDRESSES).map(Address6::from).collect(),
                    statistics: counters.map(Statistics::from),
                    wifi: (each.kind == InterfaceKind::Wifi).then(|| Wifi::of(root, &each.name, radio)).flatten(),
                    name: each.name,
                    mac_address: each.mac,
                    mtu: each.mtu,
                    state: each.state.into(),
                    kind: each.kind.into(),
                    speed_mbps: each.megabits,
                }
            })
            .collect();
        let defaults = Defaults::of(&routes);
        Ok(Self { interfaces, omitted, routes, defaults, dns_servers, unreadable: faults })
    }

    /// The default gateway, if there is a default route.
    pub fn gateway(&self) -> Option<Gateway> {
        let of = |route: &Option<Route>| route.as_ref().and_then(|route| route.gateway).map(|via| via.to_string());
        Some(Gateway {
            ipv4: of(&self.defaults.v4),
            ipv6: of(&self.defaults.v6),
            interface: self.defaults.interface()?.to_owned(),
        })
    }
}

impl Wifi {
    /// `None` if nothing is known: the radio is not connected.
    fn of(root: &Root, interface: &str, radio: Option<&Radio>) -> Option<Self> {
        let signal_dbm = wireless::signal_dbm(root, interface).ok().flatten();
        (signal_dbm.is_some() || radio.is_some()).then(|| Self {
            ssid: radio.map(|radio| radio.ssid.clone()),
            bssid: radio.map(|radio| radio.bssid.clone()),
            frequency_mhz: radio.map(|radio| radio.frequency_mhz),
            signal_dbm,
            signal_percent: radio.map(|radio| radio.strength.min(100)),
        })
    }
}

impl From<&address::V4> for Address4 {
    fn from(from: &address::V4) -> Self {
        Self {
            address: from.address.to_string(),
            netmask: from.netmask().to_string(),
            broadcast: from.broadcast.map(|address| address.to_string()),
            prefix_length: from.prefix,
        }
    }
}

impl From<&address::V6Address> for Address6 {
    fn from(from: &address::V6Address) -> Self {
        let scope = match from.scope {
            Scope::Global => AddressScope::Global,
            Scope::Link => AddressScope::Link,
            Scope::Host => AddressScope::Host,
        };
        Self { address: from.address.to_string(), prefix_length: from.prefix, scope }
    }
}

impl From<&net_dev::InterfaceCounters> for Statistics {
    fn from(from: &net_dev::InterfaceCounters) -> Self {
        Self {
            bytes_sent: from.sent.bytes,
            bytes_recv: from.received.bytes,
            packets_sent: from.sent.packets,
            packets_recv: from.received.packets,
            errors_in: from.received.errors,
            errors_out: from.sent.errors,
            drops_in: from.received.drops,
            drops_out: from.sent.drops,
        }
    }
}

impl From<OperState> for LinkState {
    fn from(state: OperState) -> Self {
        match state {
            OperState::Up => Self::Up,
            OperState::Down => Self::Down,
            OperState::Unknown => Self::Unknown,
        }
    }
}

impl From<InterfaceKind> for InterfaceType {
    fn from(kind: InterfaceKind) -> Self {
        match kind {
            InterfaceKind::Ethernet => Self::Ethernet,
            InterfaceKind::Wifi => Self::Wifi,
            InterfaceKind::Loopback => Self::Loopback,
            InterfaceKind::Bridge => Self::Bridge,
            InterfaceKind::Vlan => Self::Vlan,
            InterfaceKind::Virtual => Self::Virtual,
            InterfaceKind::Tunnel => Self::Tunnel,
            InterfaceKind::Other => Self::Other,
        }
    }
}
