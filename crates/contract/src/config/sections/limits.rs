//! `[limits]`: the limits of one server and of one caller (docs/contract/README.md).

use crate::config::{
    declare::section,
    key::InState,
    kind::{KIB, MIB, bytes, count, seconds},
};

section! {
    /// Limits of the whole server, and of each caller.
    [limits] pub struct Limits {
        /// Maximum number of calls that run at once; one caller can have half of them. Calls that wait or stream by
        /// design are counted separately.
        max_concurrent_requests: usize = 10, count(1, 1000), InState::Lower;
        /// Maximum number of queued calls; one caller can have half of them. Further calls are refused at once.
        max_waiting_requests: usize = 64, count(0, 10_000), InState::Lower;
        /// Maximum number of long waits and streams at once; one caller can have half of them.
        max_streams: usize = 32, count(1, 1000), InState::Lower;
        /// Maximum size of a request. A larger one is refused without being read.
        max_request_bytes: usize = 1024 * 1024, bytes(KIB, 16 * MIB), InState::Lower;
        /// Maximum size of a response. A larger one becomes an error.
        max_response_bytes: usize = 10 * 1024 * 1024, bytes(KIB, 64 * MIB), InState::Lower;
        /// Maximum run time of one call. Tools may have a shorter limit of their own.
        request_timeout_seconds: u64 = 30, seconds(1, 600), InState::Lower;
        /// Maximum number of calls per minute that change nothing, for each caller and tool. Also the limit of refused
        /// calls, for each caller and all tools together (at least 60).
        reads_per_minute: u32 = 600, count(1, 1_000_000), InState::Lower;
        /// Maximum number of calls per minute that change something, for each caller and tool.
        writes_per_minute: u32 = 60, count(1, 1_000_000), InState::Lower;
        /// Time for running calls to finish when the server stops. After that they are cancelled.
        shutdown_grace_seconds: u64 = 5, seconds(0, 60), InState::Lower;
        /// Maximum nesting depth of arrays and objects in a request.
        max_depth: usize = 64, count(8, 512), InState::Lower;
    }
}
