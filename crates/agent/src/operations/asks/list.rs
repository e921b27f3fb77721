//! Lists the pending asks.

use crate::{asks::Ask, context::Context, operations::Operation, peer::Callers};
use base::error::ToolError;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct variant Op::ListAsks")]
pub struct ListRequest {}

/// The pending asks, oldest first.
pub struct ListAsks;

impl Operation for ListAsks {
    const TAG: &'static str = "list_asks";
    const ANSWER: &'static str = "asks";
    const CALLERS: Callers = Callers::Anyone;
    type Request = ListRequest;
    type Answer = Vec<Ask>;

    async fn run(cx: &Context<'_>, _request: ListRequest) -> Result<Vec<Ask>, ToolError> {
        Ok(cx.asks.pending())
    }
}
