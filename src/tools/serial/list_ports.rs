//! `serial.list_ports`: the serial ports, and how those are that are open (docs/contract/serial.md).

use super::{PORT, begin, info::PortOut, port};
use crate::registry::{context::Context, tool::Tool};
use base::error::ToolError;
use contract::{
    config::PORT_NAME_BYTES,
    meta::{Listing, Meta},
};
use hw::serial::{HEADER_UART, SerialPort};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Only this port, with a preview of what has arrived.
    #[schemars(length(max = PORT_NAME_BYTES), regex(pattern = PORT))]
    #[serde(default, deserialize_with = "some_port")]
    port: Option<String>,
}

fn some_port<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    port(deserializer).map(Some)
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// By name.
    ports: Vec<PortOut>,
    /// What to do when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    hint: Option<String>,
}

pub struct ListPorts;

impl Tool for ListPorts {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "serial.list_ports",
        title: "Serial ports",
        description: "List the serial ports.\n\nUse when: before serial.open, or to see whether something has arrived; raspi://serial/{port} tells of that.\n\nReturns: ports, drivers, what may be opened, who has one open and what waits there.",
        listing: Listing::Extra,
        estimated_tokens: 150,
        tags: &["serial", "uart", "hardware", "discovery"],
        resource_uri: Some("raspi://serial/{port}"),
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let owner = begin(cx);
        let serial = &cx.services.serial;
        let mut ports = serial.ports();
        if let Some(wanted) = &args.port {
            cx.notes.resource(format!("raspi://serial/{}", wanted.replace('/', "%2F")));
            ports.retain(|port| port.name == *wanted);
            // A device that was unplugged is still open for somebody, who has bytes to read.
            if ports.is_empty() && serial.status(wanted, &owner).is_some() {
                ports.push(SerialPort { name: wanted.clone(), driver: None, product: None, taken: None });
            }
            if ports.is_empty() {
                return Err(ToolError::not_found(format!("there is no serial port {wanted}"))
                    .with("port", wanted.as_str())
                    .hint("serial.list_ports without a port lists those there are"));
            }
        }
        let alone = args.port.is_some();
        let none = || format!("{HEADER_UART}; USB adapters appear by themselves");
        Ok(Out {
            hint: ports.is_empty().then(none),
            ports: ports.into_iter().map(|port| PortOut::of(cx, &owner, port, alone)).collect(),
        })
    }
}
