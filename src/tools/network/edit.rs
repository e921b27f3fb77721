//! What `network.add_connection` and `network.update_connection` share: their arguments, their answer, and the call of the agent.

use super::change::{ConnectionInfo, profiles};
use crate::{registry::context::Context, tools::system::mark};
use agent::operations::network::{ACTIVATION, EditConnection, EditRequest, ProfileChange};
use base::error::ToolError;
use contract::{
    audit::rfc3339,
    meta::{Listing, Meta},
};
use schemars::JsonSchema;
use serde::Serialize;

/// What both declare.
pub const META: Meta = Meta {
    listing: Listing::Extra,
    timeout_seconds: 150,
    long: true,
    dry_run: true,
    estimated_tokens: 150,
    tags: &["network", "networkmanager", "wifi", "ethernet", "connection"],
    ..Meta::RISKY
};

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// The connection; with dry_run, that would be.
    connection: ConnectionInfo,
    /// What was active before, and is again unless an activated connection is confirmed.
    previous: Vec<ConnectionInfo>,
    /// It is on the card. If not, it is once network.confirm_connection keeps it.
    saved: bool,
    activated: bool,
    /// When it goes back by itself; absent if nothing was activated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    confirm_by: Option<String>,
    dry_run: bool,
}

pub async fn call(cx: &Context, change: ProfileChange, adds: bool) -> Result<Out, ToolError> {
    let dry_run = change.dry_run;
    if change.activate {
        let patience = ACTIVATION.as_secs();
        cx.progress.say(0.0, None, "activate", format!("NetworkManager has {patience} s to activate it"));
    }
    let request = EditRequest { adds, change, authorization: cx.authorization() };
    let done = cx.services.agent.call::<EditConnection>(request).await?;
    mark(cx, done.simulated, !dry_run);
    Ok(Out {
        connection: done.profile.into(),
        previous: profiles(done.before),
        saved: !dry_run && done.confirm_by_ms.is_none(),
        activated: done.confirm_by_ms.is_some(),
        confirm_by: done.confirm_by_ms.map(rfc3339),
        dry_run,
    })
}
