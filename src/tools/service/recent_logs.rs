//! The newest lines of a service's log, for `service.get_status`: with the rights that `logs.query_journal` needs.

use super::get_status::GetStatus;
use crate::{
    registry::{context::Context, tool::Tool},
    tools::logs::{QueryJournal, newest_of},
};
use base::{error::ToolError, os::systemd::ServiceName, redact::cut};
use contract::meta::Mode;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use std::time::Duration;

/// Lines in an answer, as `systemctl status` shows.
const LINES: u32 = 10;
/// Longest message, in characters. `logs.query_journal` has the rest.
const LONGEST: usize = 500;
/// The state of the service should not wait longer for its log.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct LogLine {
    #[schemars(extend("format" = "date-time"))]
    timestamp: String,
    /// emerg, alert, crit, err, warning, notice, info, debug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    level: Option<&'static str>,
    message: String,
}

/// The lines, newest first, or why there are none; both for lines with something to know about them.
pub(super) async fn read(cx: &Context, name: &ServiceName) -> (Option<Vec<LogLine>>, Option<String>) {
    match lines(cx, name.as_str()).await {
        Ok((lines, note)) => (Some(lines), note),
        Err(error) => (None, Some(error.advice())),
    }
}

async fn lines(cx: &Context, unit: &str) -> Result<(Vec<LogLine>, Option<String>), ToolError> {
    let (meta, policy) = (&QueryJournal::META, cx.services.policy.held());
    policy.admit(meta, &cx.caller)?;
    let shown = cx.shows(GetStatus::META.name, "logs:journal");
    if policy.judge(meta, &json!({"unit": unit}))? != Mode::Allow || !shown {
        return Err(ToolError::denied("a person is asked before the journal is read")
            .hint("call logs.query_journal with this unit"));
    }
    let late = |_| ToolError::timeout("the journal", PATIENCE).hint("call logs.query_journal with this unit");
    let (entries, note) = tokio::time::timeout(PATIENCE, newest_of(cx, unit, LINES)).await.map_err(late)??;
    let shown = entries.into_iter().map(|entry| {
        let (timestamp, level, message) = entry.into_parts();
        LogLine { timestamp, level, message: cut(&message, LONGEST) }
    });
    Ok((shown.collect(), note))
}
