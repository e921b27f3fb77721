//! `fleet.get_summary`: how many devices there are, and how they are (docs/contract/fleet.md).

use super::served;
use crate::{
    fleet_port::DeviceHealth,
    registry::{context::Context, tool::Tool},
};
use base::error::ToolError;
use contract::meta::Meta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Devices that are named, at most: a summary stays one.
const NAMED: usize = 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    total_devices: usize,
    health_breakdown: Breakdown,
    /// Devices by what they run; those that never sent a status are in none.
    versions: BTreeMap<String, usize>,
    /// Devices that refuse every change.
    halted: usize,
    /// Requests for approval that wait for a person, of all devices.
    open_asks: u64,
    /// Devices that are not good, at most 20; fleet.list_devices has all.
    attention: Vec<Noted>,
}

#[derive(Default, Serialize, JsonSchema)]
struct Breakdown {
    good: usize,
    /// They report a problem.
    wrong: usize,
    /// They do not know how they are.
    unknown: usize,
    /// No status for too long, or never one.
    silent: usize,
}

#[derive(Serialize, JsonSchema)]
struct Noted {
    name: String,
    health: DeviceHealth,
    version: Option<String>,
}

pub struct GetSummary;

impl Tool for GetSummary {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "fleet.get_summary",
        title: "Summarize the fleet",
        description: "How all devices of the fleet are.\n\nUse when: somebody asks how the fleet is, or which devices need attention.\n\nReturns: counts by health and version, and devices that are not good.",
        open_world: true,
        estimated_tokens: 400,
        tags: &["fleet", "health"],
        ..Meta::READ
    };

    async fn call(cx: &Context, _: Args) -> Result<Out, ToolError> {
        let devices = served(cx)?.port.devices().await?;
        let (mut health_breakdown, mut versions) = (Breakdown::default(), BTreeMap::<String, usize>::new());
        for device in &devices {
            *match device.health {
                DeviceHealth::Good => &mut health_breakdown.good,
                DeviceHealth::Wrong => &mut health_breakdown.wrong,
                DeviceHealth::Unknown => &mut health_breakdown.unknown,
                DeviceHealth::Silent => &mut health_breakdown.silent,
            } += 1;
            if let Some(version) = &device.version {
                *versions.entry(version.clone()).or_default() += 1;
            }
        }
        Ok(Out {
            total_devices: devices.len(),
            health_breakdown,
            versions,
            halted: devices.iter().filter(|device| device.halted == Some(true)).count(),
            open_asks: devices.iter().filter_map(|device| device.open_asks).sum(),
            attention: devices
                .into_iter()
                .filter(|device| device.health != DeviceHealth::Good)
                .take(NAMED)
                .map(|device| Noted { name: device.name, health: device.health, version: device.version })
                .collect(),
        })
    }
}
