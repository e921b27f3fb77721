//! `network.confirm_connection`: keeps the change of `network.activate_connection`, or reverts it at once.

use super::change::{ConnectionInfo, profiles};
use crate::{
    registry::{context::Context, tool::Tool},
    tools::system::mark,
};
use agent::operations::network::{self, ConfirmRequest};
use base::error::ToolError;
use contract::meta::Meta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// False takes the change back at once.
    #[serde(default = "yes")]
    keep: bool,
}

fn yes() -> bool {
    true
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// The connection stays.
    confirmed: bool,
    /// What was before is coming back. Both are false when nothing waited.
    reverted: bool,
    /// The connection it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ConnectionInfo")]
    connection: Option<ConnectionInfo>,
    /// What was active before it.
    previous: Vec<ConnectionInfo>,
}

pub struct ConfirmConnection;

impl Tool for ConfirmConnection {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "network.confirm_connection",
        title: "Confirm a connection",
        description: "Keep the connection that network.activate_connection activated, or take it back at once.\n\nUse when: you reach the device through it, or want the old one back.\n\nReturns: what was kept or taken back.",
        timeout_seconds: 90,
        long: true,
        estimated_tokens: 100,
        tags: &["network", "networkmanager", "connection"],
        ..Meta::WRITE
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let request = ConfirmRequest { keep: args.keep, authorization: cx.authorization() };
        let done = cx.services.agent.call::<network::ConfirmConnection>(request).await?;
        let found = done.change.is_some();
        mark(cx, done.simulated, found);
        let (connection, previous) = match done.change {
            Some(change) => (Some(change.profile.into()), profiles(change.before)),
            None => (None, Vec::new()),
        };
        Ok(Out { confirmed: args.keep && found, reverted: !args.keep && found, connection, previous })
    }
}
