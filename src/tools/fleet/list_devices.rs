//! `fleet.list_devices`: devices by version, health and tag (docs/contract/fleet.md).

use super::served;
use crate::{
    fleet_port::{DeviceHealth, FleetDeviceState},
    registry::{context::Context, tool::Tool},
    tools::{
        empty,
        page::{Offset, PageLimit, Pagination},
    },
};
use base::error::ToolError;
use contract::meta::Meta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Only devices that run this version.
    #[serde(default)]
    version: Option<String>,
    /// Only devices with this health.
    #[serde(default)]
    health: Option<DeviceHealth>,
    /// Only devices with this tag.
    #[serde(default)]
    tag: Option<String>,
    /// true: only silent devices; false: only others.
    #[serde(default)]
    silent: Option<bool>,
    #[serde(default)]
    limit: PageLimit,
    #[serde(default)]
    offset: Offset,
}

impl Args {
    fn fits(&self, device: &FleetDeviceState) -> bool {
        self.version.as_ref().is_none_or(|version| device.version.as_ref() == Some(version))
            && self.health.is_none_or(|health| device.health == health)
            && self.tag.as_ref().is_none_or(|tag| device.tags.contains(tag))
            && self.silent.is_none_or(|silent| (device.health == DeviceHealth::Silent) == silent)
    }
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// By name.
    devices: Vec<FleetDeviceState>,
    pagination: Pagination,
    /// What to know about this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    note: Option<String>,
}

pub struct ListDevices;

impl Tool for ListDevices {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "fleet.list_devices",
        title: "List the fleet's devices",
        description: "Devices of the fleet, as their last signed status says.\n\nUse when: you need a device's name, or want those with a version, health or tag.\n\nReturns: a page of them, with version, health, problems and last update.",
        paginated: true,
        open_world: true,
        estimated_tokens: 8000,
        tags: &["fleet", "devices"],
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let mut devices = served(cx)?.port.devices().await?;
        let all = devices.len();
        devices.retain(|device| args.fits(device));
        let (devices, pagination) = Pagination::of(devices, args.limit, args.offset);
        Ok(Out { note: empty::filtered(&pagination, all, "devices"), devices, pagination })
    }
}
