//! `fleet.*`: all devices of a fleet, from its owner's console. Not tools of a device: they are in [`TOOLS`] alone, not in
//! [`super::NAMESPACES`].

mod apply_rollout;
mod call;
mod get_summary;
mod halt;
mod list_devices;
mod plan_rollout;

use crate::{
    fleet_port::ServedFleet,
    registry::{context::Context, row::ToolRow},
};
use base::error::ToolError;

pub static TOOLS: &[ToolRow] = &[
    ToolRow::of::<get_summary::GetSummary>(),
    ToolRow::of::<list_devices::ListDevices>(),
    ToolRow::of::<call::Call>(),
    ToolRow::of::<plan_rollout::PlanRollout>(),
    ToolRow::of::<apply_rollout::ApplyRollout>(),
    ToolRow::of::<halt::Halt>(),
];

fn served(cx: &Context) -> Result<&ServedFleet, ToolError> {
    cx.services.fleet.get().ok_or_else(|| {
        ToolError::new(base::error::ErrorCode::CapabilityMissing, "this server serves no fleet")
            .hint("a fleet is served at its owner's console (docs/fleet.md)")
    })
}
