//! `network.list_connections`: NetworkManager's profiles, active or not, without their secrets.

use crate::{
    registry::{context::Context, tool::Tool},
    tools::{
        empty,
        page::{Offset, PageLimit, Pagination},
    },
};
use base::{
    error::ToolError,
    os::network_manager::{
        Objects,
        profile::{self, state_name},
    },
};
use contract::meta::Meta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Only those in use.
    #[serde(default)]
    active_only: bool,
    #[serde(default)]
    limit: PageLimit,
    #[serde(default)]
    offset: Offset,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// Those in use first, then by name.
    connections: Vec<Connection>,
    pagination: Pagination,
    /// Why it is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    note: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Connection {
    uuid: String,
    /// Several may have the same.
    name: String,
    /// In NetworkManager's words, like 802-3-ethernet or 802-11-wireless.
    #[serde(rename = "type")]
    kind: String,
    active: bool,
    /// activating, activated, deactivating, deactivated or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    state: Option<&'static str>,
    /// Interfaces it is active on.
    devices: Vec<String>,
    /// Whether it has the default route.
    default: bool,
    autoconnect: bool,
    /// The one interface it is for, if it is for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    interface: Option<String>,
    /// Of a Wi-Fi profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    ssid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    ipv4_method: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    ipv6_method: Option<String>,
    /// Absent for one that never was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    last_active: Option<String>,
}

pub struct ListConnections;

impl Tool for ListConnections {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "network.list_connections",
        title: "List connections",
        description: "NetworkManager's connection profiles, in use or not.\n\nUse when: you look for one to activate, or the one in use.\n\nReturns: UUID, name, type, state, devices of each; never a password.",
        paginated: true,
        estimated_tokens: 500,
        tags: &["network", "networkmanager", "wifi", "connection"],
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let objects = Objects::read(&cx.services.machine.bus).await?;
        let mut all = profile::all(&cx.services.machine.bus, &objects).await?;
        let known = all.len();
        all.retain(|profile| !args.active_only || profile.active.is_some());
        let (page, pagination) = Pagination::of(all, args.limit, args.offset);
        let none = || (known == 0).then(|| "NetworkManager has no connection profile".to_owned());
        let note = empty::filtered(&pagination, known, "profiles").or_else(none);
        Ok(Out { connections: page.into_iter().map(Connection::from).collect(), pagination, note })
    }
}

impl From<profile::NetworkManagerProfile> for Connection {
    fn from(from: profile::NetworkManagerProfile) -> Self {
        let last = from.last_active.and_then(|seconds| i64::try_from(seconds).ok());
        Self {
            active: from.active.is_some(),
            state: from.active.as_ref().map(|active| state_name(active.state)),
            default: from.active.as_ref().is_some_and(|active| active.default),
            devices: from.active.map(|active| active.interfaces).unwrap_or_default(),
            uuid: from.uuid,
            name: from.name,
            kind: from.kind,
            autoconnect: from.autoconnect,
            interface: from.interface,
            ssid: from.ssid,
            ipv4_method: from.ipv4_method,
            ipv6_method: from.ipv6_method,
            last_active: last.and_then(|s| OffsetDateTime::from_unix_timestamp(s).ok()).map(base::clock::stamp),
        }
    }
}
