//! Routes: `/proc/net/route` and `/proc/net/ipv6_route` (proc_net(5), `net/ipv6/route.c`).

use crate::os::{Root, if_there, malformed};
use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

const V4: &str = "proc/net/route";
const V6: &str = "proc/net/ipv6_route";

/// Flags as `route -n` prints them (linux/route.h, linux/ipv6_route.h).
const LETTERS: [(u32, char); 7] =
    [(0x1, 'U'), (0x2, 'G'), (0x4, 'H'), (0x8, 'R'), (0x10, 'D'), (0x20, 'M'), (0x200, '!')];
const UP: u32 = 0x1;
const GATEWAY: u32 = 0x2;
const REJECT: u32 = 0x200;
/// Routes to the machine's own addresses, and learnt exceptions.
const OWN: u32 = 0x8000_0000;
const ANYCAST: u32 = 0x0010_0000;
const CACHE: u32 = 0x0100_0000;

/// One route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub destination: IpAddr,
    /// 0-32, or 0-128.
    pub prefix: u8,
    /// `None` when the destination is on the link itself.
    pub gateway: Option<IpAddr>,
    /// "UG": see `LETTERS`.
    pub flags: String,
    /// The route with the smallest metric is used.
    pub metric: u32,
    pub interface: String,
    usable: bool,
}

impl Route {
    /// Whether it is a default route.
    pub fn is_default(&self) -> bool {
        self.prefix == 0 && self.usable
    }
}

/// The default route of each family, with the smallest metric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Defaults {
    pub v4: Option<Route>,
    pub v6: Option<Route>,
}

impl Defaults {
    pub fn of(routes: &[Route]) -> Self {
        let best = |v4: bool| {
            let mine = routes.iter().filter(|route| route.is_default() && route.destination.is_ipv4() == v4);
            mine.min_by_key(|route| route.metric).cloned()
        };
        Self { v4: best(true), v6: best(false) }
    }
    /// The interface of the default route.
    pub fn interface(&self) -> Option<&str> {
        self.v4.as_ref().or(self.v6.as_ref()).map(|route| route.interface.as_str())
    }
}

/// The routes of the main table, IPv4 before IPv6, without those to this machine itself and to multicast groups. A
/// family that the kernel lacks has none.
///
/// # Errors
/// `InvalidData` when a line is not a route.
pub fn read(root: &Root) -> io::Result<Vec<Route>> {
    let mut routes = Vec::new();
    if let Some(text) = if_there(root.read(V4))? {
        for line in text.lines().skip(1) {
            routes.push(line_v4(line).ok_or_else(|| malformed(V4, "a line is no route"))?);
        }
    }
    if let Some(text) = if_there(root.read(V6))? {
        for line in text.lines() {
            routes.extend(line_v6(line).ok_or_else(|| malformed(V6, "a line is no route"))?);
        }
    }
    Ok(routes)
}

/// "eth0 00000000 0101A8C0 0003 0 0 100 00000000 0 0 0": interface, destination, gateway, flags, two counters, metric,
/// mask. Addresses are in memory order, printed as one number.
fn line_v4(line: &str) -> Option<Route> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [interface, destination, gateway, flags, _, _, metric, mask, ..] = fields[..] else { return None };
    let flags = u32::from_str_radix(flags, 16).ok()?;
    Some(Route {
        destination: v4_hex(destination)?.into(),
        prefix: u8::try_from(v4_hex(mask)?.to_bits().count_ones()).ok()?,
        gateway: (flags & GATEWAY != 0).then_some(v4_hex(gateway)?.into()),
        flags: letters(flags),
        metric: metric.parse().ok()?,
        interface: interface.to_owned(),
        usable: flags & UP != 0 && flags & REJECT == 0,
    })
}

