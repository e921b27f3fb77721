//! More records of an audit chain.

use super::doubt;
use crate::{context::Context, operations::Operation};
use base::error::ToolError;
use contract::audit::{Extension, VerifiedPosition};

/// Continues the computation with them. `conflict` when they do not follow the position.
pub struct ExtendAudit;

impl Operation for ExtendAudit {
    const TAG: &'static str = "extend_audit";
    const ANSWER: &'static str = "position";
    type Request = Extension;
    type Answer = VerifiedPosition;

    async fn run(cx: &Context<'_>, request: Extension) -> Result<VerifiedPosition, ToolError> {
        cx.heads.extend(&request).inspect_err(|error| doubt(cx, error))
    }
}
