//! A ledger decorator: counts every recorded call, and notifies subscribers of the audit.
//!
//! It is the one place that sees every call with its outcome, including refusals and panics.

use crate::{
    audit::ledger::{AuditEntry, AuditLedger, Intent},
    metrics::Metrics,
    resources::{subscription::RecordedCall, subscriptions::Subscriptions},
};
use base::{canonical::ArgsDigest, error::ToolError};
use contract::{access::caller::Caller, audit::changed::Changed};
use futures::future::BoxFuture;
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// A ledger with counters and subscribers.
pub struct Observed<L> {
    pub ledger: L,
    pub metrics: Arc<Metrics>,
    pub subscriptions: Arc<Subscriptions>,
}

impl<L: AuditLedger> AuditLedger for Observed<L> {
    fn redact(&self, args: &Value, whole: &ArgsDigest) -> Value {
        self.ledger.redact(args, whole)
    }

    fn ready(&self) -> Result<(), ToolError> {
        self.ledger.ready()
    }

    /// Not reported: the call has not ended.
    fn intend<'a>(&'a self, intent: Intent<'a>) -> BoxFuture<'a, Result<i64, ToolError>> {
        self.ledger.intend(intent)
    }

    fn gathers(&self, caller: &Caller, tool: &str, error: &ToolError, duration: Duration) -> bool {
        let gathered = self.ledger.gathers(caller, tool, error, duration);
        if gathered {
            self.metrics.called(tool, Some(error), duration);
        }
        gathered
    }

    fn record<'a>(&'a self, entry: AuditEntry<'a>) -> BoxFuture<'a, Result<(), ToolError>> {
        // Count each call once.
        if !entry.later {
            self.metrics.called(entry.tool, entry.error, entry.duration);
        }
        if self.subscriptions.count() == 0 {
            return self.ledger.record(entry);
        }
        let call = RecordedCall {
            principal: entry.principal,
            tool: entry.tool,
            outcome: entry.error.map_or("ok", |error| error.code.symbol()),
            changed: entry.changed != Changed::No,
        };
        Box::pin(async move {
            let recorded = self.ledger.record(entry).await;
            // After the record can be read.
            self.subscriptions.recorded(&call);
            recorded
        })
    }
}
