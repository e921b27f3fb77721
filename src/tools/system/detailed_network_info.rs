//! `system.get_detailed_network_info`: interfaces and, optionally, routes and sockets (docs/contract/system.md).

use super::interfaces::{InterfaceInfo, NetworkInfo};
use crate::{
    registry::{context::Context, tool::Tool},
    tools::page::{Offset, PageLimit, Pagination},
};
use base::{
    clock,
    error::ToolError,
    os::{
        Root,
        net::{
            route::Route,
            socket::{self, NetSocket, Protocol},
        },
    },
};
use contract::meta::{Listing, Meta};
use hw::machine::unreadable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most routes listed: a Pi has a dozen.
const ROUTES: usize = 1000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Also the routes.
    #[serde(default)]
    include_routing_table: bool,
    /// Also TCP and UDP sockets.
    #[serde(default)]
    include_connections: bool,
    /// Sockets in these states; else all.
    #[serde(default)]
    #[schemars(extend("default" = []))]
    connection_state_filter: Vec<StateFilter>,
    #[serde(default)]
    limit: PageLimit,
    #[serde(default)]
    offset: Offset,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum StateFilter {
    Established,
    Listen,
    TimeWait,
    CloseWait,
}

impl StateFilter {
    fn name(self) -> &'static str {
        match self {
            Self::Established => "ESTABLISHED",
            Self::Listen => "LISTEN",
            Self::TimeWait => "TIME_WAIT",
            Self::CloseWait => "CLOSE_WAIT",
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    #[schemars(extend("format" = "date-time"))]
    timestamp: String,
    /// At most 128, by name.
    interfaces: Vec<InterfaceInfo>,
    /// At most 1000, IPv4 before IPv6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<RouteEntry>")]
    routing_table: Option<Vec<RouteEntry>>,
    /// One page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Connection>")]
    connections: Option<Vec<Connection>>,
    /// Of connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Pagination")]
    pagination: Option<Pagination>,
    /// Interfaces and routes that are not listed; absent when all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "usize")]
    omitted: Option<usize>,
    /// Fields that are empty although this machine has a source for them, and what went wrong.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, String>")]
    unreadable: BTreeMap<&'static str, String>,
}

#[derive(Serialize, JsonSchema)]
struct RouteEntry {
    /// The network's address; for IPv6 with its prefix.
    destination: String,
    /// Absent where the destination is on the link itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    gateway: Option<String>,
    /// IPv4 only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    netmask: Option<String>,
    /// U up, G gateway, H host, R reinstated, D and M by redirect, ! rejected.
    flags: String,
    /// Of several, the smallest is taken.
    metric: u32,
    interface: String,
}

#[derive(Serialize, JsonSchema)]
struct Connection {
    protocol: SocketProtocol,
    local_address: String,
    local_port: u16,
    remote_address: String,
    /// 0 without another end.
    remote_port: u16,
    /// NONE for UDP.
    state: &'static str,
    /// Of sockets of this server's own user; the kernel does not say those of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    pid: Option<u32>,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SocketProtocol {
    Tcp,
    Udp,
    Tcp6,
    Udp6,
}

pub struct GetDetailedNetworkInfo;

impl Tool for GetDetailedNetworkInfo {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "system.get_detailed_network_info",
        title: "Detailed network information",
        description: "Network interfaces, and as wanted routes and open sockets.\n\nUse when: traffic goes the wrong way, or you ask who listens on which port.\n\nReturns: interfaces; routes; sockets with both ends, state, process.",
        listing: Listing::Extra,
        paginated: true,
        estimated_tokens: 2000,
        tags: &["network", "route", "port", "socket", "connection"],
        ..Meta::READ
    };

    fn check(args: &Args) -> Result<(), ToolError> {
        if args.include_connections {
            return Ok(());
        }
        let given = [
            ("connection_state_filter", !args.connection_state_filter.is_empty()),
            ("limit", args.limit != PageLimit::default()),
            ("offset", args.offset != Offset::default()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(ToolError::ignored(name, "it is about sockets, and include_connections is false")
                .hint(format!("set include_connections to true, or leave {name} out"))),
            None => Ok(()),
        }
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let network = NetworkInfo::read(&cx.services).await?;
        let left_out = network.routes.len().saturating_sub(ROUTES);
        let omitted = network.omitted + if args.include_routing_table { left_out } else { 0 };
        let routing_table =
            args.include_routing_table.then(|| network.routes.iter().take(ROUTES).map(RouteEntry::from).collect());
        let (connections, pagination) = match args.include_connections {
            true => {
                let done = connections(&cx.services.machine.root, &args);
                let (connections, pagination) = done.map_err(|fault| unreadable("the list of sockets", &fault))?;
                (Some(connections), Some(pagination))
            }
            false => (None, None),
        };
        Ok(Out {
            timestamp: clock::now(),
            interfaces: network.interfaces,
            routing_table,
            connections,
            pagination,
            omitted: (omitted > 0).then_some(omitted),
            unreadable: network.unreadable,
        })
    }
}

/// One page of sockets; only their processes are looked up.
fn connections(root: &Root, args: &Args) -> std::io::Result<(Vec<Connection>, Pagination)> {
    let mut all = socket::read(root)?;
    let wanted = &args.connection_state_filter;
    all.retain(|socket| wanted.is_empty() || wanted.iter().any(|state| state.name() == socket.state));
    let (page, pagination) = Pagination::of(all, args.limit, args.offset);
    let inodes: Vec<u64> = page.iter().map(|socket| socket.inode).filter(|inode| *inode != 0).collect();
    let owners = if inodes.is_empty() { Default::default() } else { socket::owners(root, &inodes) };
    let shown = |socket: NetSocket| Connection {
        protocol: match socket.protocol {
            Protocol::Tcp => SocketProtocol::Tcp,
            Protocol::Udp => SocketProtocol::Udp,
            Protocol::Tcp6 => SocketProtocol::Tcp6,
            Protocol::Udp6 => SocketProtocol::Udp6,
        },
        local_address: socket.local.ip().to_string(),
        local_port: socket.local.port(),
        remote_address: socket.remote.ip().to_string(),
        remote_port: socket.remote.port(),
        state: socket.state,
        pid: owners.get(&socket.inode).copied(),
    };
    Ok((page.into_iter().map(shown).collect(), pagination))
}

impl From<&Route> for RouteEntry {
    fn from(route: &Route) -> Self {
        let (destination, netmask) = match route.destination {
            std::net::IpAddr::V4(address) => {
                let bits = u32::MAX.checked_shl(32 - u32::from(route.prefix.min(32))).unwrap_or(0);
                (address.to_string(), Some(std::net::Ipv4Addr::from_bits(bits).to_string()))
            }
            std::net::IpAddr::V6(address) => (format!("{address}/{}", route.prefix), None),
        };
        Self {
            destination,
            gateway: route.gateway.map(|gateway| gateway.to_string()),
            netmask,
            flags: route.flags.clone(),
            metric: route.metric,
            interface: route.interface.clone(),
        }
    }
}
