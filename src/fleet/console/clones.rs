//! Two live machines of one identity: an older card that runs again after its backup was restored on another, or one backup on
//! two cards. Both sign with the device's key, so the signature does not tell them apart; their starts do.
//!
//! A device has one start at a time, and its numbers rise over starts. So a start that was over and is heard again, and a
//! message that is later than the newest by the clock but not by its number, come from another machine. What a broker
//! holds back or repeats is neither: it is older than the newest in both.

use appliance::generation;
use fleet_protocol::status::Status;
use std::collections::{HashMap, VecDeque};

/// Earlier starts that are remembered of a device.
const STARTS: usize = 16;
/// After this time without the other machine, in ms, it is told again: one day.
const FORGOTTEN_MS: i64 = 86_400_000;

/// Another machine was heard with a device's identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloneSeen {
    /// The generations of the two messages, the newer one first.
    pub generations: (u64, u64),
    /// When the broker received it, in ms by its clock.
    pub heard_ms: i64,
}

impl CloneSeen {
    /// What an owner has to know.
    pub fn sentence(&self) -> String {
        let (newer, older) = self.generations;
        let which = if newer == older {
            format!("both of generation {newer}: one backup is on two cards")
        } else {
            format!("of generation {older}, while this one is of {newer}: an older card runs again")
        };
        format!("another machine runs with its identity, {which}. Switch it off and erase its card")
    }

    /// Whether the alarm after `before` is told.
    pub fn is_news(&self, before: Option<&Self>) -> bool {
        before.is_none_or(|before| self.heard_ms.saturating_sub(before.heard_ms) > FORGOTTEN_MS)
    }
}

/// The starts of each device before its newest.
#[derive(Default)]
pub struct Starts(HashMap<String, VecDeque<String>>);

impl Starts {
    /// Looks at a status that counts, after `last`.
    pub fn newer(&mut self, last: Option<&Status>, now: &Status, heard_ms: i64) -> Option<CloneSeen> {
        let last = last.filter(|last| last.boot != now.boot)?;
        let over = self.0.entry(now.name.clone()).or_default();
        let again = over.contains(&now.boot);
        over.retain(|boot| *boot != now.boot);
        over.push_back(last.boot.clone());
        if over.len() > STARTS {
            over.pop_front();
        }
        again.then(|| clone(now, last, heard_ms))
    }
}

/// Looks at a status of the device's key that does not count, because it is not newer than `newest`.
pub fn not_newer(newest: &Status, other: &Status, heard_ms: i64) -> Option<CloneSeen> {
    let another = newest.boot != other.boot && other.time_ms > newest.time_ms;
    another.then(|| clone(newest, other, heard_ms))
}

/// Looks at a status of the device's key whose number is below `seen`, the newest that an earlier console has seen.
pub fn of_older_card(seen: u64, other: &Status) -> Option<CloneSeen> {
    let ((newer, seconds), (older, _)) = (generation::of_sequence(seen), generation::of_sequence(other.sequence));
    let later = other.time_ms / 1000 > i64::try_from(seconds).unwrap_or(i64::MAX);
    (older < newer && later).then_some(CloneSeen { generations: (newer, older), heard_ms: other.time_ms })
}

fn clone(newer: &Status, older: &Status, heard_ms: i64) -> CloneSeen {
    let (one, other) = (newer.generation, older.generation);
    CloneSeen { generations: (one.max(other), one.min(other)), heard_ms }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(boot: &str, generation: u64, time_ms: i64) -> Status {
        Status { name: "attic".into(), boot: boot.into(), generation, time_ms, ..Status::default() }
    }

    #[test]
    fn one_machine_that_starts_again_is_no_clone() {
        let mut starts = Starts::default();
        let mut last = status("first", 0, 1);
        assert_eq!(starts.newer(None, &last, 1), None);
        for number in 0..40 {
            for time_ms in [0, 5] {
                // Also with a clock that is behind after the start.
                let now = status(&format!("start {number}"), 0, time_ms);
                assert_eq!(starts.newer(Some(&last), &now, 2), None, "{number}");
                last = now;
            }
        }
        assert_eq!(starts.0["attic"].len(), STARTS);
        // What was held back, and what is repeated.
        assert_eq!(not_newer(&last, &status("start 3", 0, 5), 3), None);
        assert_eq!(not_newer(&last, &last.clone(), 3), None);
    }

    #[test]
    fn a_start_that_was_over_and_is_heard_again_is_another_machine() {
        let mut starts = Starts::default();
        let (one, other) = (status("one", 1, 5), status("other", 1, 6));
        assert_eq!(starts.newer(Some(&one), &other, 7), None, "it may have started again");
        let clone = starts.newer(Some(&other), &one, 8).unwrap();
        assert_eq!(clone, CloneSeen { generations: (1, 1), heard_ms: 8 });
        assert!(clone.sentence().contains("one backup is on two cards"));
        assert!(starts.newer(Some(&one), &other, 9).is_some(), "and the other way round");
    }

    #[test]
    fn an_older_card_that_still_reports_is_another_machine() {
        let newest = status("new card", 2, 100);
        let clone = not_newer(&newest, &status("old card", 1, 101), 9).unwrap();
        assert!(clone.sentence().contains("of generation 1, while this one is of 2"), "{}", clone.sentence());
        assert_eq!(not_newer(&newest, &status("old card", 1, 99), 9), None, "sent before the new card");
    }

    #[test]
    fn an_older_card_is_also_found_by_the_newest_number_alone() {
        let seen = generation::first_sequence(1) + 5_000;
        let at = |generation, seconds: i64| Status {
            sequence: generation::first_sequence(generation) + 9_000,
            ..status("some", generation, seconds * 1000)
        };
        assert_eq!(of_older_card(seen, &at(0, 5_001)).unwrap().generations, (1, 0));
        assert_eq!(of_older_card(seen, &at(0, 5_000)), None, "repeated, or held back");
        assert_eq!(of_older_card(seen, &at(1, 5_001)), None, "of this generation: a broker may repeat it");
    }

    #[test]
    fn it_is_told_once_a_day() {
        let at = |heard_ms| CloneSeen { generations: (1, 0), heard_ms };
        assert!(at(7).is_news(None) && !at(8).is_news(Some(&at(7))));
        assert!(at(9 + FORGOTTEN_MS).is_news(Some(&at(8))) && !at(8 + FORGOTTEN_MS).is_news(Some(&at(8))));
    }
}
