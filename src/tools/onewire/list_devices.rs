//! `onewire.list_devices`: the devices on the 1-Wire buses (docs/contract/onewire.md).

use super::mark;
use crate::{
    registry::{context::Context, tool::Tool},
    tools::none::NoArgs,
};
use base::error::ToolError;
use contract::meta::{Listing, Meta};
use hw::onewire::{Family, W1Kind, family};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// By address.
    devices: Vec<DeviceOut>,
    /// The kernel's buses: "w1_bus_master1".
    buses: Vec<String>,
    /// What to do when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    hint: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct DeviceOut {
    /// Family code and serial number: "28-0123456789ab".
    address: String,
    /// The parts with that family code; null for one that is not known here.
    family: Option<&'static str>,
    kind: Kind,
    /// Whether onewire.read has something to read of it.
    readable: bool,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Kind {
    Thermometer,
    Other,
}

impl From<String> for DeviceOut {
    fn from(address: String) -> Self {
        let known = family(&address);
        let is_thermometer = known.is_some_and(|family| family.kind == W1Kind::Thermometer);
        Self {
            family: known.map(|family| family.parts),
            kind: if is_thermometer { Kind::Thermometer } else { Kind::Other },
            readable: known.and_then(|family: &Family| family.file).is_some(),
            address,
        }
    }
}

pub struct ListDevices;

impl Tool for ListDevices {
    type Args = NoArgs;
    type Out = Out;
    const META: Meta = Meta {
        name: "onewire.list_devices",
        title: "1-Wire devices",
        description: "List the devices on the 1-Wire buses.\n\nUse when: you look for a DS18B20 or another 1-Wire part.\n\nReturns: addresses, what each is, whether it can be read.",
        listing: Listing::Extra,
        estimated_tokens: 100,
        tags: &["onewire", "hardware", "sensor", "discovery"],
        ..Meta::READ
    };

    async fn call(cx: &Context, _: NoArgs) -> Result<Out, ToolError> {
        mark(cx);
        let port = cx.services.onewire.port();
        let (devices, buses) = (port.devices(), port.masters());
        let hint = match (buses.is_empty(), devices.is_empty()) {
            (true, _) => Some("1-Wire needs dtoverlay=w1-gpio in config.txt and a restart; GPIO 4 is its pin then"),
            (false, true) => Some(
                "the bus has no device: check its wires and the pull-up of 4.7 kOhm; the kernel looks every ten seconds",
            ),
            _ => None,
        };
        Ok(Out { devices: devices.into_iter().map(DeviceOut::from).collect(), buses, hint: hint.map(str::to_owned) })
    }
}
