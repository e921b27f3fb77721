//! `i2c.write`: writes bytes to one device, to a register or as they are (docs/contract/i2c.md).

use super::{
    args::{self, ADDRESS, BYTES, HIGHEST, LOWEST},
    mark, permit,
};
use crate::{
    registry::{context::Context, tool::Tool},
    tools::bytes,
};
use base::error::ToolError;
use contract::{
    config::HIGHEST_I2C_BUS,
    meta::{Effect, Meta},
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
    /// Begin here; sent first.
    register: Option<u8>,
    /// Bytes to write.
    #[schemars(length(min = 1, max = BYTES))]
    #[serde(deserialize_with = "bytes::<_, BYTES>")]
    data: Vec<u8>,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    bus: u32,
    #[schemars(range(max = ADDRESS))]
    address: u8,
    register: Option<u8>,
    /// Of `data`; the register is not counted.
    bytes_written: usize,
}

/// The effect depends on the device: repeating a write may repeat it, and previous contents may be lost.
pub(super) const META: Meta = Meta {
    effect: Effect::Write { destructive: true, idempotent: false },
    estimated_tokens: 50,
    tags: &["i2c", "hardware", "bus"],
    ..Meta::WRITE
};

pub struct Write;

impl Tool for Write {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "i2c.write",
        title: "Write to an I2C device",
        description: "Write bytes to an I2C device, in one transfer.\n\nUse when: you set a register or send a command.\n\nReturns: how many bytes it took.\n\nNote: not_found is a NACK; part of the bytes may have arrived.",
        ..META
    };

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        permit(cx, Self::META.name, args.bus, args.address, I2cAccessKind::Write)
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        mark(cx);
        let Args { bus, address, register, data } = args;
        let bytes_written = data.len();
        let all = register.into_iter().chain(data).collect();
        cx.services.i2c.transfer(Self::META.name, bus, address, all, 0).await?;
        cx.notes.changed();
        Ok(Out { bus, address: address.number(), register, bytes_written })
    }
}