/// Destination and its prefix, source and its prefix, next hop, metric, two counters, flags, interface. The inner
/// `None` is a route that is skipped.
fn line_v6(line: &str) -> Option<Option<Route>> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [destination, prefix, _, _, hop, metric, _, _, flags, interface] = fields[..] else { return None };
    let destination = v6_hex(destination)?;
    let hop = v6_hex(hop)?;
    let flags = u32::from_str_radix(flags, 16).ok()?;
    let route = Route {
        destination: destination.into(),
        prefix: u8::from_str_radix(prefix, 16).ok().filter(|prefix| *prefix <= 128)?,
        gateway: (flags & GATEWAY != 0).then_some(hop.into()),
        flags: letters(flags),
        metric: u32::from_str_radix(metric, 16).ok()?,
        interface: interface.to_owned(),
        usable: flags & UP != 0 && flags & REJECT == 0,
    };
    let own = flags & (OWN | ANYCAST | CACHE) != 0 || destination.is_multicast() || destination.is_loopback();
    // Without a default route the kernel lists a rejecting one, on lo.
    Some((!own && interface != "lo").then_some(route))
}

fn v4_hex(digits: &str) -> Option<Ipv4Addr> {
    let bytes = u32::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 8)?;
    Some(Ipv4Addr::from(bytes.to_ne_bytes()))
}

/// 32 hexadecimal digits, the address in network order.
pub(super) fn v6_hex(digits: &str) -> Option<Ipv6Addr> {
    let whole = digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    whole.then(|| u128::from_str_radix(digits, 16).ok()).flatten().map(Ipv6Addr::from_bits)
}

fn letters(flags: u32) -> String {
    LETTERS.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, letter)| letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mask of 192.0.2.0/24 as this machine's kernel prints it.
    fn hex(address: [u8; 4]) -> String {
        format!("{:08X}", u32::from_ne_bytes(address))
    }

    fn v4(interface: &str, destination: [u8; 4], gateway: [u8; 4], flags: &str, metric: u32, mask: [u8; 4]) -> String {
        let [destination, gateway, mask] = [destination, gateway, mask].map(hex);
        format!("{interface}\t{destination}\t{gateway}\t{flags}\t0\t0\t{metric}\t{mask}\t0\t0\t0   ")
    }

    #[test]
    fn v4_routes() {
        let route = line_v4(&v4("eth0", [0; 4], [192, 0, 2, 1], "0003", 100, [0; 4])).unwrap();
        assert!(route.is_default());
        assert_eq!((route.gateway, route.flags.as_str()), (Some("192.0.2.1".parse().unwrap()), "UG"));
        let link = line_v4(&v4("eth0", [192, 0, 2, 0], [0; 4], "0001", 100, [255, 255, 255, 0])).unwrap();
        assert_eq!((link.gateway, link.prefix, link.is_default()), (None, 24, false));
        for bad in ["", "eth0", "eth0 0 0 3 0 0 0 0", "eth0 00000000 00000000 xx 0 0 0 00000000 0 0 0"] {
            assert_eq!(line_v4(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn v6_routes_without_those_to_the_machine_itself() {
        let zero = "0".repeat(32);
        let via = "fe800000000000000000000000000001";
        let default = format!("{zero} 00 {zero} 00 {via} 00000400 00000001 00000000 00450003     eth0");
        let route = line_v6(&default).unwrap().unwrap();
        assert_eq!((route.is_default(), route.metric), (true, 1024));
        assert_eq!(route.gateway, Some("fe80::1".parse().unwrap()));
        for own in [
            format!("{zero} 00 {zero} 00 {zero} ffffffff 00000001 00000000 00200200       lo"),
            format!("{via} 80 {zero} 00 {zero} 00000000 00000002 00000000 80200001     eth0"),
            format!("ff{} 08 {zero} 00 {zero} 00000100 00000002 00000000 00000001     eth0", "0".repeat(30)),
        ] {
            assert_eq!(line_v6(&own), Some(None), "{own}");
        }
        for bad in ["", "zz", &default.replace("0045", "00zz")] {
            assert_eq!(line_v6(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn the_cheapest_way_is_the_default() {
        let of = |line: &str| line_v4(line).unwrap();
        let wlan = of(&v4("wlan0", [0; 4], [192, 0, 2, 1], "0003", 600, [0; 4]));
        let eth = of(&v4("eth0", [0; 4], [192, 0, 2, 1], "0003", 100, [0; 4]));
        let refused = of(&v4("eth1", [0; 4], [0; 4], "0201", 1, [0; 4]));
        let chosen = Defaults::of(&[wlan, eth.clone(), refused]);
        assert_eq!((chosen.interface(), &chosen.v4), (Some("eth0"), &Some(eth)));
        assert_eq!(Defaults::of(&[]).interface(), None);
    }
}
