//! The channel was reached: the dead man's switch has nothing to do any more for the running version.

use crate::{
    context::Context,
    operations::{CARD, Operation},
};
use base::{error::ToolError, os::blocking};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use update::slots;

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelReachedRequest {}

/// Records with the running version's commit that this version has reached its channel. Returns whether that is recorded: a version on
/// trial has no commit yet. Idempotent.
///
/// # Errors
/// `capability_missing` where this machine has no slots; those of the card.
pub struct ChannelReached;

impl Operation for ChannelReached {
    const TAG: &'static str = "channel_reached";
    const ANSWER: &'static str = "channel_reached";
    const WAITS: bool = true;
    type Request = ChannelReachedRequest;
    type Answer = bool;

    fn patience(_request: &ChannelReachedRequest) -> Duration {
        CARD
    }

    async fn run(cx: &Context<'_>, _request: ChannelReachedRequest) -> Result<bool, ToolError> {
        let system = cx.installer.system()?;
        blocking::run("update", move |_| {
            let mut ledger = system.record.ledger();
            let seen = ledger.evidence();
            if let Some(step) = slots::channel_reached(ledger.state(), &seen) {
                ledger.perform(&step)?;
            }
            Ok(slots::has_reached_channel(ledger.state(), &seen))
        })
        .await
    }
}
