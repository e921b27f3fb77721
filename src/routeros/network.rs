//! Addresses, networks and ranges as RouterOS writes them.

use std::net::IpAddr;

/// An address with the length of its network: `192.168.88.1/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    pub address: IpAddr,
    pub length: u8,
}

fn bits(address: IpAddr) -> (u128, u8) {
    match address {
        IpAddr::V4(four) => (u32::from(four).into(), 32),
        IpAddr::V6(six) => (u128::from(six), 128),
    }
}

impl Network {
    /// An address alone is a network of one.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
        let address: IpAddr = address.parse().ok()?;
        let (_, most) = bits(address);
        let length = length.map_or(Some(most), |length| length.parse().ok().filter(|length| *length <= most))?;
        Some(Self { address, length })
    }

    /// Its number without the bits of the host, and how many addresses follow it.
    fn span(self) -> (u128, u128) {
        let (number, most) = bits(self.address);
        let hosts = u32::from(most - self.length);
        let mask = if hosts == 128 { u128::MAX } else { (1 << hosts) - 1 };
        (number & !mask, mask)
    }

    pub fn covers(self, address: IpAddr) -> bool {
        let (start, more) = self.span();
        self.address.is_ipv4() == address.is_ipv4() && (start..=start + more).contains(&bits(address).0)
    }

    pub fn overlaps(self, other: Self) -> bool {
        self.covers(other.start()) || other.covers(self.start())
    }

    /// Its first address.
    fn start(self) -> IpAddr {
        match (self.address, self.span().0) {
            (IpAddr::V4(_), start) => IpAddr::V4(u32::try_from(start).unwrap_or_default().into()),
            (IpAddr::V6(_), start) => IpAddr::V6(start.into()),
        }
    }

    /// As RouterOS shows a network: without the bits of the host.
    pub fn shown(self) -> String {
        format!("{}/{}", self.start(), self.length)
    }

    /// Whether it is a single address.
    pub fn is_one(self) -> bool {
        self.length == bits(self.address).1
    }

    /// Whether nothing of a host is in it: `10.0.0.0/8`, not `10.0.0.1/8`.
    pub fn is_network(self) -> bool {
        self.start() == self.address
    }
}

/// The first and the last address of a range such as `10.0.0.10-10.0.0.99`; an address alone is both.
pub fn range(text: &str) -> Option<(IpAddr, IpAddr)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.trim().parse::<IpAddr>().ok()?, last.trim().parse::<IpAddr>().ok()?);
    (first.is_ipv4() == last.is_ipv4() && bits(first).0 <= bits(last).0).then_some((first, last))
}

/// Whether an address is what `text` says: addresses, networks and ranges, with commas between them. `None`: it says something else,
/// such as a name.
pub fn says(text: &str, address: IpAddr) -> Option<bool> {
    let one = |part: &str| {
        if let Some(network) = Network::parse(part) {
            return Some(network.covers(address));
        }
        let (first, last) = range(part)?;
        let number = bits(address).0;
        Some(first.is_ipv4() == address.is_ipv4() && (bits(first).0..=bits(last).0).contains(&number))
    };
    let all: Option<Vec<bool>> = text.split(',').map(one).collect();
    Some(all?.contains(&true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_cover_and_overlap() {
        let net = |text: &str| Network::parse(text).unwrap();
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert!(
            net("192.168.88.1/24").covers(ip("192.168.88.255")) && !net("192.168.88.1/24").covers(ip("192.168.89.0"))
        );
        assert!(net("10.0.0.0/8").overlaps(net("10.1.2.3/32")) && net("10.1.2.3").overlaps(net("10.0.0.0/8")));
        assert!(!net("10.0.0.0/8").overlaps(net("11.0.0.0/8")) && net("0.0.0.0/0").covers(ip("203.0.113.1")));
        assert!(net("::/0").covers(ip("2001:db8::1")) && !net("::/0").covers(ip("203.0.113.1")));
        assert_eq!((net("10.1.2.3/16").shown().as_str(), net("10.1.2.3/16").is_network()), ("10.1.0.0/16", false));
        assert!(["10.0.0.1/33", "x", "10.0.0/8", "1::/129", ""].iter().all(|bad| Network::parse(bad).is_none()));
    }

    #[test]
    fn texts_say_addresses() {
        let ip = "192.168.88.10".parse().unwrap();
        for (text, says_it) in [
            ("192.168.88.0/24", Some(true)),
            ("10.0.0.1,192.168.88.10", Some(true)),
            ("192.168.88.2-192.168.88.9", Some(false)),
            ("192.168.88.2-192.168.88.10", Some(true)),
            ("host.example", None),
        ] {
            assert_eq!(says(text, ip), says_it, "{text}");
        }
        assert!(range("10.0.0.9-10.0.0.1").is_none() && range("10.0.0.1").is_some());
    }
}
