//! A fleet in memory: four devices, one signed plan.

use base::error::ToolError;
use contract::audit::changed::Changed;
use futures::future::BoxFuture;
use raspi_mcp::fleet_port::{
    DeviceHealth, FleetAnswer, FleetCall, FleetDeviceState, FleetHalt, FleetPort, HaltTarget, PlannedRollout,
    StartedRollout,
};
use serde_json::json;
use std::sync::Mutex;

/// The hash of the plan `spring`.
pub fn hash() -> String {
    "ab".repeat(32)
}

#[derive(Default)]
pub struct MemoryFleet {
    /// Devices, tools and tokens of the calls.
    pub calls: Mutex<Vec<[String; 3]>>,
    pub halts: Mutex<Vec<(HaltTarget, String)>>,
    started: Mutex<bool>,
}

fn device(name: &str, health: DeviceHealth, version: Option<&str>, tag: &str) -> FleetDeviceState {
    FleetDeviceState {
        name: name.into(),
        health,
        version: version.map(str::to_owned),
        tags: vec![tag.into()],
        problems: vec![],
        halted: version.map(|_| name == "shed"),
        open_asks: version.map(|_| 1),
        last_update: None,
        heard_at: None,
        simulated: version.map(|_| true),
    }
}

fn at_once<T: Send + 'static>(value: Result<T, ToolError>) -> BoxFuture<'static, Result<T, ToolError>> {
    Box::pin(async { value })
}

impl FleetPort for MemoryFleet {
    fn devices(&self) -> BoxFuture<'_, Result<Vec<FleetDeviceState>, ToolError>> {
        at_once(Ok(vec![
            device("attic", DeviceHealth::Good, Some("1.0.0"), "home"),
            device("cellar", DeviceHealth::Silent, None, "home"),
            device("kitchen", DeviceHealth::Good, Some("1.1.0"), "home"),
            device("shed", DeviceHealth::Wrong, Some("1.1.0"), "garden"),
        ]))
    }

    fn call<'a>(&'a self, call: FleetCall<'a>) -> BoxFuture<'a, Result<FleetAnswer, ToolError>> {
        self.calls.lock().unwrap().push([call.device.into(), call.tool.into(), call.token.into()]);
        at_once(match call.tool {
            "gpio.write_pin" => Err(ToolError::denied("a person has to approve it").with("ask_id", "q1")),
            _ => Ok(FleetAnswer { result: call.arguments, simulated: true, changed: Changed::No }),
        })
    }

    fn halt<'a>(&'a self, devices: HaltTarget, reason: &'a str) -> BoxFuture<'a, Result<FleetHalt, ToolError>> {
        self.halts.lock().unwrap().push((devices, reason.into()));
        at_once(Ok(FleetHalt { confirmed: ["shed".into()].into(), open: ["cellar".into()].into() }))
    }

    fn plan_rollout<'a>(&'a self, plan: &'a str) -> BoxFuture<'a, Result<PlannedRollout, ToolError>> {
        at_once(match plan {
            "spring" => Ok(PlannedRollout {
                plan_hash: hash(),
                version: "1.2.0".into(),
                channel: "stable".into(),
                stages: vec![],
                stop_failed_percent: 20,
                stop_failed_count: 2,
                stop_silent_percent: 10,
                expires_at: "2027-01-01T00:00:00Z".into(),
            }),
            _ => Err(ToolError::not_found(json!({ "no plan": plan }).to_string())),
        })
    }

    fn apply_rollout<'a>(&'a self, plan_hash: &'a str) -> BoxFuture<'a, Result<StartedRollout, ToolError>> {
        if plan_hash != hash() {
            return at_once(Err(ToolError::not_found("no signed plan has this hash")));
        }
        let already = std::mem::replace(&mut *self.started.lock().unwrap(), true);
        at_once(Ok(StartedRollout { plan_hash: plan_hash.into(), already, stage: 1, stages: 3 }))
    }
}
