//! `fleet.halt`: devices refuse every change until a person lifts it at each of them (docs/contract/fleet.md).

use super::served;
use crate::{
    fleet_port::{FleetHalt, HaltTarget},
    registry::{context::Context, tool::Tool},
};
use base::error::ToolError;
use contract::{
    halt::{MAX_REASON, check_reason},
    meta::{Meta, Role},
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error};

/// One line: no control characters (Unicode's category Cc).
const REASON: &str = r"^[^\x00-\x1f\x7f-\x9f]+$";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Their names in fleet.list_devices. Instead of all.
    #[serde(default)]
    devices: Vec<String>,
    /// Every device of the fleet.
    #[serde(default)]
    all: bool,
    /// Why, in one line: told to everybody whose call is refused.
    #[schemars(with = "String", length(min = 1, max = MAX_REASON), regex(pattern = REASON))]
    #[serde(deserialize_with = "reason")]
    reason: String,
}

fn reason<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let reason = String::deserialize(deserializer)?;
    check_reason(&reason).map_err(|error| D::Error::custom(error.into_message()))?;
    Ok(reason)
}

pub struct Halt;

impl Tool for Halt {
    type Args = Args;
    type Out = FleetHalt;
    const META: Meta = Meta {
        name: "fleet.halt",
        title: "Halt devices",
        description: "Devices of the fleet refuse every change until a person lifts it at each.\n\nUse when: something goes wrong and nobody should change anything more.\n\nReturns: which devices confirm it, and which may not have heard it.\n\nNote: no tool lifts it. Reads, updates and rollback go on.",
        role: Role::Admin,
        open_world: true,
        timeout_seconds: 60,
        estimated_tokens: 100,
        tags: &["fleet", "safety", "stop"],
        ..Meta::WRITE
    };

    fn check(args: &Args) -> Result<(), ToolError> {
        if args.all == args.devices.is_empty() {
            return Ok(());
        }
        Err(ToolError::invalid("name devices, or set all to true: one of both").with("path", "/devices"))
    }

    async fn call(cx: &Context, args: Args) -> Result<FleetHalt, ToolError> {
        let port = &served(cx)?.port;
        let target = if args.all {
            HaltTarget::All
        } else {
            let known = port.devices().await?;
            if let Some(name) = args.devices.iter().find(|name| known.iter().all(|device| device.name != **name)) {
                return Err(ToolError::not_found(format!("the fleet has no device {name:?}; nothing was halted"))
                    .hint("fleet.list_devices lists them")
                    .with("path", "/devices"));
            }
            HaltTarget::Named(args.devices.into_iter().collect())
        };
        // From here on some may hear it, whatever becomes of the answer.
        cx.notes.unknown();
        let halted = port.halt(target, &args.reason).await?;
        if !halted.confirmed.is_empty() {
            cx.notes.changed();
        }
        Ok(halted)
    }
}
