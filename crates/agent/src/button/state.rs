//! The state machine of the button. Pure: takes edges, pending asks and time; returns an approval, or a halt.
//!
//! A press counts when it follows a release. What it does is decided by how long it was held:
//!
//! | held | does |
//! | --- | --- |
//! | less than 2 s | nothing |
//! | 2 s to less than 5 s | approves when it is let go: the one ask that was pending, throughout, and that a button may answer |
//! | 5 s to less than 10 s | nothing: whoever holds on that long does not mean an approval |
//! | 10 s | halts the machine, while it is still held |

use std::time::Duration;

/// How long the button must be held to approve.
pub const HOLD: Duration = Duration::from_secs(2);
/// From here on letting go does not approve: between an approval and a halt lies a span that does nothing.
pub const TOO_LONG: Duration = Duration::from_secs(5);
/// How long the button must be held to halt.
pub const HALT: Duration = Duration::from_secs(10);
/// Contacts bounce for some milliseconds: a shorter release is ignored.
pub const BOUNCE: Duration = Duration::from_millis(50);

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
    /// No ask is pending; during a hold, letting go approves.
    Off,
    /// One ask waits for the button.
    Slow,
    /// A hold is being timed; after ten seconds, it has halted.
    On,
    /// Asks are pending that the button cannot answer: several, or one that is reserved. During a hold: letting go does
    /// nothing, holding on halts.
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

/// One press, bounces included.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Press {
    /// Its first edge. The limits upwards count from here.
    first: Duration,
    /// Its last edge. An approval needs two seconds without an edge.
    last: Duration,
    /// The ask that it would approve.
    meant: Option<String>,
    /// Whether it may halt: it followed a release, and no edge of it was lost.
    clean: bool,
    /// It has halted.
    halted: bool,
}

#[derive(Debug)]
enum Finger {
    /// Released since then. `ended`: the press before it, until it is certain that the contact did not only bounce.
    Up {
        since: Duration,
        ended: Option<Press>,
    },
    Down(Press),
}

/// The state of the button and of the asks. All times are of one monotonic clock.
#[derive(Debug)]
pub struct Hand {
    finger: Finger,
    waiting: Waiting,
    /// Since when the single ask is known to be the only one.
    known: Duration,
    /// The ask of a press that ended before another one began, until it is taken.
    decided: Option<String>,
}

impl Hand {
    /// A button that is already pressed at the start must be released before a press counts.
    pub fn new(pressed: bool, waiting: Waiting, now: Duration) -> Self {
        let stuck = Press { first: now, last: now, meant: None, clean: false, halted: false };
        let finger = if pressed { Finger::Down(stuck) } else { Finger::Up { since: now, ended: None } };
        Self { finger, waiting, known: now, decided: None }
    }

    /// Updates the pending asks. A press in progress can approve only if no ask was opened and its ask is still the
    /// only one.
    pub fn waiting(&mut self, waiting: Waiting, now: Duration) {
        if waiting.opened != self.waiting.opened || waiting.only() != self.waiting.only() {
            self.known = now;
            self.decided = None;
            if let Finger::Up { ended: Some(press), .. } | Finger::Down(press) = &mut self.finger {
                press.meant = None;
            }
        }
        self.waiting = waiting;
    }

