//! What is known about a call while it runs, and the errors for a record that failed.

use super::{context::Notes, deed::WriteFuture, entry::Entry, tool::ToolOutput};
use base::{
    canonical::ArgsDigest,
    error::{ErrorCode, ToolError},
    os::panics::{self, Panic},
};
use contract::audit::ApprovalRecord;
use contract::audit::changed::Changed;
use serde_json::Value;
use std::sync::Arc;

/// What is known about a running call, kept outside of the future so that a panic does not lose it.
#[derive(Default)]
pub(super) struct Trail {
    pub(super) notes: Arc<Notes>,
    pub(super) approval: Option<ApprovalRecord>,
    /// The arguments as they go into the audit.
    pub(super) told: Option<(Value, ArgsDigest)>,
    /// A person was asked.
    pub(super) asked: bool,
    /// Number of the intent record.
    pub(super) intent: Option<i64>,
    /// The handler was called.
    pub(super) begun: bool,
    /// The write, if it continues after the answer.
    pub(super) goes_on: Option<WriteFuture>,
}

impl Trail {
    /// Whether the call changed something, as far as it is known by now.
    pub(super) fn changed(&self) -> Changed {
        match self.notes.changed_so_far() {
            Changed::No if self.goes_on.is_some() => Changed::Unknown,
            known => known,
        }
    }

    /// Whether the call was refused: it ended before it did anything, or its tool denied it to this caller.
    pub(super) fn is_refusal(&self, entry: &Entry, result: &Result<ToolOutput, ToolError>) -> bool {
        let denied = |error: &ToolError| error.code == ErrorCode::PermissionDenied && !entry.meta().effect.is_write();
        self.intent.is_none() && result.as_ref().is_err_and(|error| !self.begun || denied(error))
    }

    /// Whether a person denied it. Such a refusal always gets a record of its own.
    pub(super) fn answered_by_a_person(&self, result: &Result<ToolOutput, ToolError>) -> bool {
        self.asked && result.as_ref().is_err_and(|error| error.code == ErrorCode::PermissionDenied)
    }
}

/// The error for a write that was not done because it could not be recorded.
pub(super) fn not_done(entry: &Entry, error: ToolError) -> ToolError {
    let message = format!("{} was not done, since it could not be recorded: {}", entry.name(), error.message);
    error.with_message(message).with("done", false)
}

/// The error for a write that was done, or tried, and whose outcome could not be recorded. The caller must neither take it for a
/// recorded success nor repeat it.
pub(super) fn unrecorded(entry: &Entry, result: Result<ToolOutput, ToolError>, error: &ToolError) -> ToolError {
    match result {
        Ok(_) => ToolError::unavailable(format!(
            "{} was done, but its outcome could not be recorded: {}",
            entry.name(),
            error.message
        ))
        .with("done", true)
        .with("outcome_recorded", false)
        .hint("do not repeat it; look at what it did, and mend the store: manage.get_server_status says what is wrong"),
        Err(failed) => failed.with("outcome_recorded", false),
    }
}

/// The error for a call that panicked. Place and thread go to the log and, with the message, to the audit.
pub(super) fn panicked(entry: &Entry, request_id: &str) -> ToolError {
    let Panic { place, thread, said } = panics::take().unwrap_or_default();
    let tool = entry.name();
    tracing::error!(tool, request_id, place, thread, cause = said, "a tool panicked; the server goes on");
    ToolError::internal(format!("{tool} failed inside at {place}, thread {thread}; this is a bug in raspi-mcp"))
        .with("place", place)
        .with("thread", thread)
        .hint("logs.get_recent_app_logs has the cause; please report it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{context::Context, row::ToolRow, tool::Tool};
    use contract::meta::Meta;
    use serde_json::value::RawValue;

    struct WritePin;

    impl Tool for WritePin {
        type Args = ();
        type Out = ();
        const META: Meta = Meta { name: "gpio.write_pin", ..Meta::WRITE };

        async fn call(_cx: &Context, (): ()) -> Result<(), ToolError> {
            Ok(())
        }
    }

    #[test]
    fn a_missing_record_never_says_that_nothing_was_done() {
        static ROW: ToolRow = ToolRow::of::<WritePin>();
        let entry = &Entry::from(&ROW);
        let full = ToolError::unavailable("the store failed: disk is full");
        let json = RawValue::from_string("{}".into()).unwrap();
        let done = unrecorded(entry, Ok(ToolOutput { json, content: Vec::new(), whole: None, blob: None }), &full);
        assert!(done.message.contains("was done") && done.message.contains("disk is full"), "{done}");
        assert_eq!((&done.details["done"], &done.details["outcome_recorded"]), (&true.into(), &false.into()));
        let failed = unrecorded(entry, Err(ToolError::not_found("no such pin")), &full);
        assert_eq!((failed.code, &failed.details["outcome_recorded"]), (ErrorCode::NotFound, &false.into()));
        let refused = not_done(entry, full);
        assert!(refused.message.contains("was not done") && refused.details["done"] == false, "{refused}");
    }
}
