//! What may cut this machine off from a router, and says so in words. Rather once too often: what is not understood may match.

use super::{
    super::{
        network::{Network, says},
        plan::{Action, Base, Change, Fields},
    },
    seen::{Seen, is_on, text},
    way::Way,
};
use serde_json::Value;

/// Sentences for those of the changes that may cut this machine off; none for a plan that cannot.
pub fn dangers(way: &Way, seen: &Seen, changes: &[Change], base: &Base) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    if changes.iter().enumerate().any(|(at, change)| may_be_on_the_way(change, base.row(at).map(|row| &row.fields))) {
        all.extend(seen.unread.iter().map(|why| format!("How this machine reaches the router is not known: {why}.")));
    }
    for (at, change) in changes.iter().enumerate() {
        let before = base.row(at).and_then(|row| seen.row(&change.menu, ".id", &row.id));
        let after = after(change, before);
        let sentence = match change.menu.as_str() {
            "ip/firewall/filter" => rule(way, seen, before, after.as_ref()),
            "ip/firewall/address-list" => listed(way, seen, before.or(after.as_ref())),
            "ip/dns" => named(seen),
            "ip/address" => address(way, before, after.as_ref()),
            "ip/route" => route(way, seen, before, after.as_ref()),
            "interface/bridge/port" => port(way, before, after.as_ref()),
            menu if menu == "interface" || menu.starts_with("interface/") => interface(way, menu, before, change),
            _ => None,
        };
        all.extend(sentence.filter(|sentence| !all.contains(sentence)));
    }
    all
}

/// Whether it takes a look at the way to say that a change does not touch it.
fn may_be_on_the_way(change: &Change, before: Option<&Fields>) -> bool {
    let is_elsewhere = |row: &Fields| matches!(row.get("chain").map(String::as_str), Some("forward" | "output"));
    let is_comment = matches!(&change.action, Action::Set(fields) if fields.keys().all(|name| name == "comment"));
    match change.menu.as_str() {
        _ if is_comment => false,
        "ip/firewall/filter" => !(is_elsewhere(&change.after()) && before.is_none_or(is_elsewhere)),
        "ip/address" | "ip/route" => true,
        menu => menu == "interface" || menu.starts_with("interface/"),
    }
}

/// The row as it will be; `None` for one that is removed.
fn after(change: &Change, before: Option<&Value>) -> Option<Value> {
    let given: Fields = match &change.action {
        Action::Remove => return None,
        Action::Add(..) | Action::Set(_) => change.after(),
    };
    let mut row = before.cloned().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    for (name, value) in given {
        // As it is shown.
        let value = match value.as_str() {
            "yes" => "true",
            "no" => "false",
            other => other,
        };
        row[name] = value.into();
    }
    Some(row)
}

fn rule(way: &Way, seen: &Seen, before: Option<&Value>, after: Option<&Value>) -> Option<String> {
    let active = |row: Option<&Value>, actions: &[&str]| {
        row.is_some_and(|row| is_on(row) && actions.contains(&text(row, "action")) && may_match(way, seen, row))
    };
    let drops = ["drop", "reject", "tarpit"];
    let lets_in = ["", "accept", "jump"];
    if active(after, &drops) && !active(before, &drops) {
        return Some("The rule may drop the packets of this machine to the router itself.".into());
    }
    (active(before, &lets_in) && !active(after, &lets_in))
        .then(|| "The rule that is changed or removed may be the one that lets this machine in.".into())
}

/// Whether a rule may match our packets to the router.
fn may_match(way: &Way, seen: &Seen, rule: &Value) -> bool {
    if matches!(text(rule, "chain"), "forward" | "output") {
        return false;
    }
    let fields = rule.as_object().into_iter().flatten().filter_map(|(name, value)| Some((name, value.as_str()?)));
    fields.filter(|(_, value)| !value.is_empty()).all(|(name, value)| {
        let (is_negated, value) = value.strip_prefix('!').map_or((false, value), |rest| (true, rest));
        let matches = match name.as_str() {
            "src-address" => way.here.and_then(|here| says(value, here)),
            "dst-address" => way.there.and_then(|there| says(value, there)),
            "protocol" => Some(matches!(value, "tcp" | "6")),
            "dst-port" => ports(value, way.service),
            "in-interface" => way.interface.as_deref().map(|own| own == value),
            "in-interface-list" => way.interface.as_deref().map(|own| {
                value == "all"
                    || seen
                        .rows("interface/list/member")
                        .any(|row| is_on(row) && row["list"] == value && row["interface"] == own)
            }),
            "src-address-list" => way.here.and_then(|here| in_list(seen, value, here)),
            "connection-state" => Some(value.split(',').any(|state| matches!(state, "new" | "established"))),
            _ => None,
        };
        matches.is_none_or(|matches| matches != is_negated)
    })
}

/// `None`: not understood.
fn ports(text: &str, port: u16) -> Option<bool> {
    let one = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some((first.parse::<u16>().ok()?..=last.parse::<u16>().ok()?).contains(&port))
    };
    let all: Option<Vec<bool>> = text.split(',').map(one).collect();
    Some(all?.contains(&true))
}

