//! `gpio.release_pin`: releases a pin.

use super::{begin, info::PinInfo, look_after, permit, pin, refusal::told};
use crate::registry::{context::Context, tool::Tool};
use base::{error::ToolError, os::blocking};
use contract::{
    access::way,
    meta::{Meta, Role},
    values::Pin,
};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The Broadcom number.
    #[schemars(with = "u8", range(min = 0, max = 27))]
    #[serde(deserialize_with = "pin")]
    pin: Pin,
    /// Also take it from somebody else, as an administrator.
    #[serde(default)]
    force: bool,
}

pub struct ReleasePin;

impl Tool for ReleasePin {
    type Args = Args;
    type Out = PinInfo;
    const META: Meta = Meta {
        name: "gpio.release_pin",
        title: "Release a GPIO pin",
        description: "Give a GPIO pin back: it goes to its safe state.\n\nUse when: done with it.\n\nReturns: the pin as it is now.",
        volatile: true,
        estimated_tokens: 80,
        tags: &["gpio", "lease"],
        ..Meta::WRITE
    };

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        permit(cx, Self::META.name, args.pin, "write")?;
        if args.force && cx.caller.role < Role::Admin {
            return Err(ToolError::denied("only an administrator takes a pin from somebody else")
                .with("pin", args.pin.bcm())
                .with("parameter", "force")
                .with("required_role", Role::Admin.name())
                .hint(way::to_a_role(&cx.caller, Role::Admin)));
        }
        Ok(())
    }

    async fn call(cx: &Context, args: Args) -> Result<PinInfo, ToolError> {
        let (owner, lines, pin) = (begin(cx, Some(args.pin)).await, &cx.services.gpio, args.pin);
        blocking::go_on(Self::META.name)?;
        if lines.release(&owner, pin, args.force).map_err(|refusal| told(pin, refusal))? {
            cx.notes.changed();
        }
        look_after(cx, Self::META.name, &owner, pin)
    }
}
