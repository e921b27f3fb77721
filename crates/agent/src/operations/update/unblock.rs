//! A person lets a blocked release be installed again.

use crate::{
    context::Context,
    installer::blocked_release,
    operations::{CARD, Operation},
    peer::Callers,
};
use base::{
    error::{ErrorCode, ToolError},
    os::blocking,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::time::Duration;
use update::{
    bundle::Digest,
    slots::{self, Stage, StateRecord},
    status::BlockedRelease,
};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnblockRequest {
    /// SHA-256 of the release's manifest, as 64 hexadecimal digits.
    pub manifest_sha256: String,
}

/// Removes the block of a release, whoever or whatever blocked it, and returns it. Taken from approvers only: a machine that gave a
/// release up does not overrule the person in front of it.
///
/// # Errors
/// `invalid_argument` for what is no hash, `not_found` for a release that is not blocked, `conflict` while its failed trial is being judged;
/// those of the card.
pub struct UnblockRelease;

impl Operation for UnblockRelease {
    const TAG: &'static str = "unblock_release";
    const ANSWER: &'static str = "unblocked";
    const CALLERS: Callers = Callers::Approvers { command: "raspi-mcp slot unblock" };
    const WAITS: bool = true;
    const CHANGES: bool = true;
    type Request = UnblockRequest;
    type Answer = BlockedRelease;

    fn patience(_request: &UnblockRequest) -> Duration {
        CARD
    }

    async fn run(cx: &Context<'_>, request: UnblockRequest) -> Result<BlockedRelease, ToolError> {
        let result = unblock(cx, &request).await;
        cx.noted(Self::TAG, json!(request), result)
    }
}

async fn unblock(cx: &Context<'_>, request: &UnblockRequest) -> Result<BlockedRelease, ToolError> {
    const WHERE: &str = "`raspi-mcp slot status` lists what is blocked, with the hashes";
    let manifest = Digest::from_hex(&request.manifest_sha256).ok_or_else(|| {
        let message = format!("{:?} is no SHA-256 of a manifest: 64 hexadecimal digits", request.manifest_sha256);
        ToolError::invalid(message).hint(WHERE)
    })?;
    let system = cx.installer.system()?;
    blocking::run("update", move |_| {
        let mut ledger = system.record.ledger();
        let Some((blocked, step)) = slots::unblock(ledger.state(), manifest) else {
            return Err(if is_judged(ledger.state(), manifest) {
                let message = "its failed trial is being judged: it is not blocked yet";
                ToolError::new(ErrorCode::Conflict, message).hint("try again in a few minutes")
            } else {
                ToolError::not_found(format!("no blocked release has the manifest {manifest}")).hint(WHERE)
            });
        };
        ledger.perform(&step)?;
        Ok(blocked_release(&blocked))
    })
    .await
}

fn is_judged(state: &StateRecord, manifest: Digest) -> bool {
    state.update.as_ref().is_some_and(|update| update.stage == Stage::RolledBack && update.manifest == Some(manifest))
}
