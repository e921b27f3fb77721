//! What the agent knows of the audit chains.

use crate::{context::Context, operations::Operation, peer::Callers};
use base::error::ToolError;
use contract::audit::KnownHeads;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct variant Op::Heads")]
pub struct HeadsRequest {}

/// All known positions of the chains.
pub struct ListHeads;

impl Operation for ListHeads {
    const TAG: &'static str = "heads";
    const ANSWER: &'static str = "heads";
    const CALLERS: Callers = Callers::Anyone;
    type Request = HeadsRequest;
    type Answer = KnownHeads;

    async fn run(cx: &Context<'_>, _request: HeadsRequest) -> Result<KnownHeads, ToolError> {
        cx.heads.known()
    }
}
