//! `gpio.wait_for_edge`: waits for the next change of an input, up to a time limit.

use super::{
    begin,
    info::stamp_of_edge,
    permit, pin,
    refusal::{broken, told},
    within,
};
use crate::registry::{context::Context, tool::Tool};
use base::error::ToolError;
use contract::{meta::Meta, values::Pin};
use hw::{
    gpio::listen::Listening,
    line::{Edge, Level, LineError},
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::time::Duration;
use tokio::time::{Instant, timeout};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Which {
    Rising,
    Falling,
    #[default]
    Both,
}

impl Which {
    fn is(self, edge: Edge) -> bool {
        match self {
            Self::Rising => edge.to == Level::High,
            Self::Falling => edge.to == Level::Low,
            Self::Both => true,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The Broadcom number.
    #[schemars(with = "u8", range(min = 0, max = 27))]
    #[serde(deserialize_with = "pin")]
    pin: Pin,
    /// Which change.
    #[serde(default)]
    edge: Which,
    /// Wait no longer.
    #[schemars(range(min = 1, max = 600_000))]
    #[serde(default = "half_a_minute", deserialize_with = "timeout_ms")]
    timeout_ms: u32,
    /// The level must last so long.
    #[schemars(range(min = 0, max = 1000))]
    #[serde(default, deserialize_with = "debounce_ms")]
    debounce_ms: u32,
}

fn half_a_minute() -> u32 {
    30_000
}
fn timeout_ms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let ms = within(Some(u32::deserialize(deserializer)?), 1, 600_000, "milliseconds")?;
    Ok(ms.unwrap_or_else(half_a_minute))
}
fn debounce_ms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    Ok(within(Some(u32::deserialize(deserializer)?), 0, 1000, "milliseconds")?.unwrap_or_default())
}

/// What was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Seen {
    Rising,
    Falling,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// The Broadcom number.
    #[schemars(range(min = 0, max = 27))]
    pin: u8,
    /// Null when there was none in time.
    edge: Option<Seen>,
    /// The level at the end.
    value: Level,
    /// When the kernel saw it, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    timestamp: Option<String>,
    /// The same by the kernel's monotonic clock, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    monotonic_ns: Option<u64>,
    /// How long this call waited, in milliseconds.
    waited_ms: u64,
}

pub struct WaitForEdge;

impl Tool for WaitForEdge {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "gpio.wait_for_edge",
        title: "Wait for a GPIO edge",
        description: "Wait until an input changes.\n\nUse when: a button or sensor is about to act.\n\nReturns: the edge with the kernel's time, or null.",
        timeout_seconds: 610,
        long: true,
        estimated_tokens: 60,
        tags: &["gpio", "input", "interrupt", "button"],
        ..Meta::READ
    };

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        permit(cx, Self::META.name, args.pin, "read")
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        begin(cx, Some(args.pin)).await;
        let pin = args.pin;
        let began = Instant::now();
        let mut listening = cx.services.gpio.listen(pin).map_err(|refusal| told(pin, refusal))?;
        let limit = Duration::from_millis(args.timeout_ms.into());
        let debounce = Duration::from_millis(args.debounce_ms.into());
        let seen = match timeout(limit, wanted(&mut listening, args.edge, debounce)).await {
            Ok(None) => return Err(broken(Some(pin), LineError::Closed)),
            Ok(seen) => seen,
            Err(_) => None,
        };
        let value = listening.level().map_err(|fault| told(pin, fault.into()))?;
        Ok(Out {
            pin: pin.bcm(),
            edge: seen.map(|edge| if edge.to.is_high() { Seen::Rising } else { Seen::Falling }),
            value,
            timestamp: seen.map(|edge| stamp_of_edge(edge.at)),
            monotonic_ns: seen.and_then(|edge| u64::try_from(edge.at.as_nanos()).ok()),
            waited_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        })
    }
}

/// The first edge of that kind whose level stays stable for `debounce`; bounces are ignored.
async fn wanted(listening: &mut Listening, which: Which, debounce: Duration) -> Option<Edge> {
    let mut first = None;
    loop {
        let edge = match (first, debounce.is_zero()) {
            (Some(_), false) => match timeout(debounce, listening.next()).await {
                Ok(edge) => edge?,
                // No change during `debounce`: the level is stable.
                Err(_) => {
                    if let Some(edge) = first.take().filter(|edge: &Edge| which.is(*edge)) {
                        return Some(edge);
                    }
                    continue;
                }
            },
            _ => listening.next().await?,
        };
        if debounce.is_zero() && which.is(edge) {
            return Some(edge);
        }
        // A change back within `debounce` cancels the first edge; a new one may follow.
        first = match first {
            Some(before) if edge.to != before.to => None,
            Some(before) => Some(before),
            None => Some(edge),
        };
    }
}
