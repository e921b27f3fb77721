//! Networks of IPv4 addresses.

use std::net::Ipv4Addr;

/// Network and length of `192.168.88.1/24`; a single address has 32.
pub(crate) fn network_of(text: &str) -> Option<(Ipv4Addr, u32)> {
    let (address, length) = text.split_once('/').unwrap_or((text, "32"));
    let (address, length): (Ipv4Addr, u32) = (address.parse().ok()?, length.parse().ok()?);
    let mask = u32::MAX.checked_shl(32_u32.checked_sub(length)?).unwrap_or(0);
    Some((Ipv4Addr::from(u32::from(address) & mask), length))
}

/// Whether `address` is what `text` says: an address, a network, a range `a-b`, or a list of them with commas.
pub(crate) fn covers(text: &str, address: Ipv4Addr) -> bool {
    text.split(',').any(|part| {
        if let Some((first, last)) = part.split_once('-') {
            let (first, last) = (first.parse::<Ipv4Addr>(), last.parse::<Ipv4Addr>());
            return first.is_ok_and(|first| first <= address) && last.is_ok_and(|last| address <= last);
        }
        network_of(part).is_some_and(|(network, length)| {
            network_of(&format!("{address}/{length}")).is_some_and(|of| of.0 == network)
        })
    })
}
