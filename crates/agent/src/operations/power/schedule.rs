//! Schedules a reboot or shutdown.

use crate::{
    authorization::Authorization,
    context::Context,
    machine::PowerAction,
    operations::Operation,
    power::{PowerOrder, Scheduled},
};
use base::error::ToolError;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The reboot or shutdown to schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerRequest {
    pub action: PowerAction,
    /// 0 to 600.
    pub delay_seconds: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(rename = "warrant")]
    pub authorization: Authorization,
}

/// Schedules a reboot or shutdown. It is on the card before the answer.
pub struct SchedulePower;

impl Operation for SchedulePower {
    const TAG: &'static str = "power";
    const ANSWER: &'static str = "power";
    const CHANGES: bool = true;
    type Request = PowerRequest;
    type Answer = Scheduled;

    fn name(request: &PowerRequest) -> &'static str {
        request.action.name()
    }

    fn was_shown(request: &PowerRequest, args: &Value) -> bool {
        let delay = args.get("delay_seconds").map_or(Some(5), Value::as_u64);
        let reason = request.reason.as_ref().map(|reason| json!(reason));
        delay == Some(u64::from(request.delay_seconds))
            && args.get("reason").filter(|reason| !reason.is_null()) == reason.as_ref()
            && args.get("cancel").and_then(Value::as_bool) != Some(true)
    }

    async fn run(cx: &Context<'_>, request: PowerRequest) -> Result<Scheduled, ToolError> {
        let result = schedule(cx, request.clone());
        cx.noted(request.action.name(), json!(request), result)
    }
}

fn schedule(cx: &Context<'_>, request: PowerRequest) -> Result<Scheduled, ToolError> {
    let tool = request.action.tool();
    cx.policy().check(tool)?;
    cx.power.check()?;
    cx.admit(tool, &request.authorization, |args| SchedulePower::was_shown(&request, args))?;
    let PowerRequest { action, delay_seconds, reason, authorization } = request;
    let principal = authorization.principal;
    cx.power.schedule(PowerOrder { action, delay_seconds, reason, principal, argument: None, called: true })
}
