//! The way by which this machine reaches a router: its address, the router's, the interface, the port of the bridge.

use super::{
    super::network::Network,
    seen::{Seen, is_on, text},
};
use crate::routeros::device::Device;
use serde_json::Value;
use std::net::{IpAddr, UdpSocket};

/// What is read to know it, and of what may be long only these fields.
pub const MENUS: [&str; 6] = [
    "user/active",
    "ip/address",
    "ip/arp?.proplist=address,mac-address",
    "interface/bridge/host?.proplist=bridge,mac-address,on-interface",
    "interface/bridge/port",
    "interface/list/member",
];

/// What is known of the way; what is not known counts as being in danger.
#[derive(Debug, Default)]
pub struct Way {
    /// This machine, as the router sees it.
    pub here: Option<IpAddr>,
    /// The router's address that is asked.
    pub there: Option<IpAddr>,
    /// The router's interface that has this address.
    pub interface: Option<String>,
    /// Of a bridge, the port behind which this machine is.
    pub port: Option<String>,
    /// Of the router's HTTPS.
    pub service: u16,
}

impl Way {
    pub fn find(device: &Device, seen: &Seen) -> Self {
        let (host, port) = device.address.rsplit_once(':').unwrap_or((&device.address, "443"));
        let host: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
        let here = as_seen(device, seen).or_else(|| own_address(&device.address, host));
        let addresses = || seen.rows("ip/address").filter(|row| is_on(row));
        let network = |row: &&Value| Network::parse(text(row, "address"));
        let asked = addresses().find(|row| network(row).is_some_and(|network| Some(network.address) == host));
        // Behind a name, or a translation of addresses, it is the one in this machine's network, if there is just one.
        let covers = |row: &&Value| here.is_some_and(|here| network(row).is_some_and(|net| net.covers(here)));
        let near = || {
            let mut near = addresses().filter(covers);
            near.next().filter(|_| near.next().is_none())
        };
        let row = asked.or_else(near);
        let interface = row.map(|row| text(row, "interface").to_owned());
        let mac =
            here.and_then(|here| seen.row("ip/arp", "address", &here.to_string())).map(|row| text(row, "mac-address"));
        let behind = mac.and_then(|mac| {
            let mut hosts = seen.rows("interface/bridge/host");
            hosts.find(|row| row["mac-address"] == mac && Some(text(row, "bridge")) == interface.as_deref())
        });
        let port = port.parse().unwrap_or(443);
        Self {
            here,
            there: row.as_ref().and_then(network).map(|network| network.address),
            interface,
            port: behind.map(|row| text(row, "on-interface").to_owned()),
            // Behind a translation of ports the router listens at its own.
            service: if asked.is_some() { port } else { 443 },
        }
    }

    /// Whether an interface is on the way, or may be: the one with the address, or the port.
    pub fn passes(&self, interface: &str) -> bool {
        self.interface.as_deref().is_none_or(|own| own == interface) || self.port.as_deref() == Some(interface)
    }
}

/// Our session, as the router lists it.
fn as_seen(device: &Device, seen: &Seen) -> Option<IpAddr> {
    let ours = || seen.rows("user/active").filter(|row| row["name"] == device.user.as_str());
    let by_rest = ours().find(|row| text(row, "via").starts_with("rest"));
    text(by_rest.or_else(|| ours().next())?, "address").parse().ok()
}

/// The address that this machine would use; nothing is sent.
fn own_address(address: &str, host: Option<IpAddr>) -> Option<IpAddr> {
    let any = if host?.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(address).ok()?;
    Some(socket.local_addr().ok()?.ip())
}
