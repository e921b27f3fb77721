//! A time that a caller gives counts when the caller has gone, over every door; and what a halt ends.

use super::{
    becomes, board_with, pin, stdio,
    time::{Desk, SECOND, http},
};
use crate::support::served::Door;
use contract::access::presence::Presence;
use hw::{
    gpio::{
        lease::{Back, HeldBy, Owner},
        refusal::GpioRefusal,
    },
    line::{Level, Pull, Take},
    pwm::Wave,
};
use serde_json::json;
use std::time::Duration;
use tokio::time::sleep;

fn on(presence: &Presence) -> Owner {
    Owner { principal: "uid:1000".into(), name: None, presence: Some(presence.clone()), pass: None }
}

fn go(desk: &Desk, presence: &Presence) {
    presence.leave();
    desk.lines.left(presence);
}

#[tokio::test(start_paused = true)]
async fn a_time_that_the_caller_gave_counts_without_the_connection_and_no_other_does() {
    let desk = Desk::new();
    let (here, minute) = (Presence::default(), Some(60 * SECOND));
    let owner = on(&here);
    let pulse = desk.lines.write(&owner, pin(17), Level::High, Some(8 * SECOND), None).unwrap();
    assert_eq!(pulse.held_by, HeldBy::Schedule);
    assert_eq!(desk.lines.write(&owner, pin(22), Level::High, None, minute).unwrap().held_by, HeldBy::Lease);
    desk.lines.configure(&owner, pin(5), Take::Input { pull: Some(Pull::Up) }, minute).unwrap();
    // By hardware: software measures with a thread, for which this clock does not wait.
    desk.lines.set_pwm(&owner, pin(18), Wave::of(100.0, 50.0).unwrap(), minute).await.unwrap();
    desk.lines.set_pwm(&owner, pin(13), Wave::of(100.0, 50.0).unwrap(), minute).await.unwrap();
    assert_eq!(desk.lines.write(&owner, pin(27), Level::High, None, None).unwrap().held_by, HeldBy::Connection);
    // A pulse on what the connection holds: the pulse counts, the level before it went with the connection.
    desk.lines.write(&owner, pin(23), Level::High, None, None).unwrap();
    let back = desk.lines.write(&owner, pin(23), Level::Low, Some(8 * SECOND), None).unwrap();
    assert_eq!(back.revert.map(|(_, back)| back), Some(Back::To(Level::High)));
    go(&desk, &here);
    assert_eq!(desk.board.consumer(pin(27)), None, "it had no time");
    sleep(7 * SECOND).await;
    assert_eq!((desk.board.level(pin(17)), desk.board.level(pin(22))), (Level::High, Level::High));
    assert!(desk.board.consumer(pin(23)).is_some() && desk.lines.is_wave(pin(18)) && desk.lines.is_wave(pin(13)));
    // It is any connection's of the same principal, and of nobody else.
    let next = on(&Presence::default());
    assert!(matches!(desk.lines.release(&http("b"), pin(22), false), Err(GpioRefusal::Lent { .. })));
    assert!(desk.lines.release(&next, pin(22), false).unwrap());
    sleep(2 * SECOND).await;
    assert_eq!((desk.board.consumer(pin(17)), desk.board.consumer(pin(23))), (None, None), "after their eight seconds");
    sleep(50 * SECOND).await;
    assert!(desk.lines.is_wave(pin(18)) && desk.board.consumer(pin(5)).is_some());
    sleep(2 * SECOND).await;
    assert_eq!(desk.board.held(), 0);
    assert!(!desk.lines.is_wave(pin(18)) && !desk.lines.is_wave(pin(13)), "after their minute");
}

#[tokio::test(start_paused = true)]
async fn a_pulse_within_a_lease_of_a_connection_that_has_gone_goes_back_and_the_lease_ends_later() {
    let desk = Desk::new();
    let here = Presence::default();
    desk.lines.write(&on(&here), pin(17), Level::High, None, Some(60 * SECOND)).unwrap();
    desk.lines.write(&on(&here), pin(17), Level::Low, Some(5 * SECOND), None).unwrap();
    go(&desk, &here);
    sleep(6 * SECOND).await;
    assert_eq!((desk.board.level(pin(17)), desk.board.held()), (Level::High, 1));
    sleep(55 * SECOND).await;
    assert_eq!(desk.board.held(), 0);
}

#[tokio::test(start_paused = true)]
async fn who_takes_it_over_without_a_time_holds_it_as_long_as_the_connection() {
    let desk = Desk::new();
    let (first, second) = (Presence::default(), Presence::default());
    desk.lines.write(&on(&first), pin(17), Level::High, None, Some(60 * SECOND)).unwrap();
    go(&desk, &first);
    let taken = desk.lines.write(&on(&second), pin(17), Level::High, None, None).unwrap();
    assert_eq!((taken.ends, taken.held_by), (None, HeldBy::Connection));
    sleep(600 * SECOND).await;
    go(&desk, &second);
    assert_eq!(desk.board.held(), 0);
}

