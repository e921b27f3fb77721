//! `[limits]`: the limits of one server and of one caller (docs/contract/README.md).

use crate::config::{
    declare::section,
    key::InState,
    kind::{KIB, MIB, bytes, count, seconds},
};

section! {
    /// What one server does at once, and for one caller.
    [limits] pub struct Limits {
        /// Calls that run at once, half of them for one caller. Calls that wait or stream by design are counted apart.
        max_concurrent_requests: usize = 10, count(1, 1000), InState::Lower;
        /// Calls that may wait for their turn, half of them for one caller; one more is refused at once.
        max_waiting_requests: usize = 64, count(0, 10_000), InState::Lower;
        /// Long waits and streams at once, half of them for one caller.
        max_streams: usize = 32, count(1, 1000), InState::Lower;
        /// Longest request; a longer one is refused unread.
        max_request_bytes: usize = 1024 * 1024, bytes(KIB, 16 * MIB), InState::Lower;
        /// Longest answer; a longer one becomes an error.
        max_response_bytes: usize = 10 * 1024 * 1024, bytes(KIB, 64 * MIB), InState::Lower;
        /// Longest run of one call. Tools may have a shorter one of their own.
        request_timeout_seconds: u64 = 30, seconds(1, 600), InState::Lower;
        /// Calls that change nothing, for one caller and tool; also refused calls, for one caller and all tools (60 at
        /// least).
        reads_per_minute: u32 = 600, count(1, 1_000_000), InState::Lower;
        /// Calls that change something, for one caller and tool.
        writes_per_minute: u32 = 60, count(1, 1_000_000), InState::Lower;
        /// How long calls in flight may take to finish when the server stops; then they are cancelled.
        shutdown_grace_seconds: u64 = 5, seconds(0, 60), InState::Lower;
        /// How deep arrays and objects of a request may nest.
        max_depth: usize = 64, count(8, 512), InState::Lower;
    }
}
