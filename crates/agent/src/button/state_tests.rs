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

/// What a press from 1.5 s that is let go `held` later does, looked at whenever the hand wants to be: the approval, when
/// it came, and when it halted.
fn held(hand: &mut Hand, held: u64) -> (Option<(String, Duration)>, Option<Duration>) {
    let (mut approved, mut halted) = (None, None);
    let release = ms(1500 + held);
    hand.edge(true, ms(1500));
    let (mut now, mut down) = (ms(1500), true);
    loop {
        if let Some(id) = hand.approved(now) {
            assert!(approved.replace((id, now)).is_none(), "approved twice");
        }
        if hand.halts(now) {
            assert!(halted.replace(now).is_none(), "halted twice");
        }
        match hand.due(now) {
            Some(due) if due > now && (!down || due <= release) => now = due,
            _ if down => {
                (now, down) = (release, false);
                hand.edge(false, now);
            }
            _ => return (approved, halted),
        }
    }
}

#[test]
fn how_long_it_was_held_decides_when_it_is_let_go() {
    for (time, approves, halts) in [
        (1, false, false),
        (1999, false, false),
        (2000, true, false),
        (4999, true, false),
        (5000, false, false),
        (9999, false, false),
        (10_000, false, true),
        (60_000, false, true),
    ] {
        let (approved, halted) = held(&mut hand(), time);
        // Certain after the time in which a contact bounces.
        assert_eq!(approved, approves.then(|| ("A".into(), ms(1550 + time))), "{time}");
        // While it is still held, not when it is let go.
        assert_eq!(halted, halts.then_some(ms(11_500)), "{time}");
    }
}

#[test]
fn without_an_ask_ten_seconds_halt_all_the_same() {
    for pending in [waiting(0, &[]), waiting(2, &["A", "B"])] {
        let mut hand = Hand::new(false, pending, ms(0));
        assert_eq!(held(&mut hand, 9999), (None, None));
        let mut hand = Hand::new(false, waiting(0, &[]), ms(0));
        assert_eq!(held(&mut hand, 10_000), (None, Some(ms(11_500))));
    }
    let mut reserved = Hand::new(false, waiting(0, &[]), ms(0));
    reserved.waiting(Waiting { pending: vec![("T".into(), false)], opened: 1 }, ms(1000));
    assert_eq!(held(&mut reserved, 3000), (None, None));
}

#[test]
fn the_led_says_what_letting_go_would_do() {
    let mut hand = hand();
    assert_eq!((hand.signal(ms(1400)), hand.due(ms(1400))), (Signal::Slow, None));
    hand.edge(true, ms(1500));
    for (now, signal) in [
        (1500, Signal::On),
        (3499, Signal::On),
        (3500, Signal::Off),
        (6499, Signal::Off),
        (6500, Signal::Fast),
        (11_499, Signal::Fast),
    ] {
        assert_eq!(hand.signal(ms(now)), signal, "{now}");
        let due = hand.due(ms(now)).unwrap();
        assert!(due > ms(now), "{now}: {due:?}");
    }
    assert!(hand.halts(ms(11_500)));
    assert_eq!((hand.signal(ms(11_500)), hand.due(ms(11_500))), (Signal::On, None));
    hand.edge(false, ms(20_000));
    assert_eq!(hand.approved(ms(20_050)), None);
    assert_eq!((hand.signal(ms(20_050)), hand.due(ms(20_050))), (Signal::Slow, None));
}

#[test]
fn two_short_presses_do_not_add_up() {
    let mut hand = hand();
    hand.edge(true, ms(1500));
    hand.edge(false, ms(3499));
    assert_eq!((hand.approved(ms(3600)), hand.signal(ms(3600))), (None, Signal::Slow));
    hand.edge(true, ms(3700));
    hand.edge(false, ms(5699));
    assert_eq!(hand.approved(ms(5800)), None);
}

#[test]
fn a_press_that_began_before_the_ask_does_not_count() {
    let mut hand = Hand::new(false, waiting(0, &[]), ms(0));
    hand.edge(true, ms(900));
    hand.waiting(waiting(1, &["A"]), ms(1000));
    hand.edge(false, ms(4000));
    assert_eq!((hand.approved(ms(4100)), hand.signal(ms(4100))), (None, Signal::Slow));
    // Not either when its edge is told after the ask.
    let mut late = Hand::new(false, waiting(0, &[]), ms(0));
    late.waiting(waiting(1, &["A"]), ms(1000));
    late.edge(true, ms(999));
    late.edge(false, ms(4000));
    assert_eq!(late.approved(ms(4100)), None);
    // Once let go and pressed anew it does.
    late.edge(true, ms(5000));
    late.edge(false, ms(7000));
    assert_eq!(late.approved(ms(7050)), Some("A".into()));
}

#[test]
fn a_button_held_from_the_start_does_nothing_until_it_was_let_go() {
    let mut hand = Hand::new(true, waiting(0, &[]), ms(0));
    hand.waiting(waiting(1, &["A"]), ms(1000));
    assert_eq!((hand.due(ms(1000)), hand.halts(ms(60_000)), hand.signal(ms(60_000))), (None, false, Signal::Slow));
    hand.edge(false, ms(61_000));
    assert_eq!((hand.approved(ms(61_050)), hand.halts(ms(61_050))), (None, false));
    hand.edge(true, ms(62_000));
    hand.edge(false, ms(65_000));
    assert_eq!(hand.approved(ms(65_050)), Some("A".into()));
    // A glitch in a line that is stuck does not begin a press either.
    let mut stuck = Hand::new(true, waiting(1, &["A"]), ms(0));
    stuck.edge(false, ms(5000));
    stuck.edge(true, ms(5049));
    assert!(!stuck.halts(ms(60_000)));
}

