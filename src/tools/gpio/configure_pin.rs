//! `gpio.configure_pin`: leases a pin as input or output.

use super::{begin, info::PinInfo, lasts, lease_seconds, look_after, permit, pin, refusal::told, value::Value};
use crate::registry::{context::Context, tool::Tool};
use base::{error::ToolError, os::blocking};
use contract::{meta::Meta, values::Pin};
use hw::line::{Pull, Take};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Mode {
    Input,
    Output,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The Broadcom number.
    #[schemars(with = "u8", range(min = 0, max = 27))]
    #[serde(deserialize_with = "pin")]
    pin: Pin,
    /// What it is to be.
    mode: Mode,
    /// The resistor of an input.
    #[serde(default)]
    pull: Pull,
    /// The first level of an output.
    #[serde(default = "Value::low")]
    #[schemars(extend("x-advertised" = {"type": "string", "enum": ["high", "low"]}))]
    value: Value,
    /// Lease without use, though you may have gone; by default 60 over HTTP, else the connection.
    #[schemars(range(min = 1, max = 3600))]
    #[serde(default, deserialize_with = "lease_seconds")]
    lease_seconds: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    #[serde(flatten)]
    info: PinInfo,
    /// When its lease ends unless it is used, UTC; absent where it ends with the connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    expires_at: Option<String>,
}

pub struct ConfigurePin;

impl Tool for ConfigurePin {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "gpio.configure_pin",
        title: "Configure a GPIO pin",
        description: "Take a GPIO pin as input or output.\n\nUse when: before driving or watching it.\n\nReturns: the pin as it is now.\n\nNote: it is yours until released, your connection ends or the lease runs out; then it goes to its safe state.",
        volatile: true,
        estimated_tokens: 90,
        tags: &["gpio", "input", "output", "pull"],
        ..Meta::WRITE
    };

    fn check(args: &Args) -> Result<(), ToolError> {
        match args.mode {
            Mode::Input if args.value.level.is_high() => {
                Err(ToolError::ignored("value", "an input has no level of its own")
                    .hint("leave value out, or use mode \"output\""))
            }
            Mode::Output if args.pull != Pull::None => {
                Err(ToolError::ignored("pull", "an output needs no resistor")
                    .hint("leave pull out, or use mode \"input\""))
            }
            _ => Ok(()),
        }
    }

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        permit(cx, Self::META.name, args.pin, "write")
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let (owner, lines, pin) = (begin(cx, Some(args.pin)).await, &cx.services.gpio, args.pin);
        blocking::go_on(Self::META.name)?;
        let how = match args.mode {
            Mode::Input => Take::Input { pull: Some(args.pull) },
            Mode::Output => Take::Output { level: args.value.level },
        };
        lines.configure(&owner, pin, how, lasts(cx, args.lease_seconds)).map_err(|refusal| told(pin, refusal))?;
        cx.notes.changed();
        let info = look_after(cx, Self::META.name, &owner, pin)?;
        Ok(Out { expires_at: info.expires_at(), info })
    }
}
