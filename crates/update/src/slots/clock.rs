//! The time that is certain to have passed (rule 13): it rises with what is committed, and with nothing else.

use super::{Stage, State, Step};

/// Seconds since 1970: when the running image was built, or the newest committed release was made. What earlier versions stored is
/// not looked at: they raised it before a release had proved itself, so it may lie in the future.
pub fn floor(state: &State, built: u64) -> u64 {
    state.committed_time.max(built)
}

/// Before a commit, where the clock is known by now: a release that was installed while it was not, and says that it was made after
/// `latest` (seconds since 1970), raises the floor to `latest` only. Nothing for any other.
pub fn not_after(state: &State, latest: u64) -> Step {
    let mut next = state.clone();
    match next.update.as_mut().filter(|update| update.stage == Stage::Trial && update.created > latest) {
        Some(update) => update.created = latest,
        None => return Step::default(),
    }
    Step::to(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_is_what_was_built_or_committed() {
        const BUILT: u64 = 1_790_000_000;
        assert_eq!(floor(&State::default(), BUILT), BUILT);
        let state = State { committed_time: BUILT + 5, ..State::default() };
        assert_eq!(floor(&state, BUILT), BUILT + 5);
        // What an earlier version stored when an install began.
        let poisoned = State { time_floor: 4_070_908_800, ..state };
        assert_eq!(floor(&poisoned, BUILT), BUILT + 5);
        assert!(not_after(&poisoned, BUILT).is_nothing(), "nothing is on trial");
    }
}
