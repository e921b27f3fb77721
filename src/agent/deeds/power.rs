//! A reboot or shutdown, in a while.

use crate::{
    agent::{Agent, Ask, Peer, PowerRequest, protocol::Scheduled},
    error::ToolError,
};
use serde_json::{Value, json};

impl Agent {
    pub(in crate::agent) fn go_down(&self, peer: &Peer, request: PowerRequest) -> Result<Scheduled, ToolError> {
        let tool = request.action.tool();
        self.policy().check(tool)?;
        self.power.check()?;
        self.admit(peer, tool, &request.authorization, |ask| shows(ask, &request))?;
        self.power.schedule(request.action, request.delay_seconds, request.reason, request.authorization.principal)
    }
}

/// The person approved what they were shown; the agent does exactly that, whatever hash the server named.
fn shows(ask: &Ask, request: &PowerRequest) -> bool {
    let args = &ask.request.args;
    let delay = args.get("delay_seconds").map_or(Some(5), Value::as_u64);
    let reason = request.reason.as_ref().map(|reason| json!(reason));
    delay == Some(u64::from(request.delay_seconds))
        && args.get("reason").filter(|reason| !reason.is_null()) == reason.as_ref()
        && args.get("cancel").and_then(Value::as_bool) != Some(true)
}
