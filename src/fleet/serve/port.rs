//! What the tools `fleet.*` do.

use super::{BrokerFleet, call, device};
use crate::{
    fleet::console::{
        halt::{HaltOutcome, HaltWait},
        report::{DeviceRow, Silence},
    },
    fleet_port::{
        FleetAnswer, FleetCall, FleetDeviceState, FleetHalt, FleetPort, HaltTarget, PlannedRollout, StartedRollout,
    },
};
use base::error::ToolError;
use futures::future::BoxFuture;
use std::time::Duration;

/// How long devices may take to confirm a halt: half of the tool's time, and less once nobody does any more. Whoever halts wants to know soon
/// who may not have heard it.
const CONFIRM: HaltWait = HaltWait { most: Duration::from_secs(30), idle: Some(Duration::from_secs(3)) };

impl FleetPort for BrokerFleet {
    fn devices(&self) -> BoxFuture<'_, Result<Vec<FleetDeviceState>, ToolError>> {
        let view = self.view();
        let silence = Silence { now_ms: view.console.wall.now_ms(), after_ms: self.served.silent_after_ms };
        let book = view.book.lock();
        let rows = book.devices().map(|(device, status)| DeviceRow { device, status, silence });
        let devices = rows.map(|row| device::state(&row)).collect();
        Box::pin(std::future::ready(Ok(devices)))
    }

    fn call<'a>(&'a self, call: FleetCall<'a>) -> BoxFuture<'a, Result<FleetAnswer, ToolError>> {
        let view = self.view();
        Box::pin(async move {
            let place = self.shares.take(call.device)?;
            call::call(&view, call, place).await
        })
    }

    fn halt<'a>(&'a self, devices: HaltTarget, reason: &'a str) -> BoxFuture<'a, Result<FleetHalt, ToolError>> {
        let console = self.view().console;
        Box::pin(async move {
            let (names, all) = match devices {
                HaltTarget::All => (console.folder.active().map(|device| device.name.clone()).collect(), true),
                HaltTarget::Named(names) => (names, false),
            };
            let HaltOutcome { confirmed, open, .. } = console.halt(names, all, reason, CONFIRM, |_| ()).await?;
            Ok(FleetHalt { confirmed, open })
        })
    }

    fn plan_rollout<'a>(&'a self, plan: &'a str) -> BoxFuture<'a, Result<PlannedRollout, ToolError>> {
        Box::pin(std::future::ready(self.rollouts.plans.read(plan).map(|plan| plan.shown())))
    }

    fn apply_rollout<'a>(&'a self, plan_hash: &'a str) -> BoxFuture<'a, Result<StartedRollout, ToolError>> {
        let console = self.view().console;
        Box::pin(async move { self.rollouts.apply(&console, plan_hash).await })
    }
}
