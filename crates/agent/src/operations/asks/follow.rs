//! Follows the pending asks: the server half hears when one opens, is answered or expires.

use crate::{asks::Ask, context::Context, operations::Operation, peer::Callers};
use base::error::ToolError;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Longest wait of one request. A caller that went away is forgotten after it.
const MAX_WAIT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FollowRequest {
    /// The ids that the caller has. Without them, the answer comes at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<Vec<String>>,
}

/// The pending asks, oldest first, once they are others than the known ones; as they are after a minute.
pub struct FollowAsks;

impl Operation for FollowAsks {
    const TAG: &'static str = "follow_asks";
    const ANSWER: &'static str = "asks_now";
    const CALLERS: Callers = Callers::Anyone;
    const WAITS: bool = true;
    type Request = FollowRequest;
    type Answer = Vec<Ask>;

    fn patience(_: &FollowRequest) -> Duration {
        MAX_WAIT
    }

    async fn run(cx: &Context<'_>, request: FollowRequest) -> Result<Vec<Ask>, ToolError> {
        if let Some(known) = &request.known {
            cx.asks.others_than(known, MAX_WAIT).await;
        }
        Ok(cx.asks.pending())
    }
}
