//! Operations for the audit: recompute its chain, sign checkpoints, and accept gaps from an owner ([`crate::heads`]).

mod accept_gap;
mod extend;
mod heads;
mod position;
mod room;

pub use accept_gap::{AcceptGap, GapRequest};
pub use extend::ExtendAudit;
pub use heads::{HeadsRequest, ListHeads};
pub use position::FindPosition;
pub use room::MakeRoom;

use crate::{context::Context, log::ATTEMPTS};
use base::error::ToolError;
use serde_json::json;

/// Logs that the server's records of a chain do not fit what is known of it.
fn doubt(cx: &Context<'_>, error: &ToolError) {
    let about = || json!({ "reason": error.message, "details": error.details });
    cx.log.attempt("audit refused", cx.peer, ATTEMPTS, about);
}
