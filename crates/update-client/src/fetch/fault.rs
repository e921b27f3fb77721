//! What goes wrong while something is fetched, and what is done about it.

use base::error::{ErrorCode, ToolError};
use std::time::Duration;

/// What follows a fault.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Then {
    /// Again after a pause, at the next place if there is one.
    Again,
    /// The same, and with one connection from now on.
    Stalled,
    /// The same, and not before the server said.
    After(Duration),
    /// Another file is there than before: whether it is the same release is to be looked up.
    Changed,
    /// This place is of no use for this download.
    Elsewhere,
    /// A block, by its number, that is not the one that was signed: it may have been damaged on its way, so a place is asked for it again.
    Rotten(u32),
    /// It brought something that is not what was signed.
    Forged,
    /// No place can help: the disk, the deadline.
    Never(Box<ToolError>),
}

/// One attempt's end.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    pub then: Then,
    /// One clause for a person: what was answered.
    pub why: String,
}

impl Fault {
    pub fn again(why: impl Into<String>) -> Self {
        Self { then: Then::Again, why: why.into() }
    }
    pub fn changed(why: impl Into<String>) -> Self {
        Self { then: Then::Changed, why: why.into() }
    }
    pub fn elsewhere(why: impl Into<String>) -> Self {
        Self { then: Then::Elsewhere, why: why.into() }
    }
    pub fn rotten(n: u32, why: impl Into<String>) -> Self {
        Self { then: Then::Rotten(n), why: why.into() }
    }
    pub fn forged(why: impl Into<String>) -> Self {
        Self { then: Then::Forged, why: why.into() }
    }

    /// Of a request that got no answer, or lost it.
    pub fn of(error: &reqwest::Error) -> Self {
        let why = root_cause(error);
        // A server behind a redirect that must not be followed will point there again.
        if error.is_redirect() { Self::elsewhere(why) } else { Self::again(why) }
    }
}

impl From<ToolError> for Fault {
    fn from(error: ToolError) -> Self {
        Self { why: error.message.clone(), then: Then::Never(Box::new(error)) }
    }
}

/// The last of a chain of errors: the others only say that there is one.
pub(super) fn root_cause(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), root_cause)
}

/// That the time is up.
pub(super) fn late(deadline: Duration) -> ToolError {
    let hours = deadline.as_secs() / 3600;
    ToolError::new(
        ErrorCode::Timeout,
        format!("the download took longer than the {hours} hours it may (update.deadline_hours)"),
    )
    .hint("what is here is kept: start it again, over a better line or with a longer deadline")
}
