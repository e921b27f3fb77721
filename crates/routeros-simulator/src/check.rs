//! Values that a menu does not take, in the words of RouterOS as far as we know them.

use crate::{
    derived::INTERFACES,
    duration,
    menus::{Menu, Verb},
    network::{covers, network_of},
    shown::shown,
    state::State,
    table::Row,
};
use serde_json::{Map, Value};

/// Parameters whose enumeration in the data is closed; others name what the router of the data happened to have.
const CLOSED: [&str; 14] = [
    "action",
    "band",
    "channel.band",
    "check-gateway",
    "configuration.mode",
    "connection-state",
    "frame-types",
    "hide-ssid",
    "mode",
    "policy",
    "protocol-mode",
    "reject-with",
    "tx-power-mode",
    "type",
];
/// Parameters that name a row of another menu: menu, parameter, menu of the rows.
const REFERENCES: [(&str, &str, &str); 16] = [
    ("ip/address", "interface", "interface"),
    ("ip/arp", "interface", "interface"),
    ("ip/dhcp-client", "interface", "interface"),
    ("ip/dhcp-server", "interface", "interface"),
    ("ip/dhcp-server", "address-pool", "ip/pool"),
    ("ip/dhcp-server/lease", "server", "ip/dhcp-server"),
    ("interface/bridge/port", "bridge", "interface/bridge"),
    ("interface/bridge/port", "interface", "interface"),
    ("interface/bridge/vlan", "bridge", "interface/bridge"),
    ("interface/list/member", "interface", "interface"),
    ("interface/list/member", "list", "interface/list"),
    ("interface/vlan", "interface", "interface"),
    ("interface/wireless", "security-profile", "interface/wireless/security-profiles"),
    ("interface/wifi", "configuration", "interface/wifi/configuration"),
    ("interface/wifi/configuration", "security", "interface/wifi/security"),
    ("user", "group", "user/group"),
];
/// What `add` has to have.
const REQUIRED: [(&str, &[&str]); 13] = [
    ("ip/address", &["address", "interface"]),
    ("ip/pool", &["name", "ranges"]),
    ("ip/dhcp-server", &["interface"]),
    ("ip/dhcp-server/network", &["address"]),
    ("ip/firewall/address-list", &["list", "address"]),
    ("ip/firewall/filter", &["chain"]),
    ("ip/firewall/nat", &["chain"]),
    ("interface/bridge/port", &["bridge", "interface"]),
    ("interface/vlan", &["interface", "vlan-id"]),
    ("system/scheduler", &["name"]),
    ("system/script", &["name"]),
    ("user", &["name", "group"]),
    ("ip/dns/static", &["address"]),
];
/// Two rows that agree in these are one too many, and what RouterOS says then.
const UNIQUE: [(&str, &[&str], &str); 8] = [
    ("ip/address", &["address", "interface"], "already have such address"),
    ("ip/pool", &["name"], "pool with such name exists"),
    ("ip/firewall/address-list", &["list", "address"], "already have such entry"),
    ("interface/bridge/port", &["interface"], "device already added as bridge port"),
    ("system/scheduler", &["name"], "item with this name already exists"),
    ("system/script", &["name"], "item with this name already exists"),
    ("user", &["name"], "user with the same name already exists"),
    ("ip/dhcp-server", &["name"], "server with such name already exists"),
];

/// The parameters as they are shown afterwards, such as `true` for `yes`; `None` for a field that is absent then.
///
/// # Errors
/// The `detail` of a 400.
pub(crate) fn parameters(
    state: &State,
    menu: Menu,
    verb: Verb,
    given: &Map<String, Value>,
) -> Result<Vec<(String, Option<String>)>, String> {
    let mut checked = Vec::new();
    for (name, value) in given {
        if matches!(name.as_str(), ".id" | "numbers" | "place-before") {
            continue;
        }
        let Some(parameter) = menu.parameter(verb, name) else { return Err(format!("unknown parameter {name}")) };
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            _ => return Err(format!("invalid value for argument {name}")),
        };
        let value = one(state, menu, name, parameter, value)?;
        checked.push((name.clone(), shown(menu.path, name, &value)));
    }
    if verb == Verb::Add {
        let required = REQUIRED.iter().find(|(path, _)| *path == menu.path).map_or(&[][..], |(_, names)| *names);
        let missing: Vec<&str> = required.iter().copied().filter(|name| !given.contains_key(*name)).collect();
        if !missing.is_empty() {
            return Err(format!("missing value(s) of argument(s) {}", missing.join(" ")));
        }
    }
    Ok(checked)
}

