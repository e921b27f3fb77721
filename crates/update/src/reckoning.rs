//! The current time for signatures and certificates: the system's clock if it can be trusted, otherwise the latest time
//! that is certain.
//!
//! A Raspberry Pi without a battery starts in 1970, or at the time of its last shutdown; a hostile network may set it
//! to 2099. Nothing that was committed can have been made in the future, so the newest such time is a floor. The
//! system's clock never raises it: whoever sets the clock must not decide what has expired.

/// Clocks further ahead of the floor than this are not trusted, in seconds: ten years, the longest expected storage of
/// an appliance.
const FURTHEST: u64 = 10 * 365 * 86_400;

/// How far a publisher's clock may be ahead of ours, in seconds.
pub const AHEAD: u64 = 86_400;

/// A time to judge by, in seconds since 1970, and whether it comes from the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reckoning {
    pub now: u64,
    /// If false, `now` is only the floor: things may have expired unnoticed.
    pub fresh: bool,
}

impl Reckoning {
    /// `clock`: the system's time, in seconds since 1970; `synchronised`: whether it was set from the network. `floor`: when what was
    /// committed or runs was made. Its publisher's clock may have been [`AHEAD`] of ours, so a clock that is behind the floor by as much counts.
    pub fn of(clock: i64, synchronised: bool, floor: u64) -> Self {
        match u64::try_from(clock) {
            Ok(now) if synchronised && floor.saturating_sub(now) <= AHEAD && now.saturating_sub(floor) <= FURTHEST => {
                Self { now, fresh: true }
            }
            _ => Self { now: floor, fresh: false },
        }
    }

    /// Nothing that exists now was made after this, in seconds since 1970. If the clock is not trusted that is ten
    /// years after the floor: such a device knows the time only from releases made after the running one.
    ///
    /// With neither a clock nor a floor there is no limit.
    pub const fn latest(&self) -> u64 {
        if !self.fresh && self.now == 0 {
            return u64::MAX;
        }
        self.now.saturating_add(if self.fresh { AHEAD } else { FURTHEST })
    }

    /// For people, when the clock is not trusted.
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
        for wrong in [0, -1, i64::MIN, 1_795_219_199, 4_070_908_800, i64::MAX] {
            assert_eq!(of(wrong), Reckoning { now: floor, fresh: false }, "{wrong}");
        }
        // A release that was made 23 hours ahead of this clock, and was committed here.
        assert_eq!(of(1_795_222_800), Reckoning { now: 1_795_222_800, fresh: true });
        assert_eq!(of(1_795_222_800).latest(), 1_795_222_800 + AHEAD, "the next one is measured by the clock again");
        assert_eq!(of(1_795_219_200), Reckoning { now: 1_795_219_200, fresh: true }, "a day");
        assert_eq!(Reckoning::of(1_795_400_000, false, floor), Reckoning { now: floor, fresh: false }, "nobody set it");
    }
}
