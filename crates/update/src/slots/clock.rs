//! The time that has certainly passed: raised only by commits, never by the system's clock.

use super::{Stage, StateRecord, Step};

/// Seconds since 1970: when the running image was built, or the newest committed release was made. The value stored by
/// earlier versions is ignored: they raised it before a release had succeeded, so it may lie in the future.
pub fn floor(state: &StateRecord, built: u64) -> u64 {
    state.committed_time.max(built)
}

/// Before a commit, now that the clock is known: a release that was installed without a clock, and claims a time after
/// `latest` (seconds since 1970), raises the floor to `latest` only. Has no effect on others.
pub fn not_after(state: &StateRecord, latest: u64) -> Step {
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
        assert_eq!(floor(&StateRecord::default(), BUILT), BUILT);
        let state = StateRecord { committed_time: BUILT + 5, ..StateRecord::default() };
        assert_eq!(floor(&state, BUILT), BUILT + 5);
        // What an earlier version stored when an install began.
        let poisoned = StateRecord { time_floor: 4_070_908_800, ..state };
        assert_eq!(floor(&poisoned, BUILT), BUILT + 5);
        assert!(not_after(&poisoned, BUILT).is_nothing(), "nothing is on trial");
    }
}
