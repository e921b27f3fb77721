//! `gpio.write_pin`: drives a pin, optionally for a limited time.

use super::{
    begin,
    info::{back, stamps},
    lasts, lease_seconds, permit, pin,
    refusal::told,
    value::Value,
    within,
};
use crate::registry::{context::Context, tool::Tool};
use base::{clock, error::ToolError, os::blocking};
use contract::{
    meta::{Effect, Meta},
    values::Pin,
};
use hw::gpio::{lease::HeldBy, rules::Safe};
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
    /// The level to drive.
    #[schemars(extend("x-advertised" = {"type": "string", "enum": ["high", "low"]}))]
    value: Value,
    /// Take it back after so long, though you may have gone.
    #[schemars(range(min = 1, max = 600_000))]
    #[serde(default, deserialize_with = "duration_ms")]
    duration_ms: Option<u32>,
    /// Lease without use, though you may have gone; by default 60 over HTTP, else the connection.
    #[schemars(range(min = 1, max = 3600))]
    #[serde(default, deserialize_with = "lease_seconds")]
    lease_seconds: Option<u32>,
    /// Blink: value and the other level in turn, so many times, though you may have gone; then the safe state.
    #[schemars(range(min = 1, max = MOST_TIMES))]
    #[serde(default, deserialize_with = "repeat")]
    repeat: Option<u32>,
    /// How long each of those levels lasts; 500 unless given.
    #[schemars(range(min = SHORTEST_MS, max = LONGEST_MS))]
    #[serde(default, deserialize_with = "interval_ms")]
    interval_ms: Option<u32>,
}

/// As many as fit into [`WHOLE_MS`] at the default interval.
const MOST_TIMES: u32 = 600;
/// Shortest interval in milliseconds. A shorter one wakes the processor more than 50 times a second and is not visible:
/// use gpio.set_pwm.
const SHORTEST_MS: u32 = 20;
const LONGEST_MS: u32 = 60_000;
/// Default duration of each level, in milliseconds: visible and short.
const USUAL_MS: u32 = 500;
/// Longest repetition, in milliseconds: as long as `duration_ms`, because nobody watches either.
const WHOLE_MS: u64 = 600_000;

fn repeat<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    within(Option::<u32>::deserialize(deserializer)?, 1, MOST_TIMES, "times")
}

fn interval_ms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    within(Option::<u32>::deserialize(deserializer)?, SHORTEST_MS, LONGEST_MS, "milliseconds")
}

/// Describes a repetition in the question for an approval.
fn repetition(args: &serde_json::Value) -> Option<String> {
    let number = |name: &str| args.get(name).and_then(serde_json::Value::as_u64);
    let (times, interval) = (number("repeat")?, number("interval_ms").unwrap_or(USUAL_MS.into()));
    let whole = Duration::from_millis(interval.saturating_mul(times).saturating_mul(2)).as_secs_f64();
    Some(format!(
        "it repeats {times} times, each level {interval} ms, {whole} s in all, though the caller may have gone; then the pin goes to \
         its safe state"
    ))
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
    /// When the pin goes to its safe state unless it is used, UTC; absent where that is when the connection ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    expires_at: Option<String>,
    /// What ends it, beside gpio.release_pin.
    held_by: HeldBy,
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
        description: "Drive a GPIO pin high or low; one that nobody has becomes your output.\n\nUse when: switching something, with duration_ms for a pulse, with repeat to blink.\n\nReturns: the value as given, when and to what it reverts, when it ends.",
        effect: Effect::Write { destructive: false, idempotent: true },
        volatile: true,
        explain: Some(repetition),
        estimated_tokens: 50,
        tags: &["gpio", "output", "pulse", "switch", "blink"],
        ..Meta::WRITE
    };

    fn check(args: &Args) -> Result<(), ToolError> {
        let Some(times) = args.repeat else {
            return match args.interval_ms {
                Some(_) => Err(ToolError::ignored("interval_ms", "it is the time between the levels of repeat")
                    .hint("give repeat as well, or duration_ms for one pulse")),
                None => Ok(()),
            };
        };
        for (name, given) in [("duration_ms", args.duration_ms), ("lease_seconds", args.lease_seconds)] {
            if given.is_some() {
                return Err(ToolError::ignored(name, "repeat and interval_ms say how long a repetition lasts")
                    .hint(format!("leave {name} out, or repeat")));
            }
        }
        let whole = 2 * u64::from(times) * u64::from(args.interval_ms.unwrap_or(USUAL_MS));
        if whole > WHOLE_MS {
            return Err(ToolError::invalid(format!(
                "repeat and interval_ms make {whole} ms (twice repeat times interval_ms), at most {WHOLE_MS} are allowed"
            ))
            .with("parameter", "/repeat")
            .hint("take fewer repetitions or a shorter interval; gpio.set_pwm makes a wave that goes on until it is released"));
        }
        Ok(())
    }

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        permit(cx, Self::META.name, args.pin, "write")
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let (owner, lines, pin) = (begin(cx, Some(args.pin)).await, &cx.services.gpio, args.pin);
        blocking::go_on(Self::META.name)?;
        let level = args.value.level;
        let written = match args.repeat {
            Some(times) => {
                let interval = Duration::from_millis(args.interval_ms.unwrap_or(USUAL_MS).into());
                lines.repeat(&owner, pin, level, times, interval)
            }
            None => {
                let duration = args.duration_ms.map(|ms| Duration::from_millis(ms.into()));
                lines.write(&owner, pin, level, duration, lasts(cx, args.lease_seconds))
            }
        };
        let written = written.map_err(|refusal| told(pin, refusal))?;
        cx.notes.changed();
        let (stamp, shown) = (stamps(), cx.shows(Self::META.name, "gpio:read"));
        Ok(Out {
            pin: pin.bcm(),
            value: args.value,
            previous_value: written.previous.filter(|_| shown).map(|level| args.value.with(level)),
            reverts_at: written.revert.map(|(at, _)| stamp(at)),
            reverts_to: written.revert.map(|(_, to)| back(lines, pin, to)),
            expires_at: written.ends.map(stamp),
            held_by: written.held_by,
            timestamp: clock::now(),
        })
    }
}
