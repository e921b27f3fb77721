//! `gpio.write_pin`: drives a pin, for a while if wanted.

use super::{
    begin,
    info::{back, stamp},
    lasts, lease_seconds, permit, pin,
    refusal::told,
    value::Value,
    within,
};
use crate::{
    clock,
    error::ToolError,
    hw::{board::Pin, gpio::rules::Safe},
    os::blocking,
    registry::{
        context::Context,
        meta::{Effect, Meta},
        tool::Tool,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::time::Duration;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The Broadcom number.
    #[schemars(with = "u8", range(min = 0, max = 27))]
    #[serde(deserialize_with = "pin")]
    pin: Pin,
    /// Answered in the same form.
    value: Value,
    /// Take it back after so long, though you may have gone.
    #[schemars(range(min = 1, max = 600_000))]
    #[serde(default, deserialize_with = "duration_ms")]
    duration_ms: Option<u32>,
    /// Lease without use; by default 60 over HTTP, else as long as the connection.
    #[schemars(range(min = 1, max = 3600))]
    #[serde(default, deserialize_with = "lease_seconds")]
    lease_seconds: Option<u32>,
}

fn duration_ms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    within(Option::<u32>::deserialize(deserializer)?, 1, 600_000, "milliseconds")
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// The Broadcom number.
    #[schemars(range(min = 0, max = 27))]
    pin: u8,
    /// As it was given.
    value: Value,
    /// The level before, in the same form; absent when it was no output.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_value: Option<Value>,
    /// When it is taken back, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    reverts_at: Option<String>,
    /// What it is then.
    #[serde(skip_serializing_if = "Option::is_none")]
    reverts_to: Option<Safe>,
    /// When it was written, UTC.
    #[schemars(extend("format" = "date-time"))]
    timestamp: String,
}

pub struct WritePin;

impl Tool for WritePin {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "gpio.write_pin",
        title: "Drive a GPIO pin",
        description: "Drive a GPIO pin high or low; one that nobody has becomes your output.\n\nUse when: switching something, with duration_ms for a pulse.\n\nReturns: the value as given, when and to what it reverts.",
        effect: Effect::Write { destructive: false, idempotent: true },
        volatile: true,
        estimated_tokens: 50,
        tags: &["gpio", "output", "pulse", "switch"],
        ..Meta::WRITE
    };

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        permit(cx, Self::META.name, args.pin, "write")
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let (owner, lines, pin) = (begin(cx, Some(args.pin)).await, &cx.world.gpio, args.pin);
        blocking::go_on(Self::META.name)?;
        let duration = args.duration_ms.map(|ms| Duration::from_millis(ms.into()));
        let written = lines
            .write(&owner, pin, args.value.level, duration, lasts(cx, args.lease_seconds))
            .map_err(|refusal| told(pin, refusal))?;
        cx.notes.changed();
        Ok(Out {
            pin: pin.bcm(),
            value: args.value,
            previous_value: written.previous.map(|level| args.value.with(level)),
            reverts_at: written.revert.map(|(at, _)| stamp(at)),
            reverts_to: written.revert.map(|(_, to)| back(lines, pin, to)),
            timestamp: clock::now(),
        })
    }
}
