//! Fingers: patient, hasty, stuck, and of those who would like to look like one.

use super::*;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn waiting(opened: u64, ids: &[&str]) -> Waiting {
    Waiting { pending: ids.iter().map(|id| ((*id).to_owned(), true)).collect(), opened }
}

/// A released button before one ask, `A`, that is known since 1 s.
fn hand() -> Hand {
    let mut hand = Hand::new(false, waiting(0, &[]), ms(0));
    hand.waiting(waiting(1, &["A"]), ms(1000));
    hand
}

#[test]
fn two_seconds_approve_the_one_ask_once() {
    let mut hand = hand();
    assert_eq!((hand.signal(), hand.due()), (Signal::Slow, None));
    hand.edge(true, ms(1500));
    assert_eq!((hand.signal(), hand.due()), (Signal::On, Some(ms(3500))));
    assert_eq!(hand.approved(ms(3499)), None);
    assert_eq!(hand.approved(ms(3500)), Some("A".into()));
    assert_eq!((hand.approved(ms(9000)), hand.signal()), (None, Signal::Slow), "a long hold is one approval");
}

#[test]
fn a_release_before_its_time_is_nothing() {
    let mut hand = hand();
    hand.edge(true, ms(1500));
    hand.edge(false, ms(3499));
    assert_eq!((hand.approved(ms(3600)), hand.signal()), (None, Signal::Slow));
    // Nor do two short presses add up.
    hand.edge(true, ms(3700));
    assert_eq!(hand.approved(ms(5699)), None);
    assert_eq!(hand.approved(ms(5700)), Some("A".into()));
}

#[test]
fn a_press_that_began_before_the_ask_does_not_count() {
    let mut hand = Hand::new(false, waiting(0, &[]), ms(0));
    hand.edge(true, ms(900));
    hand.waiting(waiting(1, &["A"]), ms(1000));
    assert_eq!((hand.approved(ms(60_000)), hand.signal()), (None, Signal::Slow));
    // Not either when its edge is told after the ask.
    let mut late = Hand::new(false, waiting(0, &[]), ms(0));
    late.waiting(waiting(1, &["A"]), ms(1000));
    late.edge(true, ms(999));
    assert_eq!(late.approved(ms(60_000)), None);
    // Once let go and pressed anew it does.
    late.edge(false, ms(61_000));
    late.edge(true, ms(61_100));
    assert_eq!(late.approved(ms(63_100)), Some("A".into()));
}

#[test]
fn a_button_held_from_the_start_approves_nothing() {
    let mut hand = Hand::new(true, waiting(0, &[]), ms(0));
    hand.waiting(waiting(1, &["A"]), ms(1000));
    assert_eq!(hand.approved(ms(60_000)), None);
    let mut stuck = Hand::new(true, waiting(1, &["A"]), ms(0));
    assert_eq!((stuck.approved(ms(60_000)), stuck.signal()), (None, Signal::Slow));
}

#[test]
fn a_contact_that_bounces_neither_ends_a_hold_nor_begins_one() {
    let mut hand = hand();
    for (pressed, at) in [(true, 1500), (false, 1501), (true, 1503), (false, 1504), (true, 1510)] {
        hand.edge(pressed, ms(at));
    }
    assert_eq!(hand.due(), Some(ms(3510)), "counted from the last of them");
    assert_eq!(hand.approved(ms(3510)), Some("A".into()));
    // The same from a press that does not count: it does not begin to.
    let mut stuck = Hand::new(true, waiting(1, &["A"]), ms(0));
    stuck.edge(false, ms(5000));
    stuck.edge(true, ms(5049));
    assert_eq!(stuck.due(), None);
    stuck.edge(false, ms(6000));
    stuck.edge(true, ms(6050));
    assert_eq!(stuck.due(), Some(ms(8050)), "50 ms are a release");
}

#[test]
fn more_than_one_ask_is_none_for_the_button() {
    let mut hand = hand();
    hand.waiting(waiting(2, &["A", "B"]), ms(1200));
    hand.edge(true, ms(1500));
    assert_eq!((hand.approved(ms(60_000)), hand.signal()), (None, Signal::Fast));
    // The other goes: the press has begun before, so it stays nothing.
    hand.waiting(waiting(2, &["A"]), ms(61_000));
    assert_eq!((hand.approved(ms(99_000)), hand.signal()), (None, Signal::Slow));
}

#[test]
fn the_same_ask_throughout() {
    // Another comes.
    let mut hand = self::hand();
    hand.edge(true, ms(1500));
    hand.waiting(waiting(2, &["A", "B"]), ms(2000));
    assert_eq!((hand.approved(ms(3500)), hand.signal()), (None, Signal::Fast));
    // Another comes and goes between two looks.
    let mut hand = self::hand();
    hand.edge(true, ms(1500));
    hand.waiting(waiting(2, &["A"]), ms(2000));
    assert_eq!(hand.approved(ms(3500)), None);
    // It is withdrawn.
    let mut hand = self::hand();
    hand.edge(true, ms(1500));
    hand.waiting(waiting(1, &[]), ms(2000));
    assert_eq!((hand.approved(ms(3500)), hand.signal()), (None, Signal::Off));
    // It is replaced: what was swapped in under the finger is not approved.
    let mut hand = self::hand();
    hand.edge(true, ms(1500));
    hand.waiting(waiting(2, &["B"]), ms(2000));
    assert_eq!((hand.approved(ms(60_000)), hand.signal()), (None, Signal::Slow));
    // The bounce at the end of it does not make a new press of it either.
    hand.edge(false, ms(60_000));
    hand.edge(true, ms(60_010));
    assert_eq!(hand.due(), None);
}

#[test]
fn an_ask_that_is_not_for_a_button() {
    let mut hand = Hand::new(false, waiting(0, &[]), ms(0));
    hand.waiting(Waiting { pending: vec![("T".into(), false)], opened: 1 }, ms(1000));
    hand.edge(true, ms(1500));
    assert_eq!((hand.approved(ms(60_000)), hand.signal()), (None, Signal::Fast));
}

#[test]
fn lost_edges_never_make_a_hold() {
    // The release was lost, and the line says so.
    let mut hand = self::hand();
    hand.edge(true, ms(1500));
    hand.level(false, ms(3500));
    assert_eq!(hand.approved(ms(3500)), None);
    // The release and the next press: two presses in a row.
    let mut hand = self::hand();
    hand.edge(true, ms(1500));
    hand.edge(true, ms(2000));
    assert_eq!(hand.approved(ms(60_000)), None);
    // The press itself: it counts from when it was seen.
    let mut hand = self::hand();
    hand.level(true, ms(2000));
    assert_eq!(hand.due(), Some(ms(4000)));
}

#[test]
fn blinking_is_for_those_who_wait_for_somebody() {
    assert_eq!(Signal::Off.half(), None, "nothing wakes up while nothing is asked");
    assert_eq!(Signal::On.half(), None);
    assert!(Signal::Fast.half() < Signal::Slow.half());
}
