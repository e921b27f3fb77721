//! The ledger with bystanders: every call that it takes is counted, and told to those who listen to the audit.
//!
//! This is the one place that sees every call with its outcome, refusals and panics included.

use super::ledger::{Entry, Ledger};
use crate::{error::ToolError, metrics::Metrics, resources::book::Book};
use futures::future::BoxFuture;
use serde_json::Value;
use std::sync::Arc;

/// A ledger, and who hears of what it takes.
pub struct Observed<L> {
    pub ledger: L,
    pub metrics: Arc<Metrics>,
    pub book: Arc<Book>,
}

impl<L: Ledger> Ledger for Observed<L> {
    fn redact(&self, args: &Value) -> Value {
        self.ledger.redact(args)
    }

    fn ready(&self) -> Result<(), ToolError> {
        self.ledger.ready()
    }

    fn record<'a>(&'a self, entry: Entry<'a>) -> BoxFuture<'a, Result<(), ToolError>> {
        self.metrics.called(entry.tool, entry.error, entry.duration);
        if self.book.count() == 0 {
            return self.ledger.record(entry);
        }
        let (principal, tool) = (entry.principal, entry.tool);
        let outcome = entry.error.map_or("ok", |error| error.code.symbol());
        Box::pin(async move {
            let recorded = self.ledger.record(entry).await;
            // After it is there to be read.
            self.book.recorded(principal, tool, outcome);
            recorded
        })
    }
}
