//! `spi.list_buses`: the SPI buses and their devices (docs/contract/spi.md).

use super::{mark, speed};
use crate::{
    registry::{context::Context, tool::Tool},
    tools::none::NoArgs,
};
use base::error::ToolError;
use contract::meta::{Listing, Meta};
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
    /// By chip select.
    devices: Vec<DeviceOut>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct DeviceOut {
    chip_select: u32,
    /// What the kernel takes it for.
    description: Option<String>,
    /// Whether spi.transfer may reach it.
    allowed: bool,
    /// The fastest clock that is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    max_speed_hz: Option<u32>,
}

pub struct ListBuses;

impl Tool for ListBuses {
    type Args = NoArgs;
    type Out = Out;
    const META: Meta = Meta {
        name: "spi.list_buses",
        title: "SPI buses",
        description: "List the SPI buses and their devices.\n\nUse when: before spi.transfer.\n\nReturns: buses, chip selects, what may be reached and how fast.",
        listing: Listing::Extra,
        estimated_tokens: 100,
        tags: &["spi", "hardware", "bus", "discovery"],
        ..Meta::READ
    };

    async fn call(cx: &Context, _: NoArgs) -> Result<Out, ToolError> {
        mark(cx);
        let mut buses: Vec<BusOut> = Vec::new();
        for device in cx.services.spi.devices() {
            let max_speed_hz = speed(cx, (device.bus, device.chip_select)).ok();
            let out = DeviceOut {
                chip_select: device.chip_select,
                description: device.name,
                allowed: max_speed_hz.is_some(),
                max_speed_hz,
            };
            match buses.last_mut().filter(|bus| bus.bus == device.bus) {
                Some(bus) => bus.devices.push(out),
                None => buses.push(BusOut { bus: device.bus, devices: vec![out] }),
            }
        }
        let hint =
            buses.is_empty().then(|| "the header's bus 0 needs dtparam=spi=on in config.txt and a restart".to_owned());
        Ok(Out { buses, hint })
    }
}
