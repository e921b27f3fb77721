//! The audit as the pipeline's ledger.

use super::{
    Audit,
    record::{Approval, Record, now_ms},
};
use crate::{
    access::{
        ledger::{Entry, Ledger},
        redact,
    },
    error::{ErrorCode, ToolError},
};
use futures::{FutureExt, future::BoxFuture};
use serde_json::Value;

impl Ledger for Audit {
    fn redact(&self, args: &Value) -> Value {
        redact::redact(args)
    }

    fn ready(&self) -> Result<(), ToolError> {
        self.check()
    }

    fn record<'a>(&'a self, entry: Entry<'a>) -> BoxFuture<'a, Result<(), ToolError>> {
        let refused = entry.error.is_some_and(|error| is_refusal(error.code));
        // A person's yes is never lost, whatever it was to.
        let soon = entry.volatile && !refused && entry.approval.is_none();
        let kept = entry.write || refused;
        let record = Record {
            ts_ms: now_ms(),
            principal: entry.principal.into(),
            role: Some(entry.role),
            door: entry.door.name(),
            tool: entry.tool.into(),
            args_sha256: entry.args_sha256.into(),
            args: entry.args,
            outcome: entry.error.map_or("ok", |error| error.code.symbol()),
            message: entry.error.map(|error| redact::redact_text(&error.message)),
            duration_ms: u64::try_from(entry.duration.as_millis()).unwrap_or(u64::MAX),
            request_id: Some(entry.request_id.into()),
            correlation_id: entry.correlation_id,
            approval: entry.approval.map(|approval| Approval {
                ask_id: approval.ask_id.clone(),
                by: approval.by.clone(),
                how: approval.how.clone(),
            }),
            simulated: entry.simulated,
            changed: entry.changed,
        };
        if kept && soon {
            return Box::pin(self.write_soon(record));
        }
        if kept {
            return Box::pin(self.write(record));
        }
        // Nothing to wait for, as a rule: the box is for the read that fills the batch.
        if self.take(&record) {
            return Box::pin(self.flush_reads().map(Ok));
        }
        Box::pin(futures::future::ready(Ok(())))
    }
}

/// Somebody tried what they may not: recorded before it is answered. A read that merely failed waits with the reads,
/// or every mistyped argument would cost the card a write.
fn is_refusal(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::PermissionDenied | ErrorCode::Unauthenticated)
}
