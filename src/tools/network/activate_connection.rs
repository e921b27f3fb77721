//! `network.activate_connection`: activates another profile, with a checkpoint that reverts it unless it is confirmed.

use super::change::{ConnectionInfo, profiles};
use crate::{
    registry::{context::Context, tool::Tool},
    tools::system::mark,
};
use agent::operations::network::{
    self, ACTIVATION, CONFIRM_SECONDS, ConnectionRequest, DEFAULT_CONFIRM_SECONDS, LONGEST_DEVICE, LONGEST_NAME,
};
use base::{
    error::ToolError,
    os::network_manager::change::{confirm, device, name},
};
use contract::{
    audit::rfc3339,
    meta::{Effect, Meta},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const SHORTEST_CONFIRM: u32 = *CONFIRM_SECONDS.start();
const LONGEST_CONFIRM: u32 = *CONFIRM_SECONDS.end();

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// UUID or name of the connection.
    #[schemars(length(min = 1, max = LONGEST_NAME), regex(pattern = r"^[^\u0000-\u001f\u007f-\u009f]+$"))]
    #[serde(deserialize_with = "name")]
    connection: String,
    /// Interface to use; without it NetworkManager chooses.
    #[schemars(length(min = 1, max = LONGEST_DEVICE), regex(pattern = r"^[!-.0-9;-~]+$"))]
    #[serde(default, deserialize_with = "device")]
    device: Option<String>,
    /// Seconds until it goes back by itself.
    #[schemars(range(min = SHORTEST_CONFIRM, max = LONGEST_CONFIRM))]
    #[serde(default = "default_confirm", deserialize_with = "confirm")]
    confirm_seconds: u32,
    /// Only say what would happen.
    #[serde(default)]
    dry_run: bool,
}

fn default_confirm() -> u32 {
    DEFAULT_CONFIRM_SECONDS
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// The connection that is active now; with dry_run, that would be.
    connection: ConnectionInfo,
    /// What was active before, and is again unless this is confirmed.
    previous: Vec<ConnectionInfo>,
    activated: bool,
    /// When it goes back by itself; absent with dry_run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    confirm_by: Option<String>,
    dry_run: bool,
}

pub struct ActivateConnection;

impl Tool for ActivateConnection {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "network.activate_connection",
        title: "Activate a connection",
        description: "Activate a connection profile; it is taken back by itself unless you confirm it.\n\nUse when: the device shall use another network or profile.\n\nReturns: what is active now and before, and until when to confirm.\n\nNote: call network.confirm_connection in time, through the new network; if the device cannot be reached any more, wait: it comes back.",
        effect: Effect::Write { destructive: true, idempotent: true },
        timeout_seconds: 150,
        long: true,
        dry_run: true,
        estimated_tokens: 150,
        tags: &["network", "networkmanager", "wifi", "connection"],
        ..Meta::WRITE
    };

    fn asks(args: &Args) -> bool {
        !args.dry_run
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let patience = ACTIVATION.as_secs();
        cx.progress.say(0.0, None, "activate", format!("NetworkManager has {patience} s to activate it"));
        let request = ConnectionRequest {
            connection: args.connection,
            device: args.device,
            confirm_seconds: args.confirm_seconds,
            dry_run: args.dry_run,
            authorization: cx.authorization(),
        };
        let done = cx.services.agent.call::<network::ActivateConnection>(request).await?;
        mark(cx, done.simulated, !args.dry_run);
        Ok(Out {
            connection: done.profile.into(),
            previous: profiles(done.before),
            activated: !args.dry_run,
            confirm_by: done.confirm_by_ms.map(rfc3339),
            dry_run: args.dry_run,
        })
    }
}
