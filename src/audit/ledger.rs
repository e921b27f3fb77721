//! The records every call leaves, as the pipeline sees it. The audit log implements it.

use base::{canonical::Whole, error::ToolError};
use contract::{
    access::caller::{Caller, Door},
    audit::{Approval, changed::Changed},
    meta::Role,
};
use futures::future::BoxFuture;
use serde_json::Value;
use std::time::Duration;

/// One finished call.
pub struct AuditEntry<'a> {
    pub principal: &'a str,
    /// Whose credential that is, where the configuration says.
    pub owner: Option<&'a str>,
    pub role: Role,
    pub door: Door,
    pub tool: &'static str,
    /// The tool changes something: the record must be kept before the answer goes out.
    pub write: bool,
    /// What it changes does not outlast the power: the record need not at once.
    pub volatile: bool,
    /// It ended before anything was done.
    pub refused: bool,
    /// What [`Ledger::intend`] returned.
    pub intent: Option<i64>,
    /// Without secrets, bounded.
    pub args: Value,
    /// SHA-256 of the canonical JSON of the arguments as they came, secrets included.
    pub args_sha256: &'a str,
    /// `None`: it succeeded.
    pub error: Option<&'a ToolError>,
    pub duration: Duration,
    pub request_id: &'a str,
    pub correlation_id: Option<&'a str>,
    pub approval: Option<&'a Approval>,
    pub simulated: bool,
    pub changed: Changed,
    /// The call was answered and recorded before: this is how it ended after all.
    pub later: bool,
}

/// A write that is about to be done.
pub struct Intent<'a> {
    pub caller: &'a Caller,
    pub tool: &'static str,
    pub volatile: bool,
    /// Without secrets, bounded.
    pub args: Value,
    pub args_sha256: &'a str,
    pub request_id: &'a str,
    pub correlation_id: Option<&'a str>,
    pub approval: Option<&'a Approval>,
}

/// Takes the record of every call.
pub trait Ledger: Send + Sync {
    /// Arguments as they may be written down: no secrets, bounded size. `whole` is of the arguments as they came.
    fn redact(&self, args: &Value, whole: &Whole) -> Value;
    /// Whether a write could be recorded, as far as is known without trying.
    ///
    /// # Errors
    /// `unavailable`: no audit, no write.
    fn ready(&self) -> Result<(), ToolError>;
    /// Records a write before it is done. Durable when this returns; for a volatile write, kept whatever becomes of this
    /// process, and durable within a second. Returns the number of the record.
    ///
    /// # Errors
    /// `unavailable` when it could not be kept: the write must not be done.
    fn intend<'a>(&'a self, intent: Intent<'a>) -> BoxFuture<'a, Result<i64, ToolError>>;
    /// Counts a refusal if it is only one more of its kind in this minute. If it is, it needs no record of its own, and
    /// nobody need look at its arguments.
    fn gathers(&self, caller: &Caller, tool: &'static str, error: &ToolError, duration: Duration) -> bool;
    /// Records a call. For a write or a refusal, durable when this returns; for a volatile write, kept whatever becomes of
    /// this process, and durable within a second.
    ///
    /// # Errors
    /// `unavailable` when the record could not be kept.
    fn record<'a>(&'a self, entry: AuditEntry<'a>) -> BoxFuture<'a, Result<(), ToolError>>;
}
