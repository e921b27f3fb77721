//! Whether the one client of the router comes through: its port, its bridge, the address it asks, the way back, the service,
//! and the input chain. What is not modelled: ARP, VLANs on a trunk, IPv6, connection tracking beyond "new" and "established".

use crate::{
    commands::answers,
    network::{covers, network_of},
    state::State,
    table::Row,
};
use std::net::Ipv4Addr;

/// Where the client is.
pub const CLIENT: Ipv4Addr = Ipv4Addr::new(192, 168, 88, 10);
/// The name of the client.
pub const CLIENT_NAME: &str = "pi.example";
/// The address it asks.
pub const TARGET: Ipv4Addr = Ipv4Addr::new(192, 168, 88, 1);
/// The port that it is plugged into.
pub const PORT: &str = "ether2";
/// The service it uses.
pub const SERVICE_PORT: &str = "443";
/// Chains that jump into each other end somewhere.
const DEEPEST: u32 = 10;

pub(crate) fn admits(state: &State, is_new: bool) -> bool {
    let Some(interface) = arrives_at(state) else { return false };
    answers_at(state, &interface)
        && returns_by(state, &interface)
        && is_served(state)
        && accepts(state, "input", &interface, is_new, 0).unwrap_or(true)
}

/// The interface at which a packet of the client arrives: the bridge of its port, or the port.
fn arrives_at(state: &State) -> Option<String> {
    state.interface(PORT).filter(|row| row.is_enabled())?;
    let mut ports =
        state.stored("interface/bridge/port").iter().filter(|row| row.is_enabled() && row.get("interface") == PORT);
    let Some(port) = ports.next() else { return Some(PORT.to_owned()) };
    let bridge = state.stored("interface/bridge").iter().find(|row| row.get("name") == port.get("bridge"))?;
    if bridge.is("vlan-filtering") && port.get("pvid") != bridge.get("pvid") {
        return None;
    }
    bridge.is_enabled().then(|| bridge.get("name").to_owned())
}

fn answers_at(state: &State, interface: &str) -> bool {
    let has = |row: &&Row| row.is_enabled() && row.get("interface") == interface;
    state
        .stored("ip/address")
        .iter()
        .filter(has)
        .any(|row| row.get("address").split('/').next() == Some(&TARGET.to_string()))
}

/// Whether the most specific route to the client leads where it is.
fn returns_by(state: &State, interface: &str) -> bool {
    let routes = state.routes_to(|destination| covers(destination, CLIENT));
    let to_client = routes.iter().filter(|row| row.is_enabled());
    let best = to_client.max_by_key(|row| {
        let length = network_of(row.get("dst-address")).map_or(0, |(_, length)| length);
        (length, u8::MAX - row.get("distance").parse::<u8>().unwrap_or(1))
    });
    best.is_some_and(|row| !row.fields.contains_key("blackhole") && row.get("gateway") == interface)
}

fn is_served(state: &State) -> bool {
    state.stored("ip/service").iter().any(|row| {
        let listens = row.get("name") == "www-ssl" && row.is_enabled() && row.get("port") == SERVICE_PORT;
        listens && (row.get("address").is_empty() || covers(row.get("address"), CLIENT))
    })
}

/// What a chain says; `None`: it goes back to where it was called from.
fn accepts(state: &State, chain: &str, interface: &str, is_new: bool, depth: u32) -> Option<bool> {
    let rules =
        state.stored("ip/firewall/filter").iter().filter(|rule| rule.is_enabled() && rule.get("chain") == chain);
    for rule in rules.filter(|rule| matches(state, rule, interface, is_new)) {
        match rule.get("action") {
            "" | "accept" => return Some(true),
            "drop" | "reject" | "tarpit" => return Some(false),
            "return" => return None,
            "jump" if depth < DEEPEST => {
                if let Some(verdict) = accepts(state, rule.get("jump-target"), interface, is_new, depth + 1) {
                    return Some(verdict);
                }
            }
            // Others look and let it pass.
            _ => {}
        }
    }
    None
}

/// Fields of a rule that match nothing: what it does, and counters.
const NO_MATCHERS: [&str; 13] = [
    "chain",
    "action",
    "comment",
    "disabled",
    "invalid",
    "dynamic",
    "log",
    "log-prefix",
    "bytes",
    "packets",
    "jump-target",
    "reject-with",
    "address-list",
];

fn matches(state: &State, rule: &Row, interface: &str, is_new: bool) -> bool {
    rule.fields.keys().filter(|name| !NO_MATCHERS.contains(&name.as_str()) && !rule.get(name).is_empty()).all(|name| {
        let (negated, value) = rule.get(name).strip_prefix('!').map_or((false, rule.get(name)), |rest| (true, rest));
        negated
            != match name.as_str() {
                "src-address" => covers(value, CLIENT),
                "dst-address" => covers(value, TARGET),
                "protocol" => matches!(value, "tcp" | "6"),
                "dst-port" => value.split(',').any(|part| in_range(part, SERVICE_PORT)),
                "in-interface" => value == interface,
                "in-interface-list" => value == "all" || is_member(state, value, interface),
                "src-address-list" => state
                    .stored("ip/firewall/address-list")
                    .iter()
                    .any(|row| row.is_enabled() && row.get("list") == value && is_client(state, row.get("address"))),
                "connection-state" => value.split(',').any(|one| one == if is_new { "new" } else { "established" }),
                // A matcher that is not modelled matches nothing.
                _ => negated,
            }
    })
}

/// Whether an entry of an address list is the client. RouterOS resolves names in lists: [`CLIENT_NAME`] is the client's, as long
/// as one of the DNS servers answers. Here that counts at once; a router asks again when the entry's time to live is over.
fn is_client(state: &State, address: &str) -> bool {
    let servers = state.singletons.get("ip/dns").and_then(|dns| dns["servers"].as_str()).unwrap_or_default();
    let resolves = servers.is_empty() || servers.split(',').any(answers);
    covers(address, CLIENT) || address == CLIENT_NAME && resolves
}

fn in_range(part: &str, port: &str) -> bool {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let [first, last, port] = [first, last, port].map(|text| text.parse::<u16>().unwrap_or(0));
    first <= port && port <= last
}

fn is_member(state: &State, list: &str, interface: &str) -> bool {
    state
        .stored("interface/list/member")
        .iter()
        .any(|row| row.is_enabled() && row.get("list") == list && row.get("interface") == interface)
}
