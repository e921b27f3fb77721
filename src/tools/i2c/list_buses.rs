//! `i2c.list_buses`: the buses of this machine (docs/contract/i2c.md).

use super::{TOOLS, granted, mark, scan_bus::DeviceInUse};
use crate::{
    registry::{context::Context, tool::Tool},
    tools::none::NoArgs,
};
use base::error::ToolError;
use contract::meta::Meta;
use hw::{
    i2c::{I2cAccess, I2cAdapter},
    model::{BoardProfile, I2cBus},
};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// By number.
    buses: Vec<BusOut>,
    /// What to do when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    hint: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct BusOut {
    bus: u32,
    /// What its adapter's driver calls it.
    description: Option<String>,
    /// Where it comes out on the 40-pin header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Header")]
    header: Option<Header>,
    /// Protocols of the adapter by the kernel's names: i2c, smbus_quick, smbus_byte, ... Absent when it cannot be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    functionality: Option<Vec<&'static str>>,
    /// Why it cannot be used, and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    problem: Option<String>,
    /// Whether the configuration, or a grant, lets any device on it be reached.
    allowed: bool,
    /// Ranges like "0x50-0x57" that may be read.
    readable: Vec<String>,
    writable: Vec<String>,
    /// Devices that drivers of the kernel have.
    in_use: Vec<DeviceInUse>,
}

/// Pins by their BCM numbers.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Header {
    sda: u8,
    scl: u8,
    purpose: &'static str,
}

impl From<&I2cBus> for Header {
    fn from(bus: &I2cBus) -> Self {
        Self { sda: bus.sda, scl: bus.scl, purpose: bus.purpose }
    }
}

fn entry(cx: &Context, bus: I2cAdapter, profile: Option<&BoardProfile>) -> BusOut {
    let i2c = &cx.services.i2c;
    let I2cAdapter { number, name } = bus;
    let mut allowed = i2c.allow().on(number);
    allowed.readable = allowed.readable.and(granted(cx, "i2c.read", number));
    allowed.writable = allowed.writable.and(granted(cx, "i2c.write", number));
    let some = TOOLS.iter().any(|tool| !granted(cx, tool.name(), number).is_empty());
    let (functionality, problem) = match i2c.port().functions(number) {
        Ok(functions) => (Some(functions.names()), None),
        Err(fault) => (None, Some(I2cAccess { bus: number, address: None, driver: None }.ended(&fault).advice())),
    };
    let on_header = profile.and_then(|profile| profile.i2c.iter().find(|bus| u32::from(bus.bus) == number));
    BusOut {
        bus: number,
        description: name,
        header: on_header.map(Header::from),
        functionality,
        problem,
        allowed: some || !allowed.readable.is_empty(),
        readable: allowed.readable.ranges(),
        writable: allowed.writable.ranges(),
        in_use: i2c.port().holders(number).into_iter().map(DeviceInUse::from).collect(),
    }
}

pub struct ListBuses;

impl Tool for ListBuses {
    type Args = NoArgs;
    type Out = Out;
    const META: Meta = Meta {
        name: "i2c.list_buses",
        title: "I2C buses",
        description: "List the I2C buses.\n\nUse when: before other I2C tools.\n\nReturns: number, adapter, header pins, protocols, what may be reached.",
        estimated_tokens: 250,
        tags: &["i2c", "hardware", "bus", "discovery"],
        ..Meta::READ
    };

    async fn call(cx: &Context, _: NoArgs) -> Result<Out, ToolError> {
        mark(cx);
        let profile = cx.services.machine.board.profile;
        let found = cx.services.i2c.port().buses();
        let hint = found.is_empty().then(|| {
            "the header's bus 1 needs dtparam=i2c_arm=on in config.txt, a restart, and the module i2c-dev (modprobe i2c-dev)"
                .to_owned()
        });
        Ok(Out { buses: found.into_iter().map(|bus| entry(cx, bus, profile)).collect(), hint })
    }
}
