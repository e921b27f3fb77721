//! The audit as the pipeline's ledger.

use super::{Audit, gather::Who, query::UNKNOWN};
use crate::{
    audit::ledger::{AuditEntry, AuditLedger, Intent},
    store::Durability,
};
use base::{
    canonical::ArgsDigest,
    error::{ErrorCode, ToolError},
    redact,
};
use contract::audit::{
    limit,
    record::{AuditRecord, now_ms},
};
use contract::{access::caller::Caller, audit::changed::Changed};
use futures::{FutureExt, future::BoxFuture};
use serde_json::Value;
use std::time::Duration;

impl AuditLedger for Audit {
    fn redact(&self, args: &Value, whole: &ArgsDigest) -> Value {
        limit::fit(redact::redact(args), whole)
    }

    fn ready(&self) -> Result<(), ToolError> {
        self.worth_trying()
    }

    fn intend<'a>(&'a self, intent: Intent<'a>) -> BoxFuture<'a, Result<i64, ToolError>> {
        // An approval is never lost, whatever it was for.
        let soon = intent.volatile && intent.approval.is_none();
        let record = AuditRecord {
            ts_ms: now_ms(),
            intent: None,
            principal: intent.caller.principal.as_str().into(),
            owner: intent.caller.owner.as_deref().map(Into::into),
            role: Some(intent.caller.role),
            door: intent.caller.transport.name(),
            tool: intent.tool.into(),
            by: intent.by.map(Into::into),
            args_sha256: intent.args_sha256.into(),
            args: intent.args,
            outcome: UNKNOWN,
            message: None,
            duration_ms: 0,
            request_id: Some(intent.request_id.into()),
            correlation_id: intent.correlation_id,
            approval: intent.approval.cloned(),
            simulated: false,
            changed: Changed::No,
            later: false,
        };
        Box::pin(Audit::intend(self, record, if soon { Durability::Committed } else { Durability::Synced }))
    }

    fn gathers(&self, caller: &Caller, tool: &str, error: &ToolError, _: Duration) -> bool {
        let who = Who { principal: &caller.principal, role: caller.role, door: caller.transport.name() };
        self.gather(who, tool, error.code.symbol())
    }

    fn record<'a>(&'a self, entry: AuditEntry<'a>) -> BoxFuture<'a, Result<(), ToolError>> {
        let refused = entry.refused || entry.error.is_some_and(|error| is_refusal(error.code));
        // An approval is never lost, whatever it was for.
        let soon = entry.volatile && !refused && entry.approval.is_none();
        let kept = entry.write || refused;
        let outcome = entry.error.map_or("ok", |error| error.code.symbol());
        let who = Who { principal: entry.principal, role: entry.role, door: entry.transport.name() };
        if !kept && self.counted(who, entry.tool, outcome) {
            return Box::pin(futures::future::ready(Ok(())));
        }
        // Nothing ran that needs a record: do not block the store's thread again.
        if refused && let Err(error) = self.worth_trying() {
            self.waiting().lost.add(1);
            return Box::pin(futures::future::ready(Err(error)));
        }
        let record = AuditRecord {
            ts_ms: now_ms(),
            intent: entry.intent,
            principal: entry.principal.into(),
            owner: entry.owner.map(Into::into),
            role: Some(entry.role),
            door: entry.transport.name(),
            tool: entry.tool.into(),
            by: entry.by.map(Into::into),
            args_sha256: entry.args_sha256.into(),
            args: entry.args,
            outcome,
            message: entry.error.map(|error| redact::redact_own(&error.message)),
            duration_ms: u64::try_from(entry.duration.as_millis()).unwrap_or(u64::MAX),
            request_id: Some(entry.request_id.into()),
            correlation_id: entry.correlation_id,
            approval: entry.approval.cloned(),
            simulated: entry.simulated,
            changed: entry.changed,
            later: entry.later,
        };
        if kept && soon {
            return Box::pin(self.write_soon(record));
        }
        if kept {
            return Box::pin(self.write(record));
        }
        // Usually nothing to await: only the read that fills the batch needs the box.
        if self.take(&record) {
            return Box::pin(self.flush_reads().map(Ok));
        }
        Box::pin(futures::future::ready(Ok(())))
    }
}

/// The tool refused its caller: recorded before it is answered. Reads that failed otherwise wait with the reads.
fn is_refusal(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::PermissionDenied | ErrorCode::Unauthenticated)
}
