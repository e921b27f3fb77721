//! `fleet.*`: all devices of a fleet, from its owner's console. Not tools of a device: they are in [`TOOLS`] alone, not in
//! [`super::NAMESPACES`].

mod apply_rollout;
mod call;
mod get_summary;
mod halt;
mod list_devices;
mod plan_rollout;

use crate::{
    fleet::{callers::FleetCallers, port::FleetPort},
    registry::{context::Context, row::ToolRow},
};
use base::error::ToolError;
use std::sync::Arc;

pub static TOOLS: &[ToolRow] = &[
    ToolRow::of::<get_summary::GetSummary>(),
    ToolRow::of::<list_devices::ListDevices>(),
    ToolRow::of::<call::Call>(),
    ToolRow::of::<plan_rollout::PlanRollout>(),
    ToolRow::of::<apply_rollout::ApplyRollout>(),
    ToolRow::of::<halt::Halt>(),
];

/// The fleet that a server's tools reach.
pub struct ServedFleet {
    pub port: Arc<dyn FleetPort>,
    pub callers: FleetCallers,
}

fn served(cx: &Context) -> Result<&ServedFleet, ToolError> {
    cx.services.fleet.get().ok_or_else(|| {
        ToolError::new(base::error::ErrorCode::CapabilityMissing, "this server serves no fleet")
            .hint("a fleet is served at its owner's console (docs/fleet.md)")
    })
}
