//! `fleet.call`: a tool of one device, with the caller's own token for it (docs/contract/fleet.md).

use super::served;
use crate::{
    fleet_port::FleetCall,
    registry::{context::Context, tool::Tool},
    tools::tools::{Arguments, shown},
};
use base::error::ToolError;
use contract::{
    audit::changed::Changed,
    meta::{Effect, Meta},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Its name in fleet.list_devices.
    #[schemars(length(min = 1, max = 63))]
    #[serde(deserialize_with = "crate::tools::bounded::<_, 1, 63>")]
    device: String,
    /// Like "gpio.write_pin".
    #[schemars(length(min = 1, max = 128))]
    #[serde(deserialize_with = "crate::tools::bounded::<_, 1, 128>")]
    tool: String,
    /// Its arguments as a JSON object, like {"pin": 17}. tools.describe on the device shows them.
    #[serde(default)]
    #[schemars(default = "none")]
    arguments: Arguments,
}

/// What is advertised for absent arguments.
fn none() -> &'static str {
    "{}"
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    device: String,
    tool: String,
    /// What the device answered.
    result: Map<String, Value>,
}

pub struct Call;

impl Tool for Call {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "fleet.call",
        title: "Call a device's tool",
        description: "Call a tool of one device of the fleet.\n\nUse when: you want to read or change something on a device that fleet.list_devices names.\n\nReturns: the device's answer, or its refusal with the device named.\n\nNote: the device's own policy, roles and approvals decide, by your token for it.",
        effect: Effect::Write { destructive: true, idempotent: false },
        open_world: true,
        timeout_seconds: 60,
        // Its time is the device's, which may hang: it takes no place of what the fleet itself is asked.
        long: true,
        estimated_tokens: 1000,
        tags: &["fleet", "call"],
        ..Meta::WRITE
    };

    fn shown(args: &Value) -> Option<Value> {
        shown(args)
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let fleet = served(cx)?;
        let arguments = args.arguments.object().map_err(|why| {
            ToolError::invalid(format!("arguments is no JSON object: {why}")).with("path", "/arguments")
        })?;
        let Args { device, tool, .. } = args;
        let token = fleet.callers.token(&cx.caller.principal, &device)?;
        let call = fleet.port.call(FleetCall { device: &device, tool: &tool, arguments, token: &token });
        // The device is told that nobody waits any more: its connection ends. What it had begun by then is its own to stop.
        let answer = cx
            .cancel
            .run_until_cancelled(call)
            .await
            .unwrap_or_else(|| Err(ToolError::cancelled(Self::META.name).with("changed", "unknown")));
        let answer = answer.map_err(|mut error| {
            error.message = format!("{device}: {}", error.message);
            error.with("device", device.as_str()).with("tool", tool.as_str())
        })?;
        match answer.changed {
            Changed::No => {}
            Changed::Yes => cx.notes.changed(),
            Changed::Unknown => cx.notes.unknown(),
        }
        if answer.simulated {
            cx.notes.simulated();
        }
        Ok(Out { device, tool, result: answer.result })
    }
}
