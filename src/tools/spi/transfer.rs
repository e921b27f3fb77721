//! `spi.transfer`: sends bytes to an SPI device and returns those that come back meanwhile (docs/contract/spi.md).

use super::{mark, speed};
use crate::{
    registry::{
        context::Context,
        tool::{Needs, Tool},
    },
    tools::{bytes, within},
};
use base::error::ToolError;
use contract::{
    config::{FASTEST_SPI_HZ, HIGHEST_SPI, SLOWEST_SPI_HZ},
    meta::{Effect, Listing, Meta},
};
use hw::spi::{BYTES, SpiClock, USUAL_HZ};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};

pub(super) const NAME: &str = "spi.transfer";
/// Longest delay before the end of the chip select, in microseconds: what the kernel takes.
const DELAY_US: u32 = 65_535;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// B of /dev/spidevB.C.
    #[schemars(range(max = HIGHEST_SPI))]
    #[serde(deserialize_with = "within::<_, 0, HIGHEST_SPI>")]
    bus: u32,
    /// C of /dev/spidevB.C.
    #[schemars(range(max = HIGHEST_SPI))]
    #[serde(deserialize_with = "within::<_, 0, HIGHEST_SPI>")]
    chip_select: u32,
    /// Bytes to send; as many come back.
    #[schemars(length(min = 1, max = BYTES))]
    #[serde(deserialize_with = "bytes::<_, BYTES>")]
    data: Vec<u8>,
    /// The clock; 500000, or the device's fastest if that is slower.
    #[schemars(range(min = SLOWEST_SPI_HZ, max = FASTEST_SPI_HZ))]
    #[serde(default, deserialize_with = "speed_hz")]
    speed_hz: Option<u32>,
    /// Clock polarity and phase.
    #[schemars(range(max = 3))]
    #[serde(default, deserialize_with = "within::<_, 0, 3>")]
    mode: u32,
    /// Between the last bit and the end of the chip select, in microseconds.
    #[schemars(range(max = DELAY_US))]
    #[serde(default, deserialize_with = "within::<_, 0, DELAY_US>")]
    delay_us: u32,
}

fn speed_hz<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    match Option::<u32>::deserialize(deserializer)? {
        Some(hertz) if !(SLOWEST_SPI_HZ..=FASTEST_SPI_HZ).contains(&hertz) => {
            Err(D::Error::custom(format!("{hertz} Hz where {SLOWEST_SPI_HZ} to {FASTEST_SPI_HZ} are allowed")))
        }
        hertz => Ok(hertz),
    }
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    bus: u32,
    chip_select: u32,
    /// The clock that was asked for; the controller takes the next slower one that it can.
    speed_hz: u32,
    /// What came back, a byte for each that was sent.
    #[schemars(length(min = 1, max = BYTES))]
    data: Vec<u8>,
}

pub struct Transfer;

impl Tool for Transfer {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: NAME,
        title: "Exchange bytes with an SPI device",
        description: "Send bytes to an SPI device and read those that come back at the same time.\n\nUse when: you read a converter or a sensor on SPI, or send a command.\n\nReturns: as many bytes as were sent.\n\nNote: to read, send as many bytes more as you want back (zeros, mostly). A missing device answers with 0 or 255, not with an error.",
        listing: Listing::Extra,
        effect: Effect::Write { destructive: true, idempotent: false },
        volatile: true,
        estimated_tokens: 80,
        tags: &["spi", "hardware", "sensor", "bus"],
        ..Meta::WRITE
    };
    const NEEDS: Option<Needs> = Some(|services| services.spi.allow().some());

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        let device = (args.bus, args.chip_select);
        let fastest = speed(cx, device)?;
        match args.speed_hz {
            Some(hertz) if hertz > fastest => {
                Err(ToolError::denied(format!("spidev{}.{} is allowed {fastest} Hz at most", device.0, device.1))
                    .with("parameter", "speed_hz")
                    .with("max_speed_hz", fastest)
                    .hint("take a slower clock; the owner of this machine can raise max_speed_hz in [[spi.devices]]"))
            }
            _ => Ok(()),
        }
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        mark(cx);
        let Args { bus, chip_select, data, mode, delay_us, .. } = args;
        let device = (bus, chip_select);
        let fastest = speed(cx, device)?;
        let speed_hz = args.speed_hz.unwrap_or(USUAL_HZ).min(fastest);
        // Both are bounded above.
        let small = |number: u32| u16::try_from(number).unwrap_or(u16::MAX);
        let clock = SpiClock { mode: small(mode).to_le_bytes()[0], speed_hz, delay_us: small(delay_us) };
        let data = cx.services.spi.transfer(NAME, device, clock, data).await?;
        cx.notes.changed();
        Ok(Out { bus, chip_select, speed_hz, data })
    }
}
