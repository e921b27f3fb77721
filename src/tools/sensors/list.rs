//! `sensors.list`: the sensors that the kernel has drivers for. No device is read.

use super::{NONE, mark, measured::Measured};
use crate::{
    registry::{context::Context, tool::Tool},
    tools::{
        empty,
        page::{Offset, PageLimit, Pagination},
    },
};
use base::error::ToolError;
use contract::meta::{Listing, Meta};
use hw::sensors::Sensor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Only what measures this.
    #[serde(default)]
    quantity: Option<Measured>,
    #[serde(default)]
    limit: PageLimit,
    #[serde(default)]
    offset: Offset,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// By name.
    sensors: Vec<SensorOut>,
    pagination: Pagination,
    /// What to know about this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    note: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct SensorOut {
    /// Chip, device and channel, like "lm75@1-0048/temp1"; the same after a restart.
    name: String,
    quantity: &'static str,
    unit: &'static str,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    label: Option<String>,
    chip: String,
    /// Of the kernel: hwmon, iio or w1.
    interface: &'static str,
    /// What it hangs on, like "i2c-1".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    bus: Option<String>,
    /// Where on it, like "0x48".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    address: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    driver: Option<String>,
    /// Its node in the device tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    device_tree: Option<String>,
}

impl From<Sensor> for SensorOut {
    fn from(sensor: Sensor) -> Self {
        let Sensor { name, quantity, label, chip, interface, device, .. } = sensor;
        Self {
            name,
            quantity: quantity.word,
            unit: quantity.unit,
            label,
            chip,
            interface,
            bus: device.bus,
            address: device.address,
            driver: device.driver,
            device_tree: device.device_tree,
        }
    }
}

pub struct List;

impl Tool for List {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "sensors.list",
        title: "Sensors",
        description: "List the sensors that the kernel has drivers for.\n\nUse when: you need a sensor's name, or ask what can be measured.\n\nReturns: name, quantity, unit, chip, bus, address, driver.",
        listing: Listing::Extra,
        estimated_tokens: 500,
        paginated: true,
        tags: &["sensors", "hardware", "discovery"],
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        mark(cx);
        let mut sensors = cx.services.machine.sensors.list();
        let is_none = sensors.is_empty();
        if let Some(Measured(quantity)) = args.quantity {
            sensors.retain(|sensor| sensor.quantity == quantity);
        }
        let (page, pagination) = Pagination::of(sensors, args.limit, args.offset);
        let note = empty::beyond(&pagination).or_else(|| is_none.then(|| NONE.to_owned()));
        Ok(Out { sensors: page.into_iter().map(SensorOut::from).collect(), pagination, note })
    }
}
