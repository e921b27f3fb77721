//! When one end of a tunnel asks the other for a sign of life, and when it gives it up.

use std::time::Duration;
use tokio::time::Instant;

/// Silence after which the other end is asked for a sign of life.
const SILENCE: Duration = Duration::from_secs(60);
/// How long it may take to give one.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the other end may send no data after this side has ended. An end that only shows signs of life would be carried for ever.
const HALF_CLOSED: Duration = Duration::from_secs(120);

/// What has to be done when nothing else happens until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Ask for a sign of life.
    Probe,
    /// Give the tunnel up: why.
    GiveUp(&'static str),
}

/// What was heard of the other end, and when.
pub(super) struct Liveness {
    heard: Instant,
    is_probed: bool,
    /// When this side ended, or the last data moved after that.
    half_closed: Option<Instant>,
}

impl Liveness {
    pub(super) fn new(now: Instant) -> Self {
        Self { heard: now, is_probed: false, half_closed: None }
    }

    /// A frame came.
    pub(super) fn heard(&mut self, now: Instant) {
        (self.heard, self.is_probed) = (now, false);
    }

    /// Data came, or was taken by this side.
    pub(super) fn moved(&mut self, now: Instant) {
        self.half_closed = self.half_closed.map(|_| now);
    }

    /// The other end was asked.
    pub(super) fn probed(&mut self) {
        self.is_probed = true;
    }

    /// This side has no more data.
    pub(super) fn local_ended(&mut self, now: Instant) {
        self.half_closed = Some(now);
    }

    /// What has to be done next, and when.
    pub(super) fn next(&self) -> (Instant, Due) {
        let silent = match self.is_probed {
            true => (self.heard + SILENCE + PATIENCE, Due::GiveUp("the other end is silent")),
            false => (self.heard + SILENCE, Due::Probe),
        };
        match self.half_closed.map(|since| since + HALF_CLOSED) {
            Some(end) if end <= silent.0 => {
                (end, Due::GiveUp("this side has ended, and the other one sends nothing more"))
            }
            _ => silent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Follows it until it is given up: after how many seconds and probes, when the other end answers probes or not.
    fn given_up(mut liveness: Liveness, begun: Instant, answers: bool) -> Option<(u64, usize, &'static str)> {
        let mut probes = 0;
        while probes < 100 {
            match liveness.next() {
                (when, Due::GiveUp(why)) => return Some(((when - begun).as_secs(), probes, why)),
                (when, Due::Probe) => {
                    probes += 1;
                    liveness.probed();
                    if answers {
                        liveness.heard(when + SECOND);
                    }
                }
            }
        }
        None
    }

    #[test]
    fn an_end_that_is_silent_is_asked_once_and_given_up() {
        let now = Instant::now();
        assert_eq!(given_up(Liveness::new(now), now, false), Some((90, 1, "the other end is silent")));
        assert_eq!(given_up(Liveness::new(now), now, true), None, "one that answers is carried on");
    }

    #[test]
    fn an_end_that_only_answers_is_given_up_once_this_side_has_ended() {
        let now = Instant::now();
        let mut liveness = Liveness::new(now);
        liveness.local_ended(now);
        let (after, _, why) = given_up(liveness, now, true).expect("it ends");
        assert_eq!((after, why), (120, "this side has ended, and the other one sends nothing more"));
        // Data gives it the time anew; a sign of life does not.
        let mut liveness = Liveness::new(now);
        liveness.local_ended(now);
        liveness.moved(now + 100 * SECOND);
        liveness.heard(now + 110 * SECOND);
        assert_eq!(given_up(liveness, now, true).expect("it ends").0, 220);
    }
}
