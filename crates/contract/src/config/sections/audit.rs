//! `[audit]`: the maximum size of the audit.

use crate::config::{
    declare::section,
    key::InState,
    kind::{GIB, MIB, bytes},
};

section! {
    /// The record of who did what.
    [audit] pub struct AuditLog {
        /// Size of the record; beyond it the oldest part goes, behind a checkpoint that carries the chain on. One
        /// caller's part of a week is an eighth.
        max_bytes: u64 = 64 * 1024 * 1024, bytes(MIB, 4 * GIB), InState::Never;
    }
}
