//! How long the machine has been on: an example of an operation.

use super::Operation;
use crate::{
    agent::{context::Context, peer::Callers},
    error::ToolError,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UptimeRequest {}

/// Seconds since power-on, by the agent's clock.
pub struct GetUptime;

impl Operation for GetUptime {
    const TAG: &'static str = "uptime";
    const ANSWER: &'static str = "uptime";
    const CALLERS: Callers = Callers::Anyone;
    type Request = UptimeRequest;
    type Answer = u64;

    async fn run(cx: &Context<'_>, _request: UptimeRequest) -> Result<u64, ToolError> {
        Ok((cx.claims.boot)().as_secs())
    }
}
