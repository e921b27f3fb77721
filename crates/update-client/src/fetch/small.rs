//! Fetches small files completely: indexes of channels and roots of trust.

use super::{
    FetchError, HttpClient, body,
    route::{FetchRoute, Next},
    source::Haste,
};
use base::error::ToolError;
use tokio::time::{Instant, sleep};
use update::FileLocation;

/// Maximum time for one small file.
const LONGEST: std::time::Duration = std::time::Duration::from_secs(600);

/// Longest pause before a further attempt: a caller waits.
const LONGEST_PAUSE: std::time::Duration = std::time::Duration::from_secs(10);

/// Fetches a small file, at most `most` bytes, from the first of `places` that has it. The caller must verify its
/// content: if `judge` refuses it, the next place is tried.
///
/// # Errors
/// `unavailable` when no place has it, `verification_failed` when none has one that `judge` accepts.
pub async fn small<T>(
    http: &HttpClient,
    places: Vec<FileLocation>,
    most: usize,
    judge: impl Fn(Vec<u8>) -> Result<T, ToolError>,
) -> Result<T, ToolError> {
    let deadline = Instant::now() + http.limits.deadline.min(LONGEST);
    let alone = places.len() == 1;
    let mut route = FetchRoute::new(places);
    loop {
        let turn = route.turn()?;
        let fault = match body::whole(http, &turn.place, most, deadline).await {
            Ok(bytes) => match judge(bytes) {
                Ok(judged) => return Ok(judged),
                // With a single place, its error is the whole answer.
                Err(error) if alone => return Err(error.with("place", turn.place.to_string())),
                Err(error) => FetchError::forged(error.advice()),
            },
            Err(fault) => fault,
        };
        match route.after(&turn, fault, &http.limits, Haste::Now.patience(&http.limits))? {
            Next::Pause(pause) if pause > LONGEST_PAUSE => return Err(route.hopeless()),
            Next::Pause(pause) => sleep(pause).await,
            Next::LookAgain => {}
        }
    }
}

/// The same for a file that may be missing: every place is tried once, and the result is `None` if none has it.
pub async fn try_small(http: &HttpClient, places: Vec<FileLocation>, most: usize) -> Option<Vec<u8>> {
    let deadline = Instant::now() + http.limits.deadline.min(LONGEST);
    for place in places {
        match body::whole(http, &place, most, deadline).await {
            Ok(bytes) => return Some(bytes),
            Err(fault) => tracing::debug!(target: "raspi_mcp::update::fetch::small", "{place}: {}", fault.why),
        }
    }
    None
}
