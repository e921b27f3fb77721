//! The state of the slots and of an update.

use crate::{
    context::Context,
    operations::{CARD, Operation},
    peer::Callers,
};
use base::error::ToolError;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use update::status::UpdateStatus;

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct variant Op::UpdateStatus")]
pub struct UpdateStatusRequest {}

/// `capability_missing` where this machine has no slots.
pub struct GetUpdateStatus;

impl Operation for GetUpdateStatus {
    const TAG: &'static str = "update_status";
    const ANSWER: &'static str = "update";
    const CALLERS: Callers = Callers::Anyone;
    const WAITS: bool = true;
    type Request = UpdateStatusRequest;
    type Answer = UpdateStatus;

    fn patience(_request: &UpdateStatusRequest) -> Duration {
        CARD
    }

    async fn run(cx: &Context<'_>, _request: UpdateStatusRequest) -> Result<UpdateStatus, ToolError> {
        cx.installer.status().await
    }
}
