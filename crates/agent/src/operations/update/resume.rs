//! Lets an armed slot be tried that was not, or that waited for what was missing.

use crate::{
    context::Context,
    operations::{CARD, Operation},
    peer::Callers,
};
use base::{error::ToolError, os::blocking};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;
use update::{slots, status::UpdateStatus};

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct variant Op::ResumeUpdate")]
pub struct ResumeRequest {}

/// Ends its wait, and lets a planned restart happen now.
pub struct ResumeUpdate;

impl Operation for ResumeUpdate {
    const TAG: &'static str = "resume_update";
    const ANSWER: &'static str = "update";
    const CALLERS: Callers = Callers::Anyone;
    const WAITS: bool = true;
    type Request = ResumeRequest;
    type Answer = UpdateStatus;

    fn patience(_request: &ResumeRequest) -> Duration {
        CARD
    }

    async fn run(cx: &Context<'_>, _request: ResumeRequest) -> Result<UpdateStatus, ToolError> {
        let result = resume(cx).await;
        cx.noted(Self::TAG, Value::Null, result)
    }
}

async fn resume(cx: &Context<'_>) -> Result<UpdateStatus, ToolError> {
    let system = cx.installer.system()?;
    cx.installer.lock.must_be_free()?;
    let record = system.record.clone();
    blocking::run("update", move |_| record.step(slots::end_wait)).await?;
    cx.installer.plan_changed(true);
    cx.installer.status().await
}