#[test]
fn a_contact_that_bounces_neither_ends_a_hold_nor_begins_one() {
    let mut hand = hand();
    for (pressed, at) in [(true, 1500), (false, 1501), (true, 1503), (false, 1504), (true, 1510)] {
        hand.edge(pressed, ms(at));
    }
    hand.edge(false, ms(3509));
    assert_eq!(hand.approved(ms(3559)), None, "two seconds without an edge");
    let mut hand = self::hand();
    hand.edge(true, ms(1500));
    // A glitch in the middle of a long hold is no approval.
    hand.edge(false, ms(4000));
    assert_eq!(hand.approved(ms(4049)), None);
    hand.edge(true, ms(4049));
    hand.edge(false, ms(6100));
    assert_eq!(hand.approved(ms(6150)), Some("A".into()), "it was held 4.6 s in all");
    let mut hand = self::hand();
    hand.edge(true, ms(1500));
    hand.edge(false, ms(4400));
    hand.edge(true, ms(4410));
    hand.edge(false, ms(6500));
    assert_eq!(hand.approved(ms(6550)), None, "and 5 s in all are too long");
    // It halts ten seconds after it began, bounces or not.
    let mut hand = self::hand();
    hand.edge(true, ms(1500));
    hand.edge(false, ms(4000));
    hand.edge(true, ms(4010));
    assert!(!hand.halts(ms(11_499)) && hand.halts(ms(11_500)) && !hand.halts(ms(11_501)));
}

#[test]
fn edges_that_are_told_late_count_by_their_time() {
    let mut hand = hand();
    // All of it between two looks: an approval, and the next press has begun.
    for (pressed, at) in [(true, 1500), (false, 4000), (true, 4100)] {
        hand.edge(pressed, ms(at));
    }
    assert_eq!((hand.approved(ms(4200)), hand.approved(ms(4201))), (Some("A".into()), None));
    let mut hand = self::hand();
    hand.edge(true, ms(1500));
    hand.edge(false, ms(11_500));
    assert!(hand.halts(ms(11_510)) && !hand.halts(ms(11_511)));
    assert_eq!(hand.approved(ms(11_600)), None);
}

#[test]
fn more_than_one_ask_is_none_for_the_button() {
    let mut hand = hand();
    hand.waiting(waiting(2, &["A", "B"]), ms(1200));
    hand.edge(true, ms(1500));
    assert_eq!(hand.signal(ms(2000)), Signal::Fast);
    // The other goes: the press has begun before, so it stays nothing.
    hand.waiting(waiting(2, &["A"]), ms(2000));
    hand.edge(false, ms(4500));
    assert_eq!((hand.approved(ms(4600)), hand.signal(ms(4600))), (None, Signal::Slow));
}

#[test]
fn the_same_ask_throughout() {
    for (after, signal) in [
        // Another comes; another comes and goes between two looks; it is withdrawn; it is replaced.
        (waiting(2, &["A", "B"]), Signal::Fast),
        (waiting(2, &["A"]), Signal::Slow),
        (waiting(1, &[]), Signal::Off),
        (waiting(2, &["B"]), Signal::Slow),
    ] {
        let mut hand = hand();
        hand.edge(true, ms(1500));
        hand.waiting(after.clone(), ms(2000));
        hand.edge(false, ms(4000));
        // The bounce at the end of it does not make a new press of it either.
        hand.edge(true, ms(4010));
        hand.edge(false, ms(6500));
        assert_eq!((hand.approved(ms(6600)), hand.signal(ms(6600))), (None, signal), "{after:?}");
        // Nor what comes between letting go and being sure of it.
        let mut hand = self::hand();
        hand.edge(true, ms(1500));
        hand.edge(false, ms(4000));
        hand.waiting(after.clone(), ms(4020));
        assert_eq!(hand.approved(ms(4050)), None, "{after:?}");
        // It still halts: that is about no ask.
        let mut hand = self::hand();
        hand.edge(true, ms(1500));
        hand.waiting(after, ms(2000));
        assert!(hand.halts(ms(11_500)));
    }
}

#[test]
fn lost_edges_never_make_a_hold() {
    // The release was lost, and the line says so.
    let mut hand = self::hand();
    hand.edge(true, ms(1500));
    hand.level(false, ms(4500));
    assert_eq!((hand.approved(ms(4600)), hand.halts(ms(60_000))), (None, false));
    // The release and the next press: two presses in a row.
    let mut hand = self::hand();
    hand.edge(true, ms(1500));
    hand.edge(true, ms(2000));
    hand.edge(false, ms(5000));
    assert_eq!(hand.approved(ms(5100)), None);
    let mut hand = self::hand();
    hand.edge(true, ms(1500));
    hand.edge(true, ms(6000));
    assert!(!hand.halts(ms(11_500)) && hand.halts(ms(16_000)), "counted from the second");
    // The press itself: it counts from when it was seen.
    let mut hand = self::hand();
    hand.level(true, ms(2000));
    hand.edge(false, ms(4000));
    assert_eq!(hand.approved(ms(4050)), Some("A".into()));
}

#[test]
fn blinking_is_for_those_who_wait_for_somebody() {
    assert_eq!(Signal::Off.half(), None, "nothing wakes up while nothing is asked");
    assert_eq!(Signal::On.half(), None);
    assert!(Signal::Fast.half() < Signal::Slow.half());
}
