//! How many audit records are not yet stored.

use super::Audit;

/// What is not on the card yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Reads that wait for their commit.
    pub records: usize,
    /// Calls that could not be recorded since the last success.
    pub lost: u64,
}

impl Audit {
    /// What waits to be committed.
    pub fn backlog(&self) -> Backlog {
        let waiting = self.waiting();
        Backlog { records: waiting.reads.count(), lost: waiting.lost.count }
    }
}
