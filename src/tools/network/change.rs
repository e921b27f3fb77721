//! A change of the network that is reverted unless confirmed, in answers.

use agent::{connections::NetworkChange, network};
use contract::audit::rfc3339;
use schemars::JsonSchema;
use serde::Serialize;

/// A connection.
#[derive(Serialize, JsonSchema)]
pub struct ConnectionInfo {
    pub uuid: String,
    pub name: String,
    /// Where it is active.
    pub interfaces: Vec<String>,
}

/// A change that waits to be confirmed.
#[derive(Serialize, JsonSchema)]
pub struct UnconfirmedChange {
    /// The connection that was activated.
    pub connection: ConnectionInfo,
    /// What was active before, and will be again.
    pub previous: Vec<ConnectionInfo>,
    /// When it goes back by itself.
    #[schemars(extend("format" = "date-time"))]
    pub confirm_by: String,
    /// Who activated it.
    pub principal: String,
}

impl From<network::ConnectionProfile> for ConnectionInfo {
    fn from(from: network::ConnectionProfile) -> Self {
        Self { uuid: from.uuid, name: from.name, interfaces: from.interfaces }
    }
}

impl From<NetworkChange> for UnconfirmedChange {
    fn from(from: NetworkChange) -> Self {
        Self {
            connection: from.profile.into(),
            previous: profiles(from.before),
            confirm_by: rfc3339(from.confirm_by_ms),
            principal: from.principal,
        }
    }
}

pub fn profiles(from: Vec<network::ConnectionProfile>) -> Vec<ConnectionInfo> {
    from.into_iter().map(ConnectionInfo::from).collect()
}
