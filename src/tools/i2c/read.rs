//! `i2c.read`: reads bytes from one device, from a register or its current position (docs/contract/i2c.md).

use super::{
    args::{self, ADDRESS, BYTES, HIGHEST, LOWEST},
    mark, permit,
};
use crate::registry::{context::Context, tool::Tool};
use base::error::ToolError;
use contract::{config::HIGHEST_I2C_BUS, meta::Meta, values::I2cAddress};
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
    /// Begin here; sent first.
    register: Option<u8>,
    /// Bytes to read.
    #[schemars(range(min = 1, max = BYTES))]
    #[serde(deserialize_with = "args::length")]
    length: u8,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    bus: u32,
    #[schemars(range(max = ADDRESS))]
    address: u8,
    register: Option<u8>,
    /// In the order they came.
    #[schemars(length(min = 1, max = BYTES))]
    data: Vec<u8>,
}

pub struct Read;

impl Tool for Read {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "i2c.read",
        title: "Read an I2C device",
        description: "Read bytes from an I2C device.\n\nUse when: you want a register or a sensor's value.\n\nReturns: the bytes.",
        estimated_tokens: 60,
        tags: &["i2c", "hardware", "sensor", "bus"],
        ..Meta::READ
    };

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        permit(cx, Self::META.name, args.bus, args.address, I2cAccessKind::Read)
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        mark(cx);
        let Args { bus, address, register, length } = args;
        let first = register.into_iter().collect();
        let i2c = &cx.services.i2c;
        let data = i2c.transfer(Self::META.name, bus, address, first, length.into()).await?;
        Ok(Out { bus, address: address.number(), register, data })
    }
}
