//! `network.get_status`: a summary of interfaces, addresses and connectivity.

use super::change::UnconfirmedChange;
use crate::{
    registry::{context::Context, tool::Tool},
    tools::{
        none::NoArgs,
        system::interfaces::{AddressScope, Gateway, LinkState, NetworkInfo},
    },
};
use agent::operations::status;
use base::{
    clock,
    error::{ErrorCode, ToolError},
    os::network_manager::{
        Objects,
        state::{self, Connectivity},
    },
};
use contract::meta::Meta;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
pub struct Out {
    #[schemars(extend("format" = "date-time"))]
    timestamp: String,
    /// As NetworkManager found it; without that none without an interface that is up, limited without a default route, else
    /// unknown: nobody has looked.
    connectivity: Connectivity,
    /// The one that most of what leaves goes through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    primary_interface: Option<String>,
    /// Absent without a default route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Gateway")]
    default_gateway: Option<Gateway>,
    dns_servers: Vec<String>,
    /// Without the loopback.
    interfaces: Vec<Summary>,
    network_manager: Manager,
    /// A change that goes back by itself unless network.confirm_connection keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "UnconfirmedChange")]
    pending_change: Option<UnconfirmedChange>,
}

/// One interface in a line.
#[derive(Serialize, JsonSchema)]
struct Summary {
    name: String,
    state: LinkState,
    /// With their prefix; those of the link alone are left out.
    addresses: Vec<String>,
}

/// NetworkManager's own view.
#[derive(Serialize, JsonSchema)]
struct Manager {
    running: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    version: Option<String>,
    /// asleep, disconnected, disconnecting, connecting, connected_local, connected_site, connected_global or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    state: Option<&'static str>,
    /// Name of the connection on primary_interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    primary_connection: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    primary_connection_uuid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    networking_enabled: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    wireless_enabled: Option<bool>,
}

pub struct GetStatus;

impl Tool for GetStatus {
    type Args = NoArgs;
    type Out = Out;
    const META: Meta = Meta {
        name: "network.get_status",
        title: "Network status",
        description: "Whether this device is connected, and through what.\n\nUse when: something cannot be reached, or before changing a connection.\n\nReturns: connectivity, gateway, DNS servers, addresses, NetworkManager's state, a change to confirm.",
        estimated_tokens: 300,
        tags: &["network", "connectivity", "internet"],
        ..Meta::READ
    };

    async fn call(cx: &Context, _: NoArgs) -> Result<Out, ToolError> {
        let network = NetworkInfo::read(&cx.services).await?;
        let manager = Objects::read(&cx.services.machine.bus).await.and_then(|objects| {
            state::of(&objects).ok_or_else(|| ToolError::unavailable("NetworkManager does not show itself"))
        });
        // Without the agent there is no pending change to confirm.
        let change = cx.services.agent.get::<status::GetStatus>().await.ok().and_then(|status| status.network_change);
        let default_gateway = network.gateway();
        let up = network.interfaces.iter().any(|each| each.name != "lo" && each.state == LinkState::Up);
        let (connectivity, primary_interface) = match &manager {
            Ok(manager) => (manager.connectivity, manager.primary_interface.clone()),
            Err(_) => {
                let guess = match (up, &default_gateway) {
                    (false, _) => Connectivity::None,
                    (true, None) => Connectivity::Limited,
                    (true, Some(_)) => Connectivity::Unknown,
                };
                (guess, None)
            }
        };
        let primary_interface = primary_interface.or_else(|| network.defaults.interface().map(str::to_owned));
        Ok(Out {
            timestamp: clock::now(),
            connectivity,
            primary_interface,
            default_gateway,
            dns_servers: network.dns_servers,
            interfaces: network
                .interfaces
                .iter()
                .filter(|each| each.name != "lo")
                .map(|each| {
                    let v4 = each.ipv4_addresses.iter().map(|own| format!("{}/{}", own.address, own.prefix_length));
                    let v6 = each.ipv6_addresses.iter().filter(|own| own.scope == AddressScope::Global);
                    let v6 = v6.map(|own| format!("{}/{}", own.address, own.prefix_length));
                    Summary { name: each.name.clone(), state: each.state, addresses: v4.chain(v6).collect() }
                })
                .collect(),
            network_manager: Manager::of(manager),
            pending_change: change.map(UnconfirmedChange::from),
        })
    }
}

impl Manager {
    fn of(manager: Result<state::NetworkManagerState, ToolError>) -> Self {
        match manager {
            Ok(manager) => {
                let (name, uuid) = manager.primary.map(|primary| (primary.name, primary.uuid)).unzip();
                Self {
                    running: true,
                    reason: None,
                    version: Some(manager.version),
                    state: Some(manager.state),
                    primary_connection: name,
                    primary_connection_uuid: uuid,
                    networking_enabled: Some(manager.networking_enabled),
                    wireless_enabled: Some(manager.wireless_enabled),
                }
            }
            Err(error) => Self {
                running: false,
                reason: Some(match error.code {
                    ErrorCode::CapabilityMissing => error.into_message(),
                    _ => error.advice(),
                }),
                version: None,
                state: None,
                primary_connection: None,
                primary_connection_uuid: None,
                networking_enabled: None,
                wireless_enabled: None,
            },
        }
    }
}
