//! Cancels a scheduled reboot or shutdown.

use crate::{context::Context, log::ATTEMPTS, machine::PowerAction, operations::Operation};
use base::error::ToolError;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct variant Op::CancelPower")]
pub struct CancelRequest {
    pub action: PowerAction,
}

/// The outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CancelledPower {
    /// Whether there was one to cancel.
    pub cancelled: bool,
    pub simulated: bool,
}

/// Cancels it, and says whether there was one.
pub struct CancelPower;

impl Operation for CancelPower {
    const TAG: &'static str = "cancel_power";
    const ANSWER: &'static str = "cancelled";
    const CHANGES: bool = true;
    type Request = CancelRequest;
    type Answer = CancelledPower;

    fn name(request: &CancelRequest) -> &'static str {
        match request.action {
            PowerAction::Reboot => "cancel_reboot",
            PowerAction::Shutdown => "cancel_shutdown",
        }
    }

    async fn run(cx: &Context<'_>, CancelRequest { action }: CancelRequest) -> Result<CancelledPower, ToolError> {
        let cancelled = cx.power.cancel(action)?;
        let about = json!({ "action": action, "cancelled": cancelled });
        if cancelled {
            cx.log.write("cancel", cx.peer, about)?;
        } else {
            cx.log.attempt("cancel", cx.peer, ATTEMPTS, || about);
        }
        Ok(CancelledPower { cancelled, simulated: cx.simulated })
    }
}
