//! `i2c.transfer`: write, then read with a repeated start, so that no other transfer comes between.

use super::{
    args::{self, ADDRESS, BYTES, HIGHEST, LOWEST},
    mark, permit, write,
};
use crate::{
    registry::{context::Context, tool::Tool},
    tools::bytes,
};
use base::error::ToolError;
use contract::{
    config::HIGHEST_I2C_BUS,
    meta::{Listing, Meta},
    values::I2cAddress,
};
use hw::i2c::I2cAccessKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// N of /dev/i2c-N.
    #[schemars(range(max = HIGHEST_I2C_BUS))]
    #[serde(deserialize_with = "args::bus")]
    bus: u32,
    /// Without the direction bit: a data sheet's 0x90 is 72.
    #[schemars(with = "u8", range(min = LOWEST, max = HIGHEST))]
    #[serde(deserialize_with = "args::address")]
    address: I2cAddress,
    /// Bytes to write first.
    #[schemars(length(min = 1, max = BYTES))]
    #[serde(deserialize_with = "bytes::<_, BYTES>")]
    data: Vec<u8>,
    /// Bytes to read then.
    #[schemars(range(min = 1, max = BYTES))]
    #[serde(deserialize_with = "args::length")]
    length: u8,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    bus: u32,
    #[schemars(range(max = ADDRESS))]
    address: u8,
    bytes_written: usize,
    /// What was read, in the order it came.
    #[schemars(length(min = 1, max = BYTES))]
    data: Vec<u8>,
}

pub struct Transfer;

impl Tool for Transfer {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "i2c.transfer",
        title: "Write to an I2C device, then read",
        description: "Write bytes to an I2C device and read its answer, with a repeated start.\n\nUse when: a register has two bytes of address, or a command has an answer.\n\nReturns: the bytes read.\n\nNote: SMBus adapters can write one byte here.",
        listing: Listing::Extra,
        estimated_tokens: 60,
        ..write::META
    };

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        permit(cx, Self::META.name, args.bus, args.address, I2cAccessKind::Write)
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        mark(cx);
        let Args { bus, address, data, length } = args;
        let bytes_written = data.len();
        let i2c = &cx.services.i2c;
        let data = i2c.transfer(Self::META.name, bus, address, data, length.into()).await?;
        cx.notes.changed();
        Ok(Out { bus, address: address.number(), bytes_written, data })
    }
}
