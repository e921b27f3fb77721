//! Small files, whole: indexes of channels and roots of trust.

use super::{
    Fault, HttpClient, body,
    route::{Next, Route},
    source::Haste,
};
use base::error::ToolError;
use tokio::time::{Instant, sleep};
use update::Place;

/// The longest that one small file may take.
const LONGEST: std::time::Duration = std::time::Duration::from_secs(600);

/// A small file, whole, from the first of `places` that has it: at most `most` bytes. What is in it is for the caller to judge; where
/// `judge` refuses it, the next place is asked.
///
/// # Errors
/// `unavailable` when no place has it, `verification_failed` when none has one that `judge` accepts.
pub async fn small<T>(
    http: &HttpClient,
    places: Vec<Place>,
    most: usize,
    judge: impl Fn(Vec<u8>) -> Result<T, ToolError>,
) -> Result<T, ToolError> {
    let deadline = Instant::now() + http.limits.deadline.min(LONGEST);
    let alone = places.len() == 1;
    let mut route = Route::new(places);
    loop {
        let turn = route.turn()?;
        let fault = match body::whole(http, &turn.place, most, deadline).await {
            Ok(bytes) => match judge(bytes) {
                Ok(judged) => return Ok(judged),
                // The only place there is: its reason is the whole answer.
                Err(error) if alone => return Err(error.with("place", turn.place.to_string())),
                Err(error) => Fault::forged(error.advice()),
            },
            Err(fault) => fault,
        };
        if let Next::Pause(pause) = route.after(&turn, fault, &http.limits, Haste::Now.patience(&http.limits))? {
            sleep(pause).await;
        }
    }
}

/// The same for a file that may well not be there: every place is asked once, and `None` is the answer when none has it.
pub async fn try_small(http: &HttpClient, places: Vec<Place>, most: usize) -> Option<Vec<u8>> {
    let deadline = Instant::now() + http.limits.deadline.min(LONGEST);
    for place in places {
        match body::whole(http, &place, most, deadline).await {
            Ok(bytes) => return Some(bytes),
            Err(fault) => tracing::debug!(target: "raspi_mcp::update::fetch::small", "{place}: {}", fault.why),
        }
    }
    None
}
