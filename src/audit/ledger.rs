//! The pipeline's interface for recording calls. The audit implements it.

use base::{canonical::ArgsDigest, error::ToolError};
use contract::{
    access::caller::{Caller, Transport},
    audit::{ApprovalRecord, changed::Changed},
    meta::Role,
};
use futures::future::BoxFuture;
use serde_json::Value;
use std::time::Duration;

/// One finished call.
pub struct AuditEntry<'a> {
    pub principal: &'a str,
    /// The owner of that credential, if configured.
    pub owner: Option<&'a str>,
    pub role: Role,
    pub transport: Transport,
    pub tool: &'a str,
    /// Who did it, if it was not this program: `agent:greenhouse`.
    pub by: Option<&'a str>,
    /// The tool changes something: the record must be stored before the answer is sent.
    pub write: bool,
    /// The effect is lost with the power: the record need not be synced at once.
    pub volatile: bool,
    /// The call ended before it did anything.
    pub refused: bool,
    /// What [`AuditLedger::intend`] returned.
    pub intent: Option<i64>,
    /// Redacted and bounded.
    pub args: Value,
    /// SHA-256 of the canonical JSON of the arguments as received, secrets included.
    pub args_sha256: &'a str,
    /// `None`: success.
    pub error: Option<&'a ToolError>,
    pub duration: Duration,
    pub request_id: &'a str,
    pub correlation_id: Option<&'a str>,
    pub approval: Option<&'a ApprovalRecord>,
    pub simulated: bool,
    pub changed: Changed,
    /// The call was already answered and recorded; this record has its final outcome.
    pub later: bool,
}

/// A write that is about to run.
pub struct Intent<'a> {
    pub caller: &'a Caller,
    pub tool: &'a str,
    /// See [`AuditEntry::by`].
    pub by: Option<&'a str>,
    pub volatile: bool,
    /// Redacted and bounded.
    pub args: Value,
    pub args_sha256: &'a str,
    pub request_id: &'a str,
    pub correlation_id: Option<&'a str>,
    pub approval: Option<&'a ApprovalRecord>,
}

/// Records every call.
pub trait AuditLedger: Send + Sync {
    /// Arguments as they may be recorded: redacted and bounded. `whole` describes the arguments as received.
    fn redact(&self, args: &Value, whole: &ArgsDigest) -> Value;
    /// Whether a write could be recorded, as far as is known without trying.
    ///
    /// # Errors
    /// `unavailable` if not: the write must not run.
    fn ready(&self) -> Result<(), ToolError>;
    /// Records a write before it runs. The record is on the card when this returns. For a volatile write, it survives
    /// the end of this process when this returns and is on the card within a second. Returns the number of the record.
    ///
    /// # Errors
    /// `unavailable` if it could not be stored: the write must not run.
    fn intend<'a>(&'a self, intent: Intent<'a>) -> BoxFuture<'a, Result<i64, ToolError>>;
    /// Counts a refusal if the same kind was already recorded in this minute. Returns whether it did; then no record
    /// and no redacted arguments are needed.
    fn gathers(&self, caller: &Caller, tool: &str, error: &ToolError, duration: Duration) -> bool;
    /// Records a call. For a write or a refusal, the record is on the card when this returns. For a volatile write, it
    /// survives the end of this process when this returns and is on the card within a second.
    ///
    /// # Errors
    /// `unavailable` if the record could not be stored.
    fn record<'a>(&'a self, entry: AuditEntry<'a>) -> BoxFuture<'a, Result<(), ToolError>>;
}
