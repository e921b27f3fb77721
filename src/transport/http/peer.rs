//! The two ends of a connection.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Stands for whoever comes through a fleet's broker, where a source is counted by its address: of the block whose
/// packets are discarded everywhere (RFC 6666), so that nobody else has it.
const TUNNEL: IpAddr = IpAddr::V6(Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 1));

/// The address that a request came from, and the local address that it came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddress {
    pub address: IpAddr,
    pub local: IpAddr,
}

impl PeerAddress {
    pub fn new(remote: SocketAddr, local: SocketAddr) -> Self {
        Self { address: remote.ip().to_canonical(), local: local.ip().to_canonical() }
    }

    /// The peer of a connection through the fleet's broker. At the console's end it came to a port of loopback.
    #[cfg(feature = "fleet")]
    pub fn tunnel() -> Self {
        Self { address: TUNNEL, local: std::net::Ipv4Addr::LOCALHOST.into() }
    }

    /// Whether it came through the fleet's broker.
    pub fn is_tunnel(&self) -> bool {
        self.address == TUNNEL
    }

    /// Whether `host` (of a Host header, without its port) is the address that the request came to. DNS rebinding
    /// cannot forge this: such a page is addressed by its name.
    pub fn came_to(&self, host: &str) -> bool {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        bare.parse::<IpAddr>().is_ok_and(|address| address.to_canonical() == self.local)
    }
}
