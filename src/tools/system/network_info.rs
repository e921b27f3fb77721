//! `system.get_network_info`: interfaces, default gateway and name servers (docs/contract/system.md).

use super::interfaces::{Gateway, InterfaceInfo, NetworkInfo};
use crate::{
    registry::{context::Context, tool::Tool},
    tools::none::NoArgs,
};
use base::{clock, error::ToolError};
use contract::meta::{Listing, Meta};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize, JsonSchema)]
pub struct Out {
    #[schemars(extend("format" = "date-time"))]
    timestamp: String,
    /// At most 128, by name.
    interfaces: Vec<InterfaceInfo>,
    /// Absent without a default route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Gateway")]
    default_gateway: Option<Gateway>,
    /// Configured DNS servers; behind systemd-resolved the ones it asks.
    dns_servers: Vec<String>,
    /// Interfaces that are not listed; absent when all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "usize")]
    omitted_interfaces: Option<usize>,
    /// Fields that are empty although this machine has a source for them, and what went wrong.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, String>")]
    unreadable: BTreeMap<&'static str, String>,
}

pub struct GetNetworkInfo;

impl Tool for GetNetworkInfo {
    type Args = NoArgs;
    type Out = Out;
    const META: Meta = Meta {
        name: "system.get_network_info",
        title: "Network information",
        description: "Network interfaces with their addresses, and where traffic goes.\n\nUse when: you need an address, MAC, Wi-Fi signal, gateway or DNS server.\n\nReturns: interfaces with state, addresses, counters; gateway; DNS servers.",
        listing: Listing::Extra,
        estimated_tokens: 700,
        tags: &["network", "ip", "mac", "wifi", "dns"],
        ..Meta::READ
    };

    async fn call(cx: &Context, _: NoArgs) -> Result<Out, ToolError> {
        let network = NetworkInfo::read(&cx.services).await?;
        Ok(Out {
            timestamp: clock::now(),
            default_gateway: network.gateway(),
            interfaces: network.interfaces,
            dns_servers: network.dns_servers,
            omitted_interfaces: (network.omitted > 0).then_some(network.omitted),
            unreadable: network.unreadable,
        })
    }
}
