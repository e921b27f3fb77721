//! The two ends of a connection.

use std::net::{IpAddr, SocketAddr};

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

    /// Whether `host` (of a Host header, without its port) is the address that the request came to. DNS rebinding
    /// cannot forge this: such a page is addressed by its name.
    pub fn came_to(&self, host: &str) -> bool {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        bare.parse::<IpAddr>().is_ok_and(|address| address.to_canonical() == self.local)
    }
}
