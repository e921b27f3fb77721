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
use futures::future::BoxFuture;
use serde_json::Value;

impl Ledger for Audit {
    fn redact(&self, args: &Value) -> Value {
        redact::redact(args)
    }

    fn ready(&self) -> Result<(), ToolError> {
        self.check()
    }

    fn record<'a>(&'a self, entry: Entry<'a>) -> BoxFuture<'a, Result<(), ToolError>> {
        let durable = entry.write || entry.error.is_some_and(|error| is_refusal(error.code));
        let record = Record {
            ts_ms: now_ms(),
            principal: entry.principal.to_owned(),
            role: Some(entry.role),
            door: entry.door.name().to_owned(),
            tool: entry.tool.to_owned(),
            args_sha256: entry.args_sha256.to_owned(),
            args: entry.args,
            outcome: entry.error.map_or("ok", |error| error.code.symbol()).to_owned(),
            message: entry.error.map(|error| redact::redact_text(&error.message)),
            duration_ms: u64::try_from(entry.duration.as_millis()).unwrap_or(u64::MAX),
            request_id: Some(entry.request_id.to_owned()),
            correlation_id: entry.correlation_id.map(str::to_owned),
            approval: entry.approval.map(|approval| Approval {
                ask_id: approval.ask_id.clone(),
                by: approval.by.clone(),
                how: approval.how.clone(),
            }),
            simulated: entry.simulated,
            changed: entry.changed,
        };
        Box::pin(async move {
            if durable {
                return self.write(record).await;
            }
            self.read(record).await;
            Ok(())
        })
    }
}

/// Somebody tried what they may not: recorded before it is answered. A read that merely failed waits with the reads,
/// or every mistyped argument would cost the card a write.
fn is_refusal(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::PermissionDenied | ErrorCode::Unauthenticated)
}
