//! Rule 13: what time it is, for signatures and certificates: the system's clock where it can be believed, else the latest time that is
//! certain.
//!
//! A Raspberry Pi without a battery starts in 1970, or when it was last switched off; a model of a hostile network may send it to
//! 2099. Nothing that was committed can have been made in the future, so the newest such time is a floor, and the system's clock
//! never raises it: who sets the clock must not decide what is expired.

/// Clocks further ahead of the floor than this are not believed, in seconds: ten years, the longest an appliance may lie in a drawer.
const FURTHEST: u64 = 10 * 365 * 86_400;

/// A publisher's clock may be ahead of ours by so much, in seconds.
pub const AHEAD: u64 = 86_400;

/// A time to judge by, in seconds since 1970, and whether it is the clock's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reckoning {
    pub now: u64,
    /// Otherwise `now` is only the floor: something may have expired in the meantime, and nobody can tell.
    pub fresh: bool,
}

impl Reckoning {
    /// `clock`: what the system says, in seconds since 1970; `synchronised`: whether it was set from the network. `floor`: what is
    /// certain to have passed.
    pub fn of(clock: i64, synchronised: bool, floor: u64) -> Self {
        match u64::try_from(clock) {
            Ok(now) if synchronised && now >= floor && now - floor <= FURTHEST => Self { now, fresh: true },
            _ => Self { now: floor, fresh: false },
        }
    }

    /// Nothing that exists now was made after this, in seconds since 1970. Where the clock is not believed that is ten years after the
    /// floor: releases made after the running one are all that such a device can see of the time.
    ///
    /// With neither a clock nor a floor nothing is known, so there is no bound.
    pub const fn latest(&self) -> u64 {
        if !self.fresh && self.now == 0 {
            return u64::MAX;
        }
        self.now.saturating_add(if self.fresh { AHEAD } else { FURTHEST })
    }

    /// For a person, where the clock is not believed.
    pub fn doubt(&self) -> Option<&'static str> {
        (!self.fresh).then_some(
            "freshness unknown: the clock is not set from the network, so nobody can tell whether this is the newest",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_time_is_near_a_clock_far_from_a_floor_and_unbounded_without_either() {
        let floor = 1_795_305_600;
        assert_eq!(Reckoning::of(1_795_400_000, true, floor).latest(), 1_795_400_000 + AHEAD);
        assert_eq!(Reckoning::of(0, false, floor).latest(), floor + FURTHEST);
        assert_eq!(Reckoning::of(1_795_400_000, false, 0).latest(), u64::MAX);
    }

    #[test]
    fn a_clock_is_believed_between_the_floor_and_a_drawers_patience() {
        let floor = 1_795_305_600;
        let of = |clock: i64| Reckoning::of(clock, true, floor);
        assert_eq!(of(1_795_400_000), Reckoning { now: 1_795_400_000, fresh: true });
        assert_eq!(of(1_795_305_600), Reckoning { now: floor, fresh: true });
        for wrong in [0, -1, i64::MIN, 1_795_305_599, 4_070_908_800, i64::MAX] {
            assert_eq!(of(wrong), Reckoning { now: floor, fresh: false }, "{wrong}");
        }
        assert_eq!(Reckoning::of(1_795_400_000, false, floor), Reckoning { now: floor, fresh: false }, "nobody set it");
    }
}
