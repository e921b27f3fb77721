//! Checkpoints, behind which records may be trimmed.

use crate::{context::Context, log::ATTEMPTS, operations::Operation};
use base::error::ToolError;
use contract::audit::{AuditCheckpoint, RoomRequest};
use serde_json::json;

/// Signs which of the oldest records may be trimmed.
pub struct MakeRoom;

impl Operation for MakeRoom {
    const TAG: &'static str = "audit_room";
    const ANSWER: &'static str = "checkpoint";
    type Request = RoomRequest;
    type Answer = AuditCheckpoint;

    async fn run(cx: &Context<'_>, request: RoomRequest) -> Result<AuditCheckpoint, ToolError> {
        let checkpoint = cx.heads.make_room(&request)?;
        cx.log.attempt("audit trimmed", cx.peer, ATTEMPTS, || json!(checkpoint));
        Ok(checkpoint)
    }
}
