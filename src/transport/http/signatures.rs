//! What wrong signatures cost: the network that they come from, and nobody else.
//!
//! Everything is carried to the agent, which verifies it, so what is right counts whatever else came from that network:
//! behind one router, or one tunnel, are many. Wrong ones from one network are told why ten times, and then once in six
//! seconds.

use super::exchange;
use crate::authentication::refusals::{Refusals, WINDOW};
use axum::{
    body::Body,
    http::{HeaderValue, Response, header},
};
use base::error::{ErrorCode, ToolError};
use std::{
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Instant,
};

/// The networks that sent wrong ones, in bounded memory.
#[derive(Debug, Default)]
pub struct WrongSignatures {
    refusals: Refusals,
    /// When the window began that is counted.
    since: Mutex<Option<Instant>>,
}

impl WrongSignatures {
    /// The answer to something signed that came from `from` and was refused.
    pub(super) fn refused(&self, from: IpAddr, error: ToolError) -> Response<Body> {
        if error.code != ErrorCode::PermissionDenied {
            return exchange::answered(Err(error));
        }
        let now = Instant::now();
        let Some(wait) = self.note(from, now) else { return exchange::answered(Err(error)) };
        let error = ToolError::exhausted("too many signatures from this address did not count")
            .with("retry_after_ms", u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
            .hint("`raspi-mcp approver list` shows the enrolled keys; what one of them signs counts at once");
        let mut response = exchange::refused(&error);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(wait.as_secs_f64().ceil() as u64));
        response
    }

    /// How long until one more is told why.
    fn note(&self, from: IpAddr, now: Instant) -> Option<std::time::Duration> {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        if since.is_none_or(|since| now.saturating_duration_since(since) >= WINDOW) {
            *since = Some(now);
            for count in self.refusals.gathered() {
                let network = count.network.map_or_else(|| "others".into(), |network| network.to_string());
                tracing::info!(network, refused = count.refused, "more signatures that did not count");
            }
        }
        let told = self.refusals.note(from, "signature", true, now);
        if told.record {
            tracing::info!(%from, "a signature that does not count");
        }
        told.wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_network_with_many_wrong_ones_waits_and_no_other() {
        let (wrong, now) = (WrongSignatures::default(), Instant::now());
        let [here, there] = [[192, 0, 2, 7], [192, 0, 2, 8]].map(IpAddr::from);
        for n in 0..1000 {
            assert_eq!(wrong.note(here, now).is_some(), n >= 10, "{n}");
        }
        assert_eq!(wrong.note(there, now), None);
        assert_eq!(wrong.note(here, now + Duration::from_secs(7)), None, "one in six seconds");
        // Nothing is kept of networks that sent some in an earlier window.
        for n in 0..200u8 {
            let _ = wrong.note(IpAddr::from([198, 51, 100, n]), now);
        }
        assert_eq!(wrong.note(IpAddr::from([203, 0, 113, 1]), now + 3 * WINDOW), None);
    }

    #[test]
    fn only_a_signature_that_does_not_count_is_counted() {
        let (wrong, here) = (WrongSignatures::default(), IpAddr::from([192, 0, 2, 7]));
        for _ in 0..100 {
            assert_eq!(wrong.refused(here, ToolError::invalid("no JSON")).status(), 400);
        }
        let denied = || wrong.refused(here, ToolError::denied("its key is not enrolled")).status().as_u16();
        assert_eq!([(); 11].map(|()| denied()), [403, 403, 403, 403, 403, 403, 403, 403, 403, 403, 429]);
    }
}
