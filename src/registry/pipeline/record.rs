//! The record of a call that has ended.

use super::{CallOutcome, Pipeline};
use crate::{
    audit::ledger::AuditEntry,
    registry::{
        answer_meta::AnswerMeta,
        deed::Later,
        entry::Entry,
        tool::ToolOutput,
        trail::{Trail, unrecorded},
    },
};
use base::{canonical::ArgsDigest, error::ToolError};
use contract::access::caller::Caller;
use serde_json::Value;
use std::{sync::Arc, time::Instant};

/// What is known of a call from its beginning.
pub(super) struct Of {
    pub entry: Arc<Entry>,
    pub caller: Arc<Caller>,
    pub request_id: String,
    pub correlation_id: Option<String>,
    pub started: Instant,
}

impl Pipeline {
    /// Arguments as they go into the audit, and what they are as a whole.
    pub(super) fn told(&self, entry: &Entry, args: &Value) -> (Value, ArgsDigest) {
        let whole = ArgsDigest::of(args);
        let told = match entry.shown(args) {
            Some(shown) => self.ledger.redact(&shown, &whole),
            None => self.ledger.redact(args, &whole),
        };
        (told, whole)
    }

    /// Records a call that has ended with `result`, unless it is only counted, and makes its answer. `unseen` are the arguments of
    /// a call that was refused before anybody had looked at them. What of a write goes on is recorded when it ends.
    pub(super) async fn record(
        &self,
        of: Of,
        mut trail: Trail,
        refused: bool,
        unseen: &Value,
        mut result: Result<ToolOutput, ToolError>,
    ) -> CallOutcome {
        let Of { entry, caller, request_id, correlation_id, started } = of;
        let (changed, duration) = (trail.changed(), started.elapsed());
        let gathered = refused
            && !trail.answered_by_a_person(&result)
            && result.as_ref().is_err_and(|error| self.ledger.gathers(&caller, entry.name(), error, duration));
        let mut later = None;
        if !gathered {
            let (args, whole) = trail.told.take().unwrap_or_else(|| self.told(&entry, unseen));
            later = trail.goes_on.take().map(|running| (running, args.clone(), whole.sha256.clone()));
            let record = AuditEntry {
                principal: &caller.principal,
                owner: caller.owner.as_deref(),
                role: caller.role,
                transport: caller.transport,
                tool: entry.name(),
                by: entry.by(),
                write: entry.meta().effect.is_write(),
                volatile: entry.meta().volatile,
                refused,
                intent: trail.intent,
                args,
                args_sha256: &whole.sha256,
                error: result.as_ref().err(),
                duration,
                request_id: &request_id,
                correlation_id: correlation_id.as_deref(),
                approval: trail.approval.as_ref(),
                simulated: trail.notes.is_simulated(),
                changed,
                later: false,
            };
            if let Err(error) = self.ledger.record(record).await
                && entry.meta().effect.is_write()
                && !refused
            {
                result = Err(unrecorded(&entry, result, &error));
            }
        }
        let meta = AnswerMeta::of(&entry, duration, correlation_id.clone(), &trail.notes, changed);
        if let Some((running, args, args_sha256)) = later {
            let Trail { notes, approval, intent, .. } = trail;
            let ledger = Arc::clone(&self.ledger);
            let call = Later {
                entry,
                caller,
                args,
                args_sha256,
                intent,
                request_id,
                correlation_id,
                approval,
                notes,
                started,
            };
            base::task::spawn(call.record(running, ledger));
        }
        CallOutcome { result, meta }
    }
}
