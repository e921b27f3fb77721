//! The roots of trust that the agent holds. Both halves keep them, each out of the other's reach, and compare them at each check of a channel.

use crate::{
    context::Context,
    operations::{CARD, Operation},
};
use base::{error::ToolError, os::blocking};
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NextRootRequest {
    /// The version whose successor is wanted.
    pub after: u64,
}

/// Returns the whole file of the root of trust that follows a version: `None` where it was not accepted, and for versions up to the
/// image's. One at a time, since each has up to [`update::trust::MAX_SIGNED`] bytes. Changes nothing.
///
/// # Errors
/// `failed_precondition` when the image has no root of trust.
pub struct GetNextRoot;

impl Operation for GetNextRoot {
    const TAG: &'static str = "next_root";
    const ANSWER: &'static str = "next_root";
    const WAITS: bool = true;
    type Request = NextRootRequest;
    type Answer = Option<String>;

    fn patience(_request: &NextRootRequest) -> Duration {
        CARD
    }

    async fn run(cx: &Context<'_>, request: NextRootRequest) -> Result<Option<String>, ToolError> {
        let system = cx.installer.system()?;
        blocking::run("update", move |_| Ok(system.roots()?.after(request.after).map(str::to_owned))).await
    }
}
