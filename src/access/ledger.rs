//! The record every call leaves, as the pipeline sees it. The audit log implements it.

use crate::{
    access::caller::Door,
    error::ToolError,
    registry::{meta::Role, pipeline::Approval},
};
use futures::future::BoxFuture;
use serde_json::Value;
use std::time::Duration;

/// One finished call.
pub struct Entry<'a> {
    pub principal: &'a str,
    pub role: Role,
    pub door: Door,
    pub tool: &'static str,
    /// The tool changes something: the record must be kept before the answer goes out.
    pub write: bool,
    /// What it changes does not outlast the power: the record need not at once.
    pub volatile: bool,
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
    pub changed: bool,
}

/// Takes the record of every call.
pub trait Ledger: Send + Sync {
    /// Arguments as they may be written down: no secrets, bounded size.
    fn redact(&self, args: &Value) -> Value;
    /// Whether a write could be recorded; asked before it is done.
    ///
    /// # Errors
    /// `unavailable`: no audit, no write.
    fn ready(&self) -> Result<(), ToolError>;
    /// Records a call. For a write or a refusal, durable when this returns; for a volatile write, kept whatever becomes of
    /// this process, and durable within a second.
    ///
    /// # Errors
    /// `unavailable` when the record could not be kept.
    fn record<'a>(&'a self, entry: Entry<'a>) -> BoxFuture<'a, Result<(), ToolError>>;
}