/// `None`: a name in the list may be our address.
fn in_list(seen: &Seen, list: &str, here: std::net::IpAddr) -> Option<bool> {
    let entries = seen.rows("ip/firewall/address-list").filter(|row| is_on(row) && row["list"] == list);
    let said: Vec<Option<bool>> = entries.map(|row| says(text(row, "address"), here)).collect();
    if said.contains(&Some(true)) {
        return Some(true);
    }
    (!said.contains(&None)).then_some(false)
}

/// Whether a rule for packets to the router itself names this list.
fn is_ruled_by(seen: &Seen, list: &str) -> bool {
    seen.rows("ip/firewall/filter").any(|rule| {
        let names = ["src-address-list", "dst-address-list"]
            .iter()
            .any(|field| text(rule, field).trim_start_matches('!') == list);
        is_on(rule) && names && !matches!(text(rule, "chain"), "forward" | "output")
    })
}

/// An entry of an address list that a rule of the input chain names, and that says our address.
fn listed(way: &Way, seen: &Seen, entry: Option<&Value>) -> Option<String> {
    let (list, address) = (text(entry?, "list"), text(entry?, "address"));
    let is_ours = way.here.is_none_or(|here| says(address, here) != Some(false));
    (is_ours && is_ruled_by(seen, list)).then(|| {
        format!("Rules for packets to the router itself use the list {list}, and {address} may be this machine.")
    })
}

/// An entry of such a list that is a name: the router asks its DNS servers for the address.
fn named(seen: &Seen) -> Option<String> {
    let says_name = |text: &str| text.bytes().any(|byte| byte.is_ascii_alphabetic()) && !text.contains(':');
    let is_name = |row: &&Value| is_on(row) && says_name(text(row, "address"));
    let mut entries = seen.rows("ip/firewall/address-list").filter(is_name);
    let entry = entries.find(|entry| is_ruled_by(seen, text(entry, "list")))?;
    let (list, name) = (text(entry, "list"), text(entry, "address"));
    Some(format!(
        "Rules for packets to the router itself use the list {list} with the name {name}: servers that do not resolve it may cut this machine off, also later."
    ))
}

fn address(way: &Way, before: Option<&Value>, after: Option<&Value>) -> Option<String> {
    let parsed = |row: Option<&Value>| row.and_then(|row| Network::parse(text(row, "address")));
    if let (Some(old), true) = (parsed(before), after != before) {
        let is_asked = way.there.is_none_or(|there| there == old.address);
        return is_asked.then(|| format!("{} is the router's address that this machine uses.", old.address));
    }
    let (new, here) = (parsed(after)?, way.here?);
    let is_elsewhere = after.is_some_and(|row| way.interface.as_deref() != Some(text(row, "interface")));
    (new.covers(here) && is_elsewhere).then(|| {
        format!("The network {} has this machine in it, and would be reached at another interface.", new.shown())
    })
}

fn route(way: &Way, seen: &Seen, before: Option<&Value>, after: Option<&Value>) -> Option<String> {
    let leads_here = |row: &Value| {
        let network = Network::parse(text(row, "dst-address"))?;
        way.here.is_none_or(|here| network.covers(here)).then_some(network.length)
    };
    // What the router has of itself is not read: of that, its own networks count.
    let static_routes = seen.rows("ip/route").filter(|row| is_on(row)).filter_map(leads_here);
    let connected = seen.rows("ip/address").filter(|row| is_on(row)).filter_map(|row| {
        let network = Network::parse(text(row, "address"))?;
        way.here.is_some_and(|here| network.covers(here)).then_some(network.length)
    });
    let best = static_routes.chain(connected).max();
    let affects = |row: Option<&Value>| {
        let length = row.filter(|row| is_on(row)).and_then(leads_here);
        length.is_some_and(|length| best.is_none_or(|best| length >= best))
    };
    (affects(before) || affects(after)).then(|| "The route decides how the router answers this machine.".into())
}

fn port(way: &Way, before: Option<&Value>, after: Option<&Value>) -> Option<String> {
    let name = text(before.or(after)?, "interface");
    way.passes(name).then(|| format!("This machine reaches the router by {name}."))
}

/// Interfaces, bridges and radios by their names; a new one is on nobody's way.
fn interface(way: &Way, menu: &str, before: Option<&Value>, change: &Change) -> Option<String> {
    let is_comment = matches!(&change.action, Action::Set(fields) if fields.keys().all(|name| name == "comment"));
    let row = before.filter(|_| !is_comment)?;
    let name = text(row, "name");
    // What all radios of this configuration are set to.
    let is_shared =
        menu == "interface/wifi/configuration" && way.port.as_deref().is_some_and(|port| port.starts_with("wifi"));
    (is_shared || menu != "interface/wifi/configuration" && way.passes(name))
        .then(|| format!("This machine reaches the router by {name}."))
}
