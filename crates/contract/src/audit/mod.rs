//! Records of the audit and the chain they form. The server writes them; the agent recomputes the chain.

pub mod changed;
pub mod head;
pub mod known;
pub mod limit;
pub mod record;

pub use head::AuditHead;
pub use known::{
    AcceptedGap, AuditCheckpoint, Beginning, Extension, KnownChain, KnownHeads, MAX_EXTENSION, MAX_RECORDS,
    RoomRequest, VerifiedPosition,
};
pub use record::{ApprovalRecord, AuditRecord, rfc3339};
