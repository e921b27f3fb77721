//! Waits for the answer to an ask.

use crate::{asks::Ask, context::Context, operations::Operation, peer::Callers};
use base::error::ToolError;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Longest wait that one request may ask for, in milliseconds.
pub const MAX_WAIT_MS: u64 = 300_000;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct variant Op::AskState")]
pub struct AwaitRequest {
    pub id: String,
    /// At most [`MAX_WAIT_MS`]; longer waits are reduced to that.
    pub wait_ms: u64,
}

impl AwaitRequest {
    /// Waits for the ask `id`, at most `wait`.
    pub fn new(id: &str, wait: Duration) -> Self {
        Self { id: id.to_owned(), wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX) }
    }
}

/// Returns the ask when it is answered, or as it is after the wait.
pub struct AwaitAsk;

impl Operation for AwaitAsk {
    const TAG: &'static str = "ask_state";
    const ANSWER: &'static str = "ask";
    const CALLERS: Callers = Callers::Anyone;
    const WAITS: bool = true;
    type Request = AwaitRequest;
    type Answer = Ask;

    fn patience(request: &AwaitRequest) -> Duration {
        Duration::from_millis(request.wait_ms)
    }

    async fn run(cx: &Context<'_>, request: AwaitRequest) -> Result<Ask, ToolError> {
        cx.asks.wait(&request.id, Duration::from_millis(request.wait_ms.min(MAX_WAIT_MS))).await
    }
}
