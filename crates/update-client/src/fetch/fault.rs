//! Faults of a fetch, and how they are handled.

use base::error::{ErrorCode, ToolError};
use std::time::Duration;

/// The reaction to a fault.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Then {
    /// Try again after a pause, at the next place if there is one.
    Again,
    /// The same, with a single connection from now on.
    Stalled,
    /// The same, but not before the time the server asked for.
    After(Duration),
    /// The same: the server is overloaded. Zero if it asked for no time.
    Busy(Duration),
    /// The file has changed: check whether it is still the same release.
    Changed,
    /// Do not use this place again for this download.
    Elsewhere,
    /// A block, by its number, has a wrong hash. It may have been damaged in transit, so it is requested again.
    Rotten(u32),
    /// The place sent data that does not match the signatures.
    Forged,
    /// The fault is not the place's: the disk, the deadline.
    Never(Box<ToolError>),
}

/// The fault that ended an attempt.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FetchError {
    pub then: Then,
    /// One clause for a person that says what happened.
    pub why: String,
}

impl FetchError {
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

    /// The fault of a request that failed or lost its answer.
    pub fn of(error: &reqwest::Error) -> Self {
        let why = root_cause(error);
        // A redirect that must not be followed would be sent again.
        if error.is_redirect() { Self::elsewhere(why) } else { Self::again(why) }
    }
}

impl From<ToolError> for FetchError {
    fn from(error: ToolError) -> Self {
        Self { why: error.message.clone(), then: Then::Never(Box::new(error)) }
    }
}

/// The last error of a chain; the others only wrap it.
pub(super) fn root_cause(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), root_cause)
}

/// The error for a passed deadline.
pub(super) fn late(deadline: Duration) -> ToolError {
    let hours = deadline.as_secs() / 3600;
    ToolError::new(
        ErrorCode::Timeout,
        format!("the download took longer than the {hours} hours it may (update.deadline_hours)"),
    )
    .hint("what is here is kept: start it again, over a better line or with a longer deadline")
}
