//! Where the record of a rollout is kept. Every change names the revision that it replaces.

use base::error::{ErrorCode, ToolError};
use fleet_protocol::rollout::RolloutRecord;

/// The record of one rollout.
pub trait RecordStore {
    /// The record with its revision.
    fn get(&self) -> impl Future<Output = Result<Option<(u64, RolloutRecord)>, ToolError>>;

    /// Replaces the record of revision `over`, 0 for none, and returns the next revision; `conflict` if another one is there.
    fn put(&self, over: u64, record: &RolloutRecord) -> impl Future<Output = Result<u64, ToolError>>;
}

/// The error when another revision is there.
pub fn changed() -> ToolError {
    ToolError::new(ErrorCode::Conflict, "the rollout's record was changed meanwhile")
        .hint("look at `raspi-mcp fleet rollout status`, then try again")
}
