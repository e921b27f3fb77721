//! `serial.open`: opens a port for the caller alone (docs/contract/serial.md).

use super::{PORT, begin, info::LineOut, permit, port};
use crate::{
    registry::{
        context::Context,
        tool::{Needs, Tool},
    },
    tools::{
        gpio::{info::stamp, lasts, lease_seconds},
        within,
    },
};
use base::error::ToolError;
use contract::{
    config::PORT_NAME_BYTES,
    meta::{Listing, Meta},
};
use hw::serial::{Flow, Line, Parity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Slowest and fastest line, in bits a second: what the kernel's drivers have names for.
const SLOWEST: u32 = 50;
const FASTEST: u32 = 4_000_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// As serial.list_ports has it: "ttyUSB0".
    #[schemars(length(max = PORT_NAME_BYTES), regex(pattern = PORT))]
    #[serde(deserialize_with = "port")]
    port: String,
    /// Bits a second.
    #[schemars(range(min = SLOWEST, max = FASTEST))]
    #[serde(default = "usual_baud", deserialize_with = "within::<_, SLOWEST, FASTEST>")]
    baud: u32,
    /// Bits of a character.
    #[schemars(range(min = 5, max = 8))]
    #[serde(default = "eight", deserialize_with = "within::<_, 5, 8>")]
    data_bits: u32,
    /// The check bit.
    #[serde(default)]
    parity: Parity,
    /// Bits between characters.
    #[schemars(range(min = 1, max = 2))]
    #[serde(default = "one", deserialize_with = "within::<_, 1, 2>")]
    stop_bits: u32,
    /// How each end stops the other.
    #[serde(default)]
    flow_control: Flow,
    /// Lease without use, though you may have gone; by default 60 over HTTP, else the connection.
    #[schemars(range(min = 1, max = 3600))]
    #[serde(default, deserialize_with = "lease_seconds")]
    lease_seconds: Option<u32>,
}

fn usual_baud() -> u32 {
    115_200
}
fn eight() -> u32 {
    8
}
fn one() -> u32 {
    1
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    port: String,
    line: LineOut,
    /// When it is closed unless it is used, UTC; absent where that is when the connection ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    expires_at: Option<String>,
}

pub struct Open;

impl Tool for Open {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "serial.open",
        title: "Open a serial port",
        description: "Open a serial port for you alone, or change its settings.\n\nUse when: before serial.read and serial.write.\n\nReturns: the settings of the line.\n\nNote: it is yours until serial.close, your connection ends or the lease runs out. From now on what arrives is kept, 64 KiB at most. Opening may reset a board at the other end (DTR).",
        listing: Listing::Extra,
        volatile: true,
        estimated_tokens: 60,
        tags: &["serial", "uart", "hardware", "lease"],
        ..Meta::WRITE
    };
    const NEEDS: Option<Needs> = Some(|services| services.serial.allow().some(false));

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        permit(cx, &args.port, "open")
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let (owner, serial) = (begin(cx), &cx.services.serial);
        let Args { port, baud, data_bits, parity, stop_bits, flow_control: flow, .. } = args;
        // Both are bounded above.
        let [data_bits, stop_bits] = [data_bits, stop_bits].map(|bits| bits.to_le_bytes()[0]);
        let line = Line { baud, data_bits, parity, stop_bits, flow };
        let lasts = lasts(cx, args.lease_seconds);
        serial.open(Self::META.name, &owner, &port, line, lasts).await.map_err(|fault| fault.told(&port))?;
        cx.notes.changed();
        let ends = serial.status(&port, &owner).and_then(|status| status.ends);
        Ok(Out { port, line: line.into(), expires_at: ends.map(stamp) })
    }
}
