//! Records of a halt that no call set, and of its end. A call of `manage.halt` has a record of its own.

use super::Audit;
use base::{canonical, error::ToolError};
use contract::audit::{
    changed::Changed,
    record::{AuditRecord, now_ms},
};
use serde_json::Value;

impl Audit {
    /// Records that `by` did `what` at the agent: `halt.set` or `halt.lift`.
    ///
    /// # Errors
    /// When it cannot be stored. The agent's own log has it all the same.
    pub async fn note_halt(&self, what: &'static str, by: &str, args: Value) -> Result<(), ToolError> {
        self.write(at_the_agent(what, by, args)).await
    }
}

/// A record of what `by` did at the agent, past every tool.
pub(super) fn at_the_agent<'a>(what: &'static str, by: &'a str, args: Value) -> AuditRecord<'a> {
    AuditRecord {
        ts_ms: now_ms(),
        intent: None,
        principal: by.into(),
        owner: None,
        role: None,
        door: "agent",
        tool: what.into(),
        by: None,
        args_sha256: canonical::sha256_hex(&args).into(),
        args,
        outcome: "ok",
        message: None,
        duration_ms: 0,
        request_id: None,
        correlation_id: None,
        approval: None,
        simulated: false,
        changed: Changed::Yes,
        later: false,
    }
}
