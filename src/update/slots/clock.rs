//! The time that is certain to have passed (rule 13): it rises with what is verified, and with nothing else.

use super::State;

/// Seconds since 1970: the build time of this program, or the newest verified manifest's.
pub fn floor(state: &State, built: u64) -> u64 {
    state.time_floor.max(built)
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
    fn the_floor_only_rises() {
        const BUILT: u64 = 1_790_000_000;
        assert_eq!(floor(&State::default(), BUILT), BUILT);
        let state = verified_at(&State::default(), BUILT + 5);
        assert_eq!(verified_at(&state, 7), state);
        assert_eq!(floor(&state, BUILT), BUILT + 5);
    }
}
