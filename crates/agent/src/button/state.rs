//! The state machine of the button. Pure: takes edges, pending asks and time; returns an approval.
//!
//! A press counts when it follows a release and began while exactly one ask was pending that a button may answer. It
//! approves that ask once it was held for two seconds during which no other ask was opened. Anything else is ignored.

use std::time::Duration;

/// How long the button must be held.
pub const HOLD: Duration = Duration::from_secs(2);
/// Contacts bounce for some milliseconds: a shorter release is ignored.
const BOUNCE: Duration = Duration::from_millis(50);

/// The pending asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// The pending asks, each with whether a button may answer it.
    pub pending: Vec<(String, bool)>,
    /// How many asks were ever opened, so that one that came and went is noticed.
    pub opened: u64,
}

impl Waiting {
    /// The ask that a button could answer, if there is exactly one.
    fn only(&self) -> Option<&str> {
        match self.pending.as_slice() {
            [(id, true)] => Some(id),
            _ => None,
        }
    }
}

/// What the LED shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// No ask is pending.
    Off,
    /// One ask waits for the button.
    Slow,
    /// A hold is being timed.
    On,
    /// Asks are pending that the button cannot answer: several, or one that is reserved.
    Fast,
}

impl Signal {
    /// Half of the blink period. `None`: steady.
    pub const fn half(self) -> Option<Duration> {
        match self {
            Self::Slow => Some(Duration::from_millis(500)),
            Self::Fast => Some(Duration::from_millis(100)),
            Self::Off | Self::On => None,
        }
    }
}

#[derive(Debug)]
enum Finger {
    /// Released since then. `meant`: the ask of the press that just ended, in case the contact only bounced.
    Up { since: Duration, meant: Option<String> },
    /// Pressed since the last edge; `meant` is the ask it would approve.
    Down { since: Duration, meant: Option<String> },
}

/// The state of the button and of the asks. All times are of one monotonic clock.
#[derive(Debug)]
pub struct Hand {
    finger: Finger,
    waiting: Waiting,
    /// Since when the single ask is known to be the only one.
    known: Duration,
}

impl Hand {
    /// A button that is already pressed at the start must be released before a press counts.
    pub fn new(pressed: bool, waiting: Waiting, now: Duration) -> Self {
        let meant = None;
        let finger = if pressed { Finger::Down { since: now, meant } } else { Finger::Up { since: now, meant } };
        Self { finger, waiting, known: now }
    }

    /// Updates the pending asks. A press in progress continues only if no ask was opened and its ask is still the only
    /// one.
    pub fn waiting(&mut self, waiting: Waiting, now: Duration) {
        if waiting.opened != self.waiting.opened || waiting.only() != self.waiting.only() {
            self.known = now;
            let (Finger::Up { meant, .. } | Finger::Down { meant, .. }) = &mut self.finger;
            *meant = None;
        }
        self.waiting = waiting;
    }

    /// The level changed at `at`.
    pub fn edge(&mut self, pressed: bool, at: Duration) {
        let (Finger::Up { since, .. } | Finger::Down { since, .. }) = &self.finger;
        // A late edge: the level was read after it.
        if at < *since {
            return;
        }
        let next = match (&mut self.finger, pressed) {
            (Finger::Up { since, meant }, true) if at.saturating_sub(*since) < BOUNCE => meant.take(),
            (Finger::Up { .. }, true) => self.waiting.only().filter(|_| at >= self.known).map(str::to_owned),
            // An edge was lost, so the time of the release is unknown.
            (Finger::Down { .. }, true) => None,
            (Finger::Up { meant, .. } | Finger::Down { meant, .. }, false) => meant.take(),
        };
        self.finger =
            if pressed { Finger::Down { since: at, meant: next } } else { Finger::Up { since: at, meant: next } };
    }

    /// Corrects the state by the level read now; a full queue drops edges.
    pub fn level(&mut self, pressed: bool, now: Duration) {
        if pressed != matches!(self.finger, Finger::Down { .. }) {
            self.edge(pressed, now);
        }
    }

    /// When the hold in progress is long enough.
    pub fn due(&self) -> Option<Duration> {
        match &self.finger {
            Finger::Down { since, meant: Some(_) } => Some(*since + HOLD),
            _ => None,
        }
    }

    /// The ask that is approved by `now`. Returned once.
    pub fn approved(&mut self, now: Duration) -> Option<String> {
        if self.due().is_none_or(|due| now < due) {
            return None;
        }
        match &mut self.finger {
            Finger::Down { meant, .. } => meant.take(),
            Finger::Up { .. } => None,
        }
    }

    /// What the LED should show.
    pub fn signal(&self) -> Signal {
        match (self.waiting.pending.is_empty(), self.waiting.only(), self.due()) {
            (true, ..) => Signal::Off,
            (false, None, _) => Signal::Fast,
            (false, Some(_), None) => Signal::Slow,
            (false, Some(_), Some(_)) => Signal::On,
        }
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