    /// The level changed at `at`.
    pub fn edge(&mut self, pressed: bool, at: Duration) {
        let last = match &self.finger {
            Finger::Up { since, .. } => *since,
            Finger::Down(press) => press.last,
        };
        // A late edge: the level was read after it.
        if at < last {
            return;
        }
        let fresh = |meant| Press { first: at, last: at, meant, clean: true, halted: false };
        let finger = std::mem::replace(&mut self.finger, Finger::Up { since: at, ended: None });
        self.finger = match (finger, pressed) {
            (Finger::Up { since, ended: Some(press) }, true) if at - since < BOUNCE => {
                Finger::Down(Press { last: at, ..press })
            }
            // Nobody knows what came before: perhaps a line that is stuck, and glitched.
            (Finger::Up { since, .. }, true) if at - since < BOUNCE => {
                Finger::Down(Press { clean: false, ..fresh(None) })
            }
            (Finger::Up { since, ended }, true) => {
                self.decided = ended.and_then(|press| press.approves(since)).or(self.decided.take());
                let meant = self.waiting.only().filter(|_| at >= self.known).map(str::to_owned);
                Finger::Down(fresh(meant))
            }
            // An edge was lost, so the time of the release is unknown, and this is another press.
            (Finger::Down(_), true) => Finger::Down(fresh(None)),
            (Finger::Down(press), false) => Finger::Up { since: at, ended: Some(press) },
            // Also lost: the press in between.
            (Finger::Up { .. }, false) => Finger::Up { since: at, ended: None },
        };
    }

    /// Corrects the state by the level read now; a full queue drops edges. A press whose end was not seen approves
    /// nothing: nobody knows how long it was held.
    pub fn level(&mut self, pressed: bool, now: Duration) {
        match &mut self.finger {
            Finger::Down(_) if !pressed => self.finger = Finger::Up { since: now, ended: None },
            Finger::Up { .. } if pressed => self.edge(true, now),
            _ => {}
        }
    }

    /// When the state of a press changes by time alone.
    pub fn due(&self, now: Duration) -> Option<Duration> {
        match &self.finger {
            Finger::Down(press) if press.clean && !press.halted => {
                let hold = press.meant.is_some().then_some(press.last + HOLD);
                let later = [Some(press.first + TOO_LONG), Some(press.first + HALT)];
                later.into_iter().chain([hold]).flatten().filter(|at| *at > now).min().or(Some(press.first + HALT))
            }
            Finger::Up { since, ended: Some(_) } => Some(*since + BOUNCE),
            _ => None,
        }
    }

    /// The ask that is approved by `now`. Returned once.
    pub fn approved(&mut self, now: Duration) -> Option<String> {
        if let Some(decided) = self.decided.take() {
            return Some(decided);
        }
        match &mut self.finger {
            Finger::Up { since, ended } if now.saturating_sub(*since) >= BOUNCE => {
                let since = *since;
                ended.take().and_then(|press| press.approves(since))
            }
            _ => None,
        }
    }

    /// Whether the press in progress halts the machine by `now`. Said once.
    pub fn halts(&mut self, now: Duration) -> bool {
        let (press, until) = match &mut self.finger {
            Finger::Down(press) => (press, now),
            // Let go since, before anybody looked.
            Finger::Up { since, ended: Some(press) } => (press, *since),
            Finger::Up { .. } => return false,
        };
        if !press.clean || press.halted || until.saturating_sub(press.first) < HALT {
            return false;
        }
        press.halted = true;
        true
    }

    /// What the LED should show.
    pub fn signal(&self, now: Duration) -> Signal {
        if let Finger::Down(press) = &self.finger
            && press.clean
        {
            let held = now.saturating_sub(press.first);
            if press.halted {
                return Signal::On;
            }
            if held >= TOO_LONG {
                return Signal::Fast;
            }
            if press.meant.is_some() {
                return if now.saturating_sub(press.last) < HOLD { Signal::On } else { Signal::Off };
            }
        }
        match (self.waiting.pending.is_empty(), self.waiting.only()) {
            (true, _) => Signal::Off,
            (false, None) => Signal::Fast,
            (false, Some(_)) => Signal::Slow,
        }
    }
}

impl Press {
    /// The ask that it approves, if it was let go at `released`.
    fn approves(self, released: Duration) -> Option<String> {
        let held_long = released.saturating_sub(self.last) >= HOLD;
        let not_too_long = released.saturating_sub(self.first) < TOO_LONG;
        self.meant.filter(|_| held_long && not_too_long)
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
