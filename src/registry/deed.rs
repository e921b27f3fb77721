//! A running write. Unlike a read it is not dropped when it is cancelled or its time is up: it is told to stop, and has a moment
//! to report what it did. If it does not report in time it continues, and its outcome is recorded when it ends.

use super::{context::Notes, entry::Entry, tool::ToolOutput};
use crate::audit::ledger::{self, AuditLedger};
use base::{
    error::{ErrorCode, ErrorFields, ToolError},
    os::blocking,
};
use contract::{
    access::caller::Caller,
    audit::{ApprovalRecord, changed::Changed},
};
use futures::FutureExt;
use serde_json::{Value, json};
use std::{
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// How long a write that is told to stop may take to report. A command has 2 s between SIGTERM and SIGKILL
/// ([`agent::exec::GRACE`]); the rest is for a slow machine.
pub const REPORT: Duration = Duration::from_secs(4);
/// How long to wait for the outcome of a write that continues. The longest write, a command, ends within 11 minutes.
pub const LATER: Duration = Duration::from_secs(15 * 60);

/// A write as a future that owns everything it needs, including its place in the concurrency limit.
pub(super) type WriteFuture = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send>>;

/// Why a call is answered before its tool has finished.
#[derive(Clone, Copy, Debug)]
pub(super) enum Interrupt {
    Cancelled,
    TimedOut(Duration),
}

impl Interrupt {
    fn error(self, tool: &str) -> ToolError {
        match self {
            Self::Cancelled => ToolError::cancelled(tool),
            Self::TimedOut(limit) => ToolError::timeout(tool, limit),
        }
    }
}

/// The result of a write for its caller, and the future if it continues.
pub(super) struct WriteOutcome {
    pub result: Result<ToolOutput, ToolError>,
    pub goes_on: Option<WriteFuture>,
}

/// Runs `running` until it ends, `cancel` fires or `deadline` (after `limit`) has come, and then for as long as [`REPORT`].
pub(super) async fn attend(
    tool: &str,
    running: impl Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    cancel: &CancellationToken,
    deadline: tokio::time::Instant,
    limit: Duration,
    notes: &Notes,
) -> WriteOutcome {
    let mut running: WriteFuture = Box::pin(blocking::told_by(cancel.clone(), running));
    let interrupt = tokio::select! {
        // Biased: a finished call wins over a cancellation that came with it.
        biased;
        result = &mut running => {
            // The write may notice the cancellation first and report at once.
            let result = match result {
                Err(own) if own.code == ErrorCode::Cancelled && cancel.is_cancelled() => {
                    Err(interrupted(tool, Interrupt::Cancelled, Err(own), notes))
                }
                ended => ended,
            };
            return WriteOutcome { result, goes_on: None };
        }
        () = cancel.cancelled() => Interrupt::Cancelled,
        () = tokio::time::sleep_until(deadline) => Interrupt::TimedOut(limit),
    };
    cancel.cancel();
    match tokio::time::timeout(REPORT, &mut running).await {
        Ok(report) => WriteOutcome { result: Err(interrupted(tool, interrupt, report, notes)), goes_on: None },
        Err(_) => {
            let error = interrupt.error(tool).with("stopped", false);
            WriteOutcome { result: Err(worded(error, tool, interrupt, GOES_ON)), goes_on: Some(running) }
        }
    }
}

const GOES_ON: &str = "it goes on, and the audit will have its outcome";

/// The error for the caller of a write that was told to stop and has reported.
fn interrupted(tool: &str, why: Interrupt, report: Result<ToolOutput, ToolError>, notes: &Notes) -> ToolError {
    let finished = report.is_ok();
    let mut error = why.error(tool);
    if let Err(own) = report {
        learn(notes, &own);
        let ErrorFields { code, message, details, .. } = own.into_fields();
        if !matches!(code, ErrorCode::Cancelled | ErrorCode::Timeout) {
            error.details.insert("reported".into(), message.into());
        }
        error.details.extend(details);
    }
    if error.details.get("stopped") == Some(&Value::Bool(false)) {
        return worded(error, tool, why, "it goes on");
    }
    let words = match notes.changed_so_far() {
        _ if finished => "it had finished by then",
        Changed::No => "it was stopped and changed nothing",
        Changed::Yes => "it was stopped, but not before it changed something",
        Changed::Unknown => "it was stopped, and whether it changed something is unknown",
    };
    worded(error.with("stopped", true), tool, why, words)
}

fn worded(mut error: ToolError, tool: &str, why: Interrupt, words: &str) -> ToolError {
    error.message = match why {
        Interrupt::Cancelled => format!("{tool} was cancelled by its caller; {words}"),
        Interrupt::TimedOut(limit) => format!("{tool} did not finish within {} ms; {words}", limit.as_millis()),
    };
    error
}

/// Takes over what the write's own error says about changes.
pub(super) fn learn(notes: &Notes, error: &ToolError) {
    match Changed::of(&error.details) {
        Some(Changed::Yes) => notes.changed(),
        Some(Changed::Unknown) => notes.unknown(),
        Some(Changed::No) | None => {}
    }
}

/// Adds what is known about changes to an error that ends a write early, whoever made the error.
pub(super) fn say(error: &mut ToolError, changed: Changed) {
    if matches!(error.code, ErrorCode::Cancelled | ErrorCode::Timeout) {
        error.details.insert("changed".into(), json!(changed));
        error.details.entry("stopped").or_insert(true.into());
    }
}

/// A call that was answered while its write continues: what the record of the outcome needs.
pub(super) struct Later {
    pub entry: Arc<Entry>,
    pub caller: Arc<Caller>,
    /// Redacted.
    pub args: Value,
    pub args_sha256: String,
    /// Number of the intent record.
    pub intent: Option<i64>,
    pub request_id: String,
    pub correlation_id: Option<String>,
    pub approval: Option<ApprovalRecord>,
    pub notes: Arc<Notes>,
    pub started: Instant,
}

impl Later {
    /// Waits for the outcome, and records it.
    pub async fn record(self, running: WriteFuture, ledger: Arc<dyn AuditLedger>) {
        let tool = self.entry.name();
        let ended = outcome(running, tool, &self.notes).await;
        let record = ledger::AuditEntry {
            principal: &self.caller.principal,
            owner: self.caller.owner.as_deref(),
            role: self.caller.role,
            transport: self.caller.transport,
            tool,
            by: self.entry.by(),
            write: true,
            volatile: self.entry.meta().volatile,
            refused: false,
            intent: self.intent,
            args: self.args,
            args_sha256: &self.args_sha256,
            error: ended.as_ref().err(),
            duration: self.started.elapsed(),
            request_id: &self.request_id,
            correlation_id: self.correlation_id.as_deref(),
            approval: self.approval.as_ref(),
            simulated: self.notes.is_simulated(),
            changed: self.notes.changed_so_far(),
            later: true,
        };
        if let Err(error) = ledger.record(record).await {
            tracing::error!(tool, request_id = self.request_id, %error, "a later outcome could not be recorded");
        }
    }
}

/// Waits for the outcome of a write that continues.
///
/// # Errors
/// Its own; `internal` when it panicked, `timeout` when it has none after [`LATER`].
async fn outcome(running: WriteFuture, tool: &str, notes: &Notes) -> Result<(), ToolError> {
    let ended = match tokio::time::timeout(LATER, AssertUnwindSafe(running).catch_unwind()).await {
        Ok(Ok(ended)) => ended.map(drop),
        Ok(Err(_)) => Err(ToolError::internal(format!("{tool} failed inside")).with("changed", "unknown")),
        Err(_) => Err(worded(
            ToolError::timeout(tool, LATER).with("changed", "unknown"),
            tool,
            Interrupt::TimedOut(LATER),
            "its outcome is not waited for any longer",
        )),
    };
    if let Err(error) = &ended {
        learn(notes, error);
    }
    ended
}
