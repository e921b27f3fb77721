//! That requests came from beyond this machine to a listener on loopback: through a tunnel or a proxy on this machine. The
//! owner may not know that the server answers there.

use base::clock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, PoisonError};
use time::OffsetDateTime;

/// Requests from outside since the start of the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutsideReport {
    /// How many there were, with a token or without.
    pub requests: u64,
    /// When the last one came, UTC.
    #[schemars(extend("format" = "date-time"))]
    pub last_at: String,
    /// What showed it, of the last one: a header, or a name.
    pub sign: String,
}

/// Counts them; one line of memory, whoever sends them.
#[derive(Debug, Default)]
pub struct OutsideRequests(Mutex<Option<(u64, OffsetDateTime, String)>>);

impl OutsideRequests {
    /// One more, shown by `sign`. Only the first goes to the log.
    pub fn note(&self, mut sign: String) {
        sign.truncate(sign.floor_char_boundary(128));
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = held.take().map_or(0, |(count, ..)| count);
        if before == 0 {
            tracing::warn!(
                sign,
                "a request came to the loopback listener from outside, through a tunnel or a proxy; such requests need a token"
            );
        }
        *held = Some((before.saturating_add(1), OffsetDateTime::now_utc(), sign));
    }

    /// `None` if there were none.
    pub fn report(&self) -> Option<OutsideReport> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        held.map(|(requests, at, sign)| OutsideReport { requests, last_at: clock::stamp(at), sign })
    }
}
