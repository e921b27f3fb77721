//! Records of the audit and the chain they form. The server writes them; the agent recomputes the chain.

pub mod changed;
pub mod head;
pub mod known;
pub mod limit;
pub mod record;

pub use head::Head;
pub use known::{
    AcceptedGap, Beginning, Checkpoint, Extension, KnownChain, KnownHeads, MAX_EXTENSION, MAX_RECORDS, Position,
    RoomRequest,
};
pub use record::{Approval, Record, rfc3339};
