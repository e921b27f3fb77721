//! One value in two forms: as it was sent, and as a router shows it (`tests/fixtures/routeros/shown.tsv`).

use crate::routeros::{
    network::{Network, range},
    value::nanoseconds,
};
use std::{borrow::Cow, collections::BTreeSet, net::IpAddr};

/// Numbers of protocols that a router shows by their names: all that RouterOS 7.21.4 names.
const PROTOCOLS: [(&str, &str); 38] = [
    ("1", "icmp"),
    ("2", "igmp"),
    ("3", "ggp"),
    ("4", "ipencap"),
    ("5", "st"),
    ("6", "tcp"),
    ("8", "egp"),
    ("12", "pup"),
    ("17", "udp"),
    ("20", "hmp"),
    ("22", "xns-idp"),
    ("27", "rdp"),
    ("29", "iso-tp4"),
    ("33", "dccp"),
    ("36", "xtp"),
    ("37", "ddp"),
    ("38", "idpr-cmtp"),
    ("41", "ipv6-encap"),
    ("43", "ipv6-route"),
    ("44", "ipv6-frag"),
    ("46", "rsvp"),
    ("47", "gre"),
    ("50", "ipsec-esp"),
    ("51", "ipsec-ah"),
    ("58", "icmpv6"),
    ("59", "ipv6-nonxt"),
    ("60", "ipv6-opts"),
    ("73", "rspf"),
    ("81", "vmtp"),
    ("89", "ospf"),
    ("94", "ipip"),
    ("97", "etherip"),
    ("98", "encap"),
    ("103", "pim"),
    ("112", "vrrp"),
    ("115", "l2tp"),
    ("132", "sctp"),
    ("136", "udp-lite"),
];

/// Whether a router that shows `shown` for the field `name` holds what `wanted` says. Flags are shown as `true` and taken as `yes`.
pub fn is_same(name: &str, shown: &str, wanted: &str) -> bool {
    shown == wanted
        || matches!((shown, wanted), ("true", "yes") | ("false" | "", "no" | "false"))
        || normalized_form(name, shown) == normalized_form(name, wanted)
}

/// A value as a router shows it, as far as that is known; otherwise the value itself.
pub fn normalized_form<'a>(name: &str, value: &'a str) -> Cow<'a, str> {
    let (not, bare) = value.strip_prefix('!').map_or(("", value), |rest| ("!", rest));
    let negated = |text: String| Cow::Owned(format!("{not}{text}"));
    match name {
        "protocol" if bare == "all" => Cow::Borrowed(""),
        "protocol" => match PROTOCOLS.iter().find(|(number, _)| *number == bare) {
            Some((_, known)) => negated((*known).to_owned()),
            None => Cow::Borrowed(value),
        },
        "address" | "src-address" | "dst-address" | "to-addresses" => match Network::parse(bare) {
            // That of an interface has the bits of a host.
            Some(own) if name == "address" && !own.is_one() => negated(format!("{}/{}", own.address, own.length)),
            _ => addresses(bare).map_or(Cow::Borrowed(value), negated),
        },
        "servers" | "dns-server" | "gateway" => Cow::Owned(bare.split(',').map(address).collect::<Vec<_>>().join(",")),
        "dst-port" | "src-port" | "ranges" | "tagged" | "untagged" => {
            negated(bare.split(',').map(str::trim).collect::<Vec<_>>().join(","))
        }
        // One mark stands before the whole list of states; flags have one each.
        "connection-state" => negated(as_set(bare)),
        "tcp-flags" => Cow::Owned(as_set(value)),
        "lease-time" | "timeout" | "ttl" | "interval" => {
            let seconds = value.parse::<u64>().ok().map(|seconds| seconds * 1_000_000_000);
            match seconds.or_else(|| nanoseconds(value)) {
                Some(time) => Cow::Owned(format!("{time}ns")),
                None => Cow::Borrowed(value),
            }
        }
        _ => Cow::Borrowed(value),
    }
}

/// The words of a list in one order, each once.
fn as_set(list: &str) -> String {
    let words: BTreeSet<&str> = list.split(',').map(str::trim).collect();
    words.into_iter().collect::<Vec<_>>().join(",")
}

/// An address without the length of a single one; a network without the bits of a host; a range that is one of both as that.
fn addresses(text: &str) -> Option<String> {
    let network = match text.split_once('-') {
        Some(_) => {
            let (first, last) = range(text)?;
            let Some(network) = spanned(first, last) else { return Some(format!("{first}-{last}")) };
            network
        }
        None => Network::parse(text)?,
    };
    Some(if network.is_one() { network.address.to_string() } else { network.shown() })
}

/// The network that begins and ends with these addresses.
fn spanned(first: IpAddr, last: IpAddr) -> Option<Network> {
    let (IpAddr::V4(from), IpAddr::V4(to)) = (first, last) else { return None };
    let (from, to) = (u32::from(from), u32::from(to));
    let size = u64::from(to.checked_sub(from)?) + 1;
    let is_network = size.is_power_of_two() && u64::from(from) % size == 0;
    let length = 32 - u8::try_from(size.trailing_zeros()).ok()?;
    is_network.then_some(Network { address: first, length })
}

fn address(text: &str) -> String {
    let text = text.trim();
    text.parse::<IpAddr>().map_or_else(|_| text.to_owned(), |address| address.to_string())
}
