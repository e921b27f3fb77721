//! The limits of one server, and how much of them is in use.

use super::listing::CallLimits;

/// The limits of one server.
#[derive(Clone, Copy, Debug)]
pub struct ServerLimits {
    pub limits: CallLimits,
    /// Calls that run at once.
    pub concurrent: usize,
    /// Calls that may wait for one of those places.
    pub waiting: usize,
    /// Long waits and streams at once, counted apart.
    pub streams: usize,
    /// The longest answer, in bytes.
    pub response_bytes: usize,
}

/// How busy a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLoad {
    /// Calls that run.
    pub running: usize,
    /// Calls that wait for a place to run in.
    pub waiting: usize,
    /// Approvals, long waits and streams.
    pub streams: usize,
}
