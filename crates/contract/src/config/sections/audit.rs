//! `[audit]`: the maximum size of the audit.

use crate::config::{
    declare::section,
    key::InState,
    kind::{GIB, MIB, bytes},
};

section! {
    /// The audit log of all calls.
    [audit] pub struct AuditLog {
        /// Maximum size of the log. Beyond it the oldest records are removed, and a checkpoint continues the hash
        /// chain. One caller's share is an eighth per week.
        max_bytes: u64 = 64 * 1024 * 1024, bytes(MIB, 4 * GIB), InState::Never;
    }
}
