//! How RouterOS shows what was sent: it keeps a value, not the text, and prints it in a form of its own. The rules are those of the pairs in
//! `tests/fixtures/routeros/shown.tsv`, each with its public source; what no source shows stays as it was sent.

use crate::duration;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Names that RouterOS prints for numbers of protocols, each with its sources.
const PROTOCOLS: &str = include_str!("../../../tests/fixtures/routeros/protocols.tsv");

/// The name of a protocol with this number; the text itself if there is none.
fn protocol(text: &str) -> &str {
    let rows = PROTOCOLS.lines().skip(1).map(|line| line.split('\t'));
    let mut known = rows.filter_map(|mut row| Some((row.next()?, row.next()?)));
    known.find(|(number, _)| *number == text).map_or(text, |(_, name)| name)
}

/// Lists that are kept as sets, in the order in which they are printed. What is negated comes last.
const SETS: [(&str, &[&str]); 2] = [
    ("connection-state", &["established", "related", "new", "invalid", "untracked"]),
    ("tcp-flags", &["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"]),
];
/// Fields with a time, beside those of which the data says "time interval".
const TIMES: [&str; 8] =
    ["ageing-time", "forward-delay", "interval", "lease-time", "max-message-age", "timeout", "ttl", "delay-threshold"];

/// What a listing shows of `value`, as it was sent for the field `name` of `menu`. `None`: the field is absent from then on.
#[must_use]
pub fn shown(menu: &str, name: &str, value: &str) -> Option<String> {
    let (negation, bare) = match value.strip_prefix('!') {
        Some(bare) => ("!", bare),
        None => ("", value),
    };
    let negated = |text: String| Some(format!("{negation}{text}"));
    let is_firewall = menu.starts_with("ip/firewall/");
    match name {
        _ if bare.is_empty() => Some(value.to_owned()),
        "src-address" | "dst-address" | "to-addresses" if is_firewall => negated(addresses(bare)),
        "address" if menu == "ip/firewall/address-list" => negated(addresses(bare)),
        "address" if menu.starts_with("ipv6/firewall/") => Some(address_6(bare, true)),
        "src-address" | "dst-address" if menu.starts_with("ipv6/firewall/") => negated(address_6(bare, true)),
        "address" if menu == "ipv6/address" => Some(address_6(bare, false)),
        "dst-address" if menu == "ip/route" => Some(network(bare)),
        "address" if menu == "ip/dhcp-server/network" => Some(network(bare)),
        "mac-address" => Some(mac(bare)),
        "servers" | "dns-server" => {
            Some(bare.split(',').map(|one| address_6(one.trim(), false)).collect::<Vec<_>>().join(","))
        }
        "protocol" if is_firewall && bare == "all" => None,
        "protocol" if is_firewall => negated(protocol(bare).to_owned()),
        "limit" if is_firewall && !bare.contains(':') => negated(format!("{bare}:packet")),
        "icmp-options" if !bare.contains(':') => negated(format!("{bare}:0-255")),
        "priority" if menu == "interface/bridge" => Some(hexadecimal(bare, 4)),
        "priority" if menu == "interface/bridge/port" => Some(hexadecimal(bare, 2)),
        "tagged" | "untagged" => Some(bare.split(',').map(str::trim).collect::<Vec<_>>().join(",")),
        "cache-size" if bare.bytes().all(|byte| byte.is_ascii_digit()) => Some(format!("{bare}KiB")),
        "blackhole" => Some(String::new()),
        "start-time" if bare.contains(':') => Some(clock_time(bare)),
        _ if TIMES.contains(&name) => Some(duration::parse(bare).map_or_else(|| value.to_owned(), duration::shown)),
        _ => match SETS.iter().find(|(known, _)| *known == name) {
            // One mark stands before the whole list of states; flags have one each.
            Some((_, order)) if name == "connection-state" => negated(ordered(bare, order)),
            Some((_, order)) => Some(ordered(value, order)),
            None => Some(value.to_owned()),
        },
    }
}

/// The words of a list in the order of `order`, each once: first those that are not negated, then the others, then what is not known.
fn ordered(value: &str, order: &[&str]) -> String {
    let words: Vec<&str> = value.split(',').map(str::trim).collect();
    let known = |word: &&str| order.contains(&word.trim_start_matches('!'));
    let plain = order.iter().copied().filter(|name| words.contains(name)).map(str::to_owned);
    let negated = order.iter().map(|name| format!("!{name}")).filter(|word| words.contains(&word.as_str()));
    let unknown = words.iter().filter(|word| !known(word)).map(|word| (*word).to_owned());
    plain.chain(negated).chain(unknown).collect::<Vec<_>>().join(",")
}

/// An address, a network or a range of a rule or a list.
fn addresses(text: &str) -> String {
    if let Some((first, last)) = text.split_once('-') {
        let (Ok(first), Ok(last)) = (first.parse::<Ipv4Addr>(), last.parse::<Ipv4Addr>()) else {
            return text.to_owned();
        };
        return range(first, last);
    }
    let host = text.strip_suffix("/32").unwrap_or(text);
    if host.contains('/') { network(host) } else { host.to_owned() }
}

/// A range that is a network is shown as one.
fn range(first: Ipv4Addr, last: Ipv4Addr) -> String {
    let (from, to) = (u32::from(first), u32::from(last));
    let size = u64::from(to.wrapping_sub(from)) + 1;
    if from == to {
        return first.to_string();
    }
    if from < to && size.is_power_of_two() && u64::from(from) % size == 0 {
        return format!("{first}/{}", 32 - size.trailing_zeros());
    }
    format!("{first}-{last}")
}

/// A network without the bits of a host, always with its length.
fn network(text: &str) -> String {
    match crate::network::network_of(text) {
        Some((network, length)) => format!("{network}/{length}"),
        None => text.to_owned(),
    }
}

fn address_6(text: &str, with_length: bool) -> String {
    let (address, length) = text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    match (address.parse::<Ipv6Addr>(), length) {
        (Ok(address), Some(length)) => format!("{address}/{length}"),
        (Ok(address), None) if with_length => format!("{address}/128"),
        (Ok(address), None) => address.to_string(),
        (Err(_), _) => text.to_owned(),
    }
}

fn mac(text: &str) -> String {
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).map(|c| c.to_ascii_uppercase()).collect();
    if digits.len() != 12 {
        return text.to_owned();
    }
    let pairs: Vec<&str> = (0..6).map(|at| &digits[at * 2..at * 2 + 2]).collect();
    pairs.join(":")
}

fn hexadecimal(text: &str, digits: usize) -> String {
    text.parse::<u32>().map_or_else(|_| text.to_owned(), |number| format!("0x{number:0digits$X}"))
}

/// Hours, minutes and seconds, each with two digits.
fn clock_time(text: &str) -> String {
    let parts: Option<Vec<u32>> = text.split(':').map(|part| part.parse().ok()).collect();
    match parts.as_deref() {
        Some([hours, minutes]) => format!("{hours:02}:{minutes:02}:00"),
        Some([hours, minutes, seconds]) => format!("{hours:02}:{minutes:02}:{seconds:02}"),
        _ => text.to_owned(),
    }
}