#[tokio::test]
async fn a_time_counts_at_each_door_that_has_connections() {
    for door in Door::STREAMS {
        let (pi, lines) = board_with(|settings| settings.access.admin_group = "nobody-is-in-it".into()).await;
        let mut wire = pi.on(door).await;
        let pulse = wire.call("gpio.write_pin", json!({"pin": 17, "value": "high", "duration_ms": 4000})).await;
        if door == Door::Unix && pulse.is_refusal("permission_denied") {
            // Not root: nobody to try it with.
            continue;
        }
        assert_eq!(
            (&pulse.ok()["held_by"], &pulse.ok()["reverts_at"]),
            (&json!("schedule"), &pulse.ok()["expires_at"])
        );
        let lent = wire.call("gpio.write_pin", json!({"pin": 22, "value": "high", "lease_seconds": 600})).await;
        assert_eq!(lent.ok()["held_by"], "lease");
        // Goes with the connection, and shows that its end was heard of.
        wire.call("gpio.write_pin", json!({"pin": 27, "value": "high"})).await.ok();
        drop(wire);
        super::is_let_go(&lines, 27).await;
        assert_eq!((lines.level(pin(17)), lines.level(pin(22))), (Level::High, Level::High), "{door:?}");
        becomes(&lines, 17, Level::Low).await;
        assert_eq!(lines.level(pin(22)), Level::High, "{door:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_halt_ends_what_changes_outputs_by_itself_and_they_hold() {
    let desk = Desk::new();
    let owner = http("a");
    let half = Duration::from_millis(500);
    let mut news = desk.lines.altered();
    desk.lines.repeat(&owner, pin(17), Level::High, 20, half).unwrap();
    // What was high before a low pulse would come on again after the halt.
    desk.lines.write(&owner, pin(22), Level::High, None, Some(3600 * SECOND)).unwrap();
    desk.lines.write(&owner, pin(22), Level::Low, Some(5 * SECOND), None).unwrap();
    desk.lines.write(&owner, pin(27), Level::High, None, Some(3600 * SECOND)).unwrap();
    sleep(Duration::from_millis(1250)).await;
    while news.try_recv().is_ok() {}
    desk.lines.halted(false);
    assert_eq!(news.try_recv().ok(), Some(pin(17)), "it is news");
    for _ in 0..6 {
        assert_eq!(desk.board.level(pin(17)), Level::High, "as it was at the halt");
        assert_eq!(desk.board.level(pin(22)), Level::Low);
        sleep(half).await;
    }
    sleep(SECOND).await;
    assert_eq!((desk.board.consumer(pin(22)), desk.board.level(pin(22))), (None, Level::Low), "safe, and not high");
    sleep(20 * SECOND).await;
    assert_eq!(desk.board.consumer(pin(17)), None, "safe when the repetition would have ended");
    assert_eq!(desk.board.level(pin(27)), Level::High, "an output holds");
    // A call that was on its way drives nothing, and a release goes on.
    let refused = desk.lines.repeat(&owner, pin(17), Level::High, 20, half);
    assert!(matches!(refused, Err(GpioRefusal::Halted)), "{refused:?}");
    let refused = desk.lines.write(&owner, pin(27), Level::Low, None, None);
    assert!(matches!(refused, Err(GpioRefusal::Halted)), "{refused:?}");
    assert!(desk.lines.release(&owner, pin(27), false).unwrap());
    desk.lines.lifted();
    desk.lines.repeat(&owner, pin(17), Level::High, 20, half).unwrap();
}

#[tokio::test]
async fn a_halt_ends_slow_waves_and_holds_fast_ones() {
    let desk = Desk::new();
    let owner = http("a");
    // By software on 17, 22, 23 and 24, by hardware on 12, 13.
    for (number, hertz, duty) in
        [(17, 1.0, 50.0), (22, 25.0, 50.0), (23, 26.0, 50.0), (24, 1.0, 100.0), (12, 1.0, 50.0), (13, 50.0, 7.5)]
    {
        let wave = Wave::of(hertz, duty).unwrap();
        desk.lines.set_pwm(&owner, pin(number), wave, Some(3600 * SECOND)).await.unwrap();
    }
    let refused = desk.lines.set_pwm(&owner, pin(18), Wave::of(1.0, 50.0).unwrap(), None);
    desk.lines.halted(false);
    assert!(matches!(refused.await, Err(GpioRefusal::Halted)), "one that was on its way");
    let waves = [17, 22, 23, 24, 12, 13, 18].map(|number| desk.lines.is_wave(pin(number)));
    assert_eq!(waves, [false, false, true, true, false, true, false]);
    assert_eq!((desk.board.level(pin(17)), desk.board.level(pin(22))), (Level::Low, Level::Low));
    assert!(desk.board.consumer(pin(17)).is_some(), "still lent, low");
    desk.lines.halted(true);
    assert_eq!(desk.board.held(), 0);
    assert!(!desk.lines.is_wave(pin(13)));
}

#[tokio::test]
async fn a_halt_by_its_tool_ends_a_repetition_and_the_refusals_name_force() {
    let (pi, lines) = board_with(|settings| settings.tools.enable.extend(["manage".into()])).await;
    let (mut first, mut admin) = (pi.on(Door::Ws).await, stdio(&pi).await);
    let blink = json!({"pin": 17, "value": "high", "repeat": 600, "interval_ms": 20});
    first.call("gpio.write_pin", blink).await.ok();
    admin.call("manage.halt", json!({"reason": "the pump leaks"})).await.ok();
    let level = lines.level(pin(17));
    for _ in 0..10 {
        sleep(Duration::from_millis(20)).await;
        assert_eq!(lines.level(pin(17)), level);
    }
    let refused = admin.call("gpio.write_pin", json!({"pin": 17, "value": "low"})).await;
    let hint = refused.failed("failed_precondition")["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("gpio.release_pin") && hint.contains("\"force\": true"), "{hint}");
    let lent = admin.call("gpio.release_pin", json!({"pin": 17})).await;
    let hint = lent.failed("conflict")["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("{\"pin\": 17, \"force\": true}"), "{hint}");
    admin.call("gpio.release_pin", json!({"pin": 17, "force": true})).await.ok();
    assert_eq!(lines.held(), 0);
}
