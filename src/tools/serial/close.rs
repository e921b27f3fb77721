//! `serial.close`: gives a port back (docs/contract/serial.md).

use super::{PORT, begin, port};
use crate::registry::{
    context::Context,
    tool::{Needs, Tool},
};
use base::error::ToolError;
use contract::{
    config::PORT_NAME_BYTES,
    meta::{Listing, Meta},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// As serial.list_ports has it: "ttyUSB0".
    #[schemars(length(max = PORT_NAME_BYTES), regex(pattern = PORT))]
    #[serde(deserialize_with = "port")]
    port: String,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    port: String,
    /// Whether it was open.
    was_open: bool,
}

pub struct Close;

impl Tool for Close {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "serial.close",
        title: "Close a serial port",
        description: "Give a serial port back.\n\nUse when: done with it.\n\nReturns: whether it was open.\n\nNote: what was not read is dropped.",
        listing: Listing::Extra,
        volatile: true,
        estimated_tokens: 30,
        tags: &["serial", "uart", "hardware", "lease"],
        ..Meta::WRITE
    };
    const NEEDS: Option<Needs> = Some(|services| services.serial.allow().some(false));

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let owner = begin(cx);
        let closed = cx.services.serial.close(&owner, &args.port);
        let was_open = closed.map_err(|fault| fault.told(&args.port))?;
        if was_open {
            cx.notes.changed();
        }
        Ok(Out { port: args.port, was_open })
    }
}