fn one(state: &State, menu: Menu, name: &str, parameter: &Value, value: String) -> Result<String, String> {
    let wrong = || format!("invalid value for argument {name}");
    let unmatched = || format!("input does not match any value of {name}");
    let words: Option<Vec<&str>> =
        parameter["enum"].as_array().map(|all| all.iter().filter_map(Value::as_str).collect());
    if let Some(words) = &words {
        if words[..] == ["no", "yes"] {
            return match value.as_str() {
                "yes" | "true" => Ok("true".into()),
                "no" | "false" => Ok("false".into()),
                _ => Err(unmatched()),
            };
        }
        let known = |part: &str| words.contains(&part.trim_start_matches('!'));
        if CLOSED.contains(&name) && !value.split(',').all(known) {
            return Err(unmatched());
        }
    }
    if let Some((_, _, path)) = REFERENCES.iter().find(|(path, parameter, _)| *path == menu.path && *parameter == name)
        && !matches!(value.as_str(), "" | "all" | "none" | "static-only" | "static")
        && !state.rows(path).iter().any(|row| row.get("name") == value)
    {
        return Err(unmatched());
    }
    let description = parameter["desc"].as_str().unwrap_or_default();
    if let Some(most) = description.split("max length ").nth(1).and_then(|most| most.parse::<usize>().ok())
        && value.len() > most
    {
        return Err(format!("{name} is too long"));
    }
    let bare = value.trim_start_matches('!');
    let fits = match (menu.path, name) {
        ("ip/address" | "ip/dhcp-server/network", "address") | ("ip/route", "dst-address") => {
            network_of(bare).is_some()
        }
        ("ip/route", "gateway") => bare.parse::<std::net::Ipv4Addr>().is_ok() || state.interface(bare).is_some(),
        ("ip/route", "distance") => bare.parse::<u8>().is_ok_and(|distance| distance > 0),
        ("ip/firewall/filter" | "ip/firewall/nat", "src-address" | "dst-address") => {
            bare.is_empty() || is_address(bare)
        }
        ("ip/firewall/filter" | "ip/firewall/nat", "src-port" | "dst-port") => {
            bare.is_empty() || bare.split([',', '-']).all(|port| port.parse::<u16>().is_ok())
        }
        ("ip/firewall/filter" | "ip/firewall/nat", "protocol") => bare != "0" && !bare.contains(' '),
        ("ip/firewall/address-list", "address") => is_address(bare) || is_host(bare),
        ("ip/pool", "ranges") => bare.split(',').all(is_address),
        ("ip/dns" | "system/ntp/client", "servers") => {
            bare.is_empty()
                || bare.split(',').all(|server| {
                    is_address(server)
                        || server.parse::<std::net::Ipv6Addr>().is_ok()
                        || menu.path != "ip/dns" && is_host(server)
                })
        }
        _ if description.contains("time interval") => bare == "none" || duration::parse(bare).is_some(),
        _ => true,
    };
    if fits { Ok(value) } else { Err(wrong()) }
}

/// An address, a network or a range.
fn is_address(text: &str) -> bool {
    let Some(first) = text.split(['/', '-']).next().and_then(|first| first.parse().ok()) else { return false };
    network_of(text).is_some() || text.contains('-') && covers(text, first)
}

fn is_host(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '-')
        && text.chars().any(|c| c.is_ascii_alphabetic())
}

/// What is wrong with a row beside the others of its menu.
///
/// # Errors
/// The `detail` of a 400.
pub(crate) fn unique(state: &State, path: &str, row: &Row) -> Result<(), String> {
    let name = row.get("name");
    let is_interface = INTERFACES.iter().any(|(known, _)| *known == path);
    if is_interface && state.interface(name).is_some_and(|other| other.id != row.id) {
        return Err("failure: already have interface with such name".into());
    }
    let Some((_, fields, words)) = UNIQUE.iter().find(|(known, ..)| *known == path) else { return Ok(()) };
    let same = |other: &&Row| other.id != row.id && fields.iter().all(|field| other.get(field) == row.get(field));
    if state.stored(path).iter().any(|other| same(&other)) { Err(format!("failure: {words}")) } else { Ok(()) }
}
