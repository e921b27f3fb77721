//! Decides which of several places to try next, after what pause, and when to give up.

use super::{DownloadLimits, FetchError, answer::Pinned, fault::Then};
use base::error::{ErrorCode, ToolError};
use ring::rand::{SecureRandom, SystemRandom};
use std::time::Duration;
use update::FileLocation;

/// The places of one file, with the state of each.
#[derive(Debug)]
pub(super) struct FetchRoute {
    stops: Vec<Stop>,
    /// The current place.
    at: usize,
    /// Increases with every failed attempt; parallel requests that fail in the same turn count as one failure.
    turn: u64,
    /// Consecutive failed turns without any progress.
    failures: u32,
    last: Option<String>,
    /// What a place asked for that is overloaded.
    busy: Option<Duration>,
    /// The size of the file, once a place has reported it.
    size: Option<u64>,
}

#[derive(Debug)]
struct Stop {
    place: FileLocation,
    pinned: Option<Pinned>,
    /// Why it is not used any more.
    refused: Option<String>,
    forged: bool,
    /// Damaged blocks from there, with the count of each.
    rotten: Vec<(u32, u32)>,
}

/// The place of the next request.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub place: FileLocation,
    pub pinned: Option<Pinned>,
    at: usize,
    turn: u64,
}

/// The next step after a fault.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// Try again after this pause.
    Pause(Duration),
    /// Check whether it is still the same release.
    LookAgain,
}

/// A place is given up when the same block was damaged this many times, or more than this many different blocks were.
const SAME_ROTTEN: u32 = 3;
const MOST_ROTTEN: usize = 32;

impl Stop {
    /// Records that block `n` was damaged. Returns whether the place is given up.
    fn gives_up(&mut self, n: u32) -> bool {
        let times = match self.rotten.iter_mut().find(|(block, _)| *block == n) {
            Some((_, times)) => {
                *times += 1;
                *times
            }
            None => {
                self.rotten.push((n, 1));
                1
            }
        };
        times >= SAME_ROTTEN || self.rotten.len() > MOST_ROTTEN
    }
}

impl FetchRoute {
    pub fn new(places: Vec<FileLocation>) -> Self {
        let stops = places
            .into_iter()
            .map(|place| Stop { place, pinned: None, refused: None, forged: false, rotten: Vec::new() })
            .collect();
        Self { stops, at: 0, turn: 0, failures: 0, last: None, busy: None, size: None }
    }

    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// For a size from a place that is not trusted.
    pub fn forget_size(&mut self) {
        self.size = None;
    }

    /// # Errors
    /// `invalid_argument` when there is no place.
    pub fn turn(&self) -> Result<Turn, ToolError> {
        let stop = self.stops.get(self.at).ok_or_else(|| ToolError::invalid("no place is named to fetch from"))?;
        Ok(Turn { place: stop.place.clone(), pinned: stop.pinned.clone(), at: self.at, turn: self.turn })
    }

    /// Records the file's identity at a place.
    pub fn found(&mut self, turn: &Turn, found: Pinned) -> Result<(), FetchError> {
        let size = *self.size.get_or_insert(found.size);
        if size != found.size {
            return Err(FetchError::elsewhere(format!("the file there has {} bytes, elsewhere {size}", found.size)));
        }
        self.stops[turn.at].pinned = Some(found);
        Ok(())
    }

    /// Records a new identity of the same release.
    pub fn still(&mut self, turn: &Turn, found: Pinned) {
        self.stops[turn.at].pinned = Some(found);
    }

    /// Records progress.
    pub fn progress(&mut self) {
        self.failures = 0;
    }

