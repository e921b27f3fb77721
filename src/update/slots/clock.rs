//! Rule 13: what the time is at least. The system's clock never raises the floor: who sets the clock must not decide what is expired.

use super::State;

/// Clocks further ahead of the floor than this are not believed, in seconds: ten years, the longest an appliance may lie in a drawer.
const FURTHEST: u64 = 10 * 365 * 86_400;

/// The time to hold expiry against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Seconds since 1970.
    pub seconds: u64,
    /// Whether that is the clock's. If not it is the floor, and how fresh a channel is is unknown.
    pub fresh: bool,
}

/// Seconds since 1970: the build time of this program, or the newest verified manifest's.
pub fn floor(state: &State, built: u64) -> u64 {
    state.time_floor.max(built)
}

/// The system's clock where it is synchronised and plausible, else the floor.
pub fn now(state: &State, built: u64, clock: u64, synchronised: bool) -> Moment {
    let floor = floor(state, built);
    if synchronised && (floor..=floor.saturating_add(FURTHEST)).contains(&clock) {
        Moment { seconds: clock, fresh: true }
    } else {
        Moment { seconds: floor, fresh: false }
    }
}

/// A manifest made at `created` (seconds since 1970) was verified: it is not earlier than that.
#[must_use]
pub fn verified_at(state: &State, created: u64) -> State {
    State { time_floor: state.time_floor.max(created), ..state.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_believed_between_the_floor_and_a_drawers_patience() {
        const BUILT: u64 = 1_790_000_000;
        let state = verified_at(&State::default(), BUILT + 5);
        assert_eq!(verified_at(&state, 7), state, "the floor only rises");
        let at = |clock, synchronised| now(&state, BUILT, clock, synchronised);
        let floor = Moment { seconds: BUILT + 5, fresh: false };
        assert_eq!(at(BUILT + 9, true), Moment { seconds: BUILT + 9, fresh: true });
        // 1970, 2099, backwards, and a clock that nobody set.
        for (clock, synchronised) in [(0, true), (4_070_908_800, true), (BUILT, true), (BUILT + 9, false)] {
            assert_eq!(at(clock, synchronised), floor, "{clock}");
        }
        assert_eq!(super::floor(&State::default(), BUILT), BUILT);
    }
}
