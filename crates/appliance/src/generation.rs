//! The generation of an identity: how often it was restored from a backup. It rises with each restore and never falls.
//!
//! Statuses of a fleet carry it, and their numbers begin with it, so that the machine with the newest card counts and an
//! older card of the same identity is found out.

use update::slots::StateRecord;

/// Its key in [`StateRecord::kept`].
const KEY: &str = "generation";
/// The lower bits of a message's number: seconds since 1970 for 34,000 years. JSON keeps numbers below 2^53 exactly, which
/// leaves 8,191 restores.
const BITS: u32 = 40;
/// The highest that a restore gives.
pub const MOST: u64 = (1 << (53 - BITS)) - 1;

/// The generation of a state; 0 if nothing was restored, or what is kept is no number.
pub fn of(state: &StateRecord) -> u64 {
    let text = state.kept.get(KEY).and_then(|bytes| std::str::from_utf8(bytes).ok());
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Keeps the generation after `other`, or after the state's own if that is higher.
pub(crate) fn raise(state: &mut StateRecord, other: u64) {
    let next = of(state).max(other).saturating_add(1).min(MOST);
    state.kept.insert(KEY.into(), next.to_string().into_bytes());
}

/// The number that all messages of a generation are above: those of an older one are below it.
pub const fn first_sequence(generation: u64) -> u64 {
    generation << BITS
}

/// The generation in a message's number, and the rest: not before the seconds of its device's clock.
pub const fn of_sequence(sequence: u64) -> (u64, u64) {
    (sequence >> BITS, sequence & ((1 << BITS) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rises_above_both_and_never_falls() {
        let mut state = StateRecord::default();
        assert_eq!(of(&state), 0);
        raise(&mut state, 0);
        assert_eq!(of(&state), 1);
        raise(&mut state, 7);
        assert_eq!(of(&state), 8);
        raise(&mut state, 2);
        assert_eq!(of(&state), 9);
        raise(&mut state, u64::MAX);
        assert_eq!(of(&state), MOST);
        state.kept.insert(KEY.into(), b"x".to_vec());
        assert_eq!(of(&state), 0);
    }

    #[test]
    fn numbers_of_a_generation_are_above_all_before_it_and_exact_in_json() {
        // The year 9999.
        assert!(first_sequence(1) > 253_402_300_799 && first_sequence(2) > first_sequence(1) + 253_402_300_799);
        assert!(first_sequence(MOST) + 253_402_300_799 < 1 << 53);
        assert_eq!(of_sequence(first_sequence(3) + 7), (3, 7));
    }
}
