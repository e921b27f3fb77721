//! The server half's verdict about this boot.

use crate::{
    context::Context,
    installer::{HealthReport, HealthTaken},
    operations::{CARD, Operation},
};
use base::error::ToolError;
use serde_json::json;
use std::time::Duration;

/// Takes the report. A trial that both halves find healthy is committed; the server half alone cannot.
pub struct ReportHealth;

impl Operation for ReportHealth {
    const TAG: &'static str = "report_health";
    const ANSWER: &'static str = "health";
    const WAITS: bool = true;
    type Request = HealthReport;
    type Answer = HealthTaken;

    fn patience(_request: &HealthReport) -> Duration {
        CARD
    }

    async fn run(cx: &Context<'_>, request: HealthReport) -> Result<HealthTaken, ToolError> {
        let taken = cx.installer.report_health(request).await?;
        if taken.committed {
            cx.log.note_done("commit", cx.peer, json!(taken), None)?;
        }
        Ok(taken)
    }
}
