//! `onewire.read`: a temperature, or the bytes of another device (docs/contract/onewire.md).

use super::mark;
use crate::registry::{context::Context, tool::Tool};
use base::{clock, error::ToolError};
use contract::meta::{Listing, Meta};
use hw::onewire::{BYTES, W1Kind, is_address, scratchpad};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// As onewire.list_devices has it: "28-0123456789ab".
    #[schemars(regex(pattern = "^[0-9a-f]{2}-[0-9a-f]{12}$"), extend("examples" = ["28-0123456789ab"]))]
    #[serde(deserialize_with = "address")]
    address: String,
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if is_address(&text) {
        return Ok(text);
    }
    Err(D::Error::custom(format!("{text:?} is no address like \"28-0123456789ab\"")))
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    address: String,
    /// The parts with its family code.
    family: &'static str,
    /// Of a thermometer; null where the check sum does not fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    celsius: Option<Option<f64>>,
    /// Whether the check sum of its bytes fits. Absent for what is no thermometer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    crc_ok: Option<bool>,
    /// Its bytes: the scratchpad of a thermometer, the memory or the pins of others.
    #[schemars(length(max = BYTES))]
    data: Vec<u8>,
    /// Whether there are more bytes than these.
    truncated: bool,
    /// What to know about the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    note: Option<&'static str>,
    /// When it was read, UTC.
    #[schemars(extend("format" = "date-time"))]
    timestamp: String,
}

/// What a thermometer has after power-up, until it has measured.
const POWER_UP: f64 = 85.0;

pub struct Read;

impl Tool for Read {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "onewire.read",
        title: "Read a 1-Wire device",
        description: "Read a 1-Wire device: a thermometer's value, or the bytes of a memory or switch.\n\nUse when: you want the temperature of a DS18B20.\n\nReturns: degrees Celsius and whether the check sum fits, or bytes.\n\nNote: a thermometer takes about a second.",
        listing: Listing::Extra,
        estimated_tokens: 80,
        tags: &["onewire", "hardware", "sensor", "temperature"],
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        mark(cx);
        let Args { address } = args;
        let (family, mut bytes) = cx.services.onewire.read(Self::META.name, &address).await?;
        let (mut celsius, mut crc_ok, mut note) = (None, None, None);
        if family.kind == W1Kind::Thermometer {
            let Some(read) = std::str::from_utf8(&bytes).ok().and_then(scratchpad) else {
                return Err(ToolError::unavailable(format!("{address} does not answer with a temperature"))
                    .with("address", address)
                    .hint("check its wires, power and pull-up, and read it again"));
            };
            let whole = read.is_whole();
            note = match (whole, read.celsius == POWER_UP) {
                (false, _) => Some("its bits did not arrive whole: check wires and pull-up, and read it again"),
                (true, true) => {
                    Some("85 degrees is also what it has after power-up, before it has measured: read it again")
                }
                (true, false) => None,
            };
            (celsius, crc_ok) = (Some(whole.then_some(read.celsius)), Some(whole));
            bytes = read.bytes;
        }
        let truncated = bytes.len() > BYTES;
        bytes.truncate(BYTES);
        let (family, timestamp) = (family.parts, clock::now());
        Ok(Out { address, family, celsius, crc_ok, data: bytes, truncated, note, timestamp })
    }
}
