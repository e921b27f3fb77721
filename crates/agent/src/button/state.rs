//! What a finger on the button means. Pure: edges, what waits for an answer, and time come in; an approval comes out.
//!
//! A press counts when it began, after a release of its own, while exactly one ask was pending that a button may answer; and
//! approves that ask when it was held for two seconds during which no other was opened. Anything else is nothing.

use std::time::Duration;

/// How long it takes to mean it.
pub const HOLD: Duration = Duration::from_secs(2);
/// Contacts bounce for some milliseconds: a release that was shorter is none.
const BOUNCE: Duration = Duration::from_millis(50);

/// What waits for an answer, as the agent's book has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// The asks that are pending, each with whether a button may answer it.
    pub pending: Vec<(String, bool)>,
    /// How many asks were ever opened: one that came and went leaves a trace here.
    pub opened: u64,
}

impl Waiting {
    /// The one that a button could answer.
    fn only(&self) -> Option<&str> {
        match self.pending.as_slice() {
            [(id, true)] => Some(id),
            _ => None,
        }
    }
}

/// What the LED says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Nothing is asked.
    Off,
    /// One ask waits for the button.
    Slow,
    /// A hold is being counted.
    On,
    /// Asks wait, and the button cannot answer: there is more than one, or it is none for a button.
    Fast,
}

impl Signal {
    /// How long it is on, and then off. `None` changes nothing by itself.
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
    /// Since then. `meant`: what the press meant that ended here, in case it goes on because the contact only bounced.
    Up { since: Duration, meant: Option<String> },
    /// Since the last edge; what it is to approve.
    Down { since: Duration, meant: Option<String> },
}

/// The finger and the asks. All times are of one clock that never goes back.
#[derive(Debug)]
pub struct Hand {
    finger: Finger,
    waiting: Waiting,
    /// Since when the one ask is known to be the only one.
    known: Duration,
}

impl Hand {
    /// A button that is pressed already when it is first looked at has to be let go before it means anything.
    pub fn new(pressed: bool, waiting: Waiting, now: Duration) -> Self {
        let meant = None;
        let finger = if pressed { Finger::Down { since: now, meant } } else { Finger::Up { since: now, meant } };
        Self { finger, waiting, known: now }
    }

    /// What waits now. A press that is under way goes on only if nothing was opened and its ask still waits alone.
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
        // Told late: the level has been looked at since.
        if at < *since {
            return;
        }
        let next = match (&mut self.finger, pressed) {
            (Finger::Up { since, meant }, true) if at.saturating_sub(*since) < BOUNCE => meant.take(),
            (Finger::Up { .. }, true) => self.waiting.only().filter(|_| at >= self.known).map(str::to_owned),
            // An edge was lost: nobody knows for how long it was up.
            (Finger::Down { .. }, true) => None,
            (Finger::Up { meant, .. } | Finger::Down { meant, .. }, false) => meant.take(),
        };
        self.finger =
            if pressed { Finger::Down { since: at, meant: next } } else { Finger::Up { since: at, meant: next } };
    }

    /// The level as it is now, whatever edges were told: a full queue drops some.
    pub fn level(&mut self, pressed: bool, now: Duration) {
        if pressed != matches!(self.finger, Finger::Down { .. }) {
            self.edge(pressed, now);
        }
    }

    /// When the hold that is being counted is long enough.
    pub fn due(&self) -> Option<Duration> {
        match &self.finger {
            Finger::Down { since, meant: Some(_) } => Some(*since + HOLD),
            _ => None,
        }
    }

    /// The ask that is approved by now, once.
    pub fn approved(&mut self, now: Duration) -> Option<String> {
        if self.due().is_none_or(|due| now < due) {
            return None;
        }
        match &mut self.finger {
            Finger::Down { meant, .. } => meant.take(),
            Finger::Up { .. } => None,
        }
    }

    /// What the LED is to say.
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