    /// The step after `fault`. `patience`: consecutive failures per place until it gives up.
    ///
    /// # Errors
    /// When it gives up, with the answer of every place.
    pub fn after(
        &mut self,
        turn: &Turn,
        fault: FetchError,
        limits: &DownloadLimits,
        patience: u32,
    ) -> Result<Next, ToolError> {
        let place = &turn.place;
        let why = format!("{place}: {}", fault.why);
        tracing::debug!(target: "raspi_mcp::update::fetch::route", "fetching an update: {why}");
        let then = match fault.then {
            Then::Rotten(n) if self.stops[turn.at].gives_up(n) => Then::Forged,
            then => then,
        };
        let asked = match then {
            Then::Never(error) => return Err(*error),
            Then::Elsewhere | Then::Forged => {
                self.stops[turn.at].forged |= then == Then::Forged;
                self.stops[turn.at].refused = Some(why);
                self.onwards();
                return if self.stops[self.at].refused.is_some() {
                    Err(self.hopeless())
                } else {
                    Ok(Next::Pause(Duration::ZERO))
                };
            }
            Then::Changed | Then::Again | Then::Stalled | Then::Rotten(_) => None,
            Then::After(wait) => Some(wait),
            Then::Busy(wait) => {
                self.busy = Some(wait);
                Some(wait)
            }
        };
        if turn.turn == self.turn {
            self.turn += 1;
            self.failures += 1;
            self.last = Some(why);
            if then != Then::Changed {
                self.onwards();
            }
        }
        let places =
            u32::try_from(self.stops.iter().filter(|stop| stop.refused.is_none()).count()).unwrap_or(u32::MAX).max(1);
        if self.failures > patience.saturating_mul(places) {
            return Err(self.hopeless());
        }
        if then == Then::Changed {
            return Ok(Next::LookAgain);
        }
        // Another place is tried at once; all places again after a pause.
        let round = self.failures.saturating_sub(1) / places;
        let pause = if self.failures.is_multiple_of(places) {
            pause(limits, round, &SystemRandom::new())
        } else {
            Duration::ZERO
        };
        Ok(Next::Pause(asked.filter(|_| places == 1).map_or(pause, |wait| wait.max(pause))))
    }

    /// Moves to the next place that was not refused, if there is one.
    fn onwards(&mut self) {
        let count = self.stops.len();
        let next = (1..=count).map(|step| (self.at + step) % count).find(|at| self.stops[*at].refused.is_none());
        self.at = next.unwrap_or(self.at);
    }

    /// The error for whoever waits no longer: the answer of every place.
    pub(super) fn hopeless(&self) -> ToolError {
        let mut reasons: Vec<String> = self.stops.iter().filter_map(|stop| stop.refused.clone()).collect();
        if reasons.len() < self.stops.len() {
            reasons.extend(self.last.clone());
        }
        let forged = self.stops.iter().any(|stop| stop.forged);
        let code = if forged { ErrorCode::VerificationFailed } else { ErrorCode::Unavailable };
        let error = ToolError::new(code, format!("it cannot be fetched: {}", reasons.join("; ")));
        error
            .with_some(BUSY, self.busy.map(|wait| wait.as_secs()))
            .with("places", self.stops.iter().map(|stop| stop.place.to_string()).collect::<Vec<_>>())
            .hint("nothing on the card was touched, and what was fetched is kept: mend the place or name another one, then start again")
    }
}

/// The detail of errors that an overloaded server caused: the seconds it asked for, 0 if none.
pub(crate) const BUSY: &str = "busy_seconds";

/// Whether a server is there and overloaded: it answered 429 or 503.
pub fn is_busy(error: &ToolError) -> bool {
    error.details.contains_key(BUSY)
}

/// The pause before round `round`: a random time between half and all of a duration that doubles with each round, up to
/// `longest_pause`.
fn pause(limits: &DownloadLimits, round: u32, random: &dyn SecureRandom) -> Duration {
    let whole = limits.pause.saturating_mul(1 << round.min(16)).min(limits.longest_pause);
    let mut byte = [0];
    // Without random numbers all devices return at the same time, which is still better than not at all.
    let _ = random.fill(&mut byte);
    whole / 2 + whole / 2 * u32::from(byte[0]) / 255
}
