//! Follows the halt: the server half hears of a change when it happens.

use crate::{context::Context, operations::Operation, peer::Callers};
use base::error::ToolError;
use contract::halt::HaltState;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Longest wait that one request may ask for, in milliseconds: a year, so that a server that follows does not wake up.
pub const MAX_WAIT_MS: u64 = 365 * 24 * 3_600_000;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FollowRequest {
    /// What the caller knows. Another state is answered at once.
    #[serde(default)]
    pub known: HaltState,
    /// At most [`MAX_WAIT_MS`]; longer waits are reduced to that. 0 answers at once.
    #[serde(default)]
    pub wait_ms: u64,
}

/// Returns the state once it is another than the known one, or as it is after the wait.
pub struct FollowHalt;

impl Operation for FollowHalt {
    const TAG: &'static str = "follow_halt";
    const ANSWER: &'static str = "halt_state";
    const CALLERS: Callers = Callers::Anyone;
    const WAITS: bool = true;
    type Request = FollowRequest;
    type Answer = HaltState;

    fn patience(request: &FollowRequest) -> Duration {
        Duration::from_millis(request.wait_ms.min(MAX_WAIT_MS))
    }

    async fn run(cx: &Context<'_>, request: FollowRequest) -> Result<HaltState, ToolError> {
        let mut state = cx.halt.follow();
        let changed = state.wait_for(|state| *state != request.known);
        // Neither outcome is a failure: the sender lives as long as the agent.
        let _ = tokio::time::timeout(Self::patience(&request), changed).await;
        let now = state.borrow().clone();
        Ok(now)
    }
}
