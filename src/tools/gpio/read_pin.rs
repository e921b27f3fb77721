//! `gpio.read_pin`: reads one pin.

use super::{
    begin,
    info::{PinInfo, PinMode, unread},
    look, permit, pin, usable,
};
use crate::registry::{context::Context, tool::Tool};
use base::{clock, error::ToolError};
use contract::{meta::Meta, values::Pin};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The Broadcom number.
    #[schemars(with = "u8", range(min = 0, max = 27))]
    #[serde(deserialize_with = "pin")]
    pub(super) pin: Pin,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    #[serde(flatten)]
    pin: PinInfo,
    /// When it was read, UTC.
    #[schemars(extend("format" = "date-time"))]
    timestamp: String,
}

pub struct ReadPin;

impl Tool for ReadPin {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "gpio.read_pin",
        title: "Read a GPIO pin",
        description: "Read one GPIO pin without changing it.\n\nUse when: a level is wanted now; raspi://gpio/{pin} tells of changes.\n\nReturns: level, mode, holder.",
        estimated_tokens: 80,
        tags: &["gpio", "input", "level"],
        resource_uri: Some("raspi://gpio/{pin}"),
        ..Meta::READ
    };

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        permit(cx, Self::META.name, args.pin, "read")
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let (owner, lines, pin) = (begin(cx, Some(args.pin)).await, &cx.services.gpio, args.pin);
        cx.notes.resource(format!("raspi://gpio/{}", pin.bcm()));
        let value = lines.read(&owner, pin);
        let info = look(cx, &owner, pin, &usable(cx))?;
        let value = match value {
            Ok(value) => Some(value),
            // A hardware wave, whose momentary level is not needed; or a pin that nothing has used yet.
            Err(_) if info.pwm.is_some() || info.mode == PinMode::None => None,
            Err(fault) => return Err(unread(pin, fault)),
        };
        Ok(Out { pin: PinInfo { value, ..info }, timestamp: clock::now() })
    }
}
