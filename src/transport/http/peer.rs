//! The two ends of a connection.

use std::net::{IpAddr, SocketAddr};

/// Where a request came from, and to which address of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    pub address: IpAddr,
    pub local: IpAddr,
}

impl Peer {
    pub fn new(remote: SocketAddr, local: SocketAddr) -> Self {
        Self { address: remote.ip().to_canonical(), local: local.ip().to_canonical() }
    }

    /// Whether `host` (a Host header's, without its port) is the very address the request came to. A page that rebinds a
    /// name cannot say so: it is addressed by that name.
    pub fn came_to(&self, host: &str) -> bool {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        bare.parse::<IpAddr>().is_ok_and(|address| address.to_canonical() == self.local)
    }
}
