//! Repetitions, what answers say of the end, and owners at several doors.

use super::{
    becomes, board, board_with, pin, stdio,
    time::{Desk, SECOND, http},
};
use crate::support::served::{Door, Pi};
use contract::{
    access::{
        caller::{Caller, Transport},
        presence::Presence,
    },
    config::{Owners, TokenSetting},
    meta::Role,
};
use hw::{
    gpio::{
        lease::{HeldBy, Owner},
        refusal::GpioRefusal,
    },
    line::{Level, Pull, Take},
};
use serde_json::{Value, json};
use std::time::Duration;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use tokio::time::sleep;

const HALF: Duration = Duration::from_millis(500);

/// A caller on a connection.
fn on(presence: &Presence, name: Option<&str>) -> Owner {
    Owner { principal: "stdio".into(), name: name.map(str::to_owned), presence: Some(presence.clone()), pass: None }
}

#[tokio::test(start_paused = true)]
async fn levels_follow_each_other_and_the_end_is_the_safe_state() {
    let desk = Desk::with(|gpio| gpio.safe_high = [22].into());
    desk.lines.begin();
    let (owner, mut news) = (http("a"), desk.lines.altered());
    for (number, safe) in [(17, Level::Low), (22, Level::High)] {
        let written = desk.lines.repeat(&owner, pin(number), Level::High, 5, HALF).unwrap();
        assert_eq!(written.held_by, HeldBy::Schedule);
        assert_eq!(written.ends.unwrap() - tokio::time::Instant::now(), 5 * SECOND);
        sleep(Duration::from_millis(250)).await;
        for beat in 0..10 {
            let wanted = if beat % 2 == 0 { Level::High } else { Level::Low };
            assert_eq!(desk.board.level(pin(number)), wanted, "GPIO {number}, half {beat}");
            sleep(HALF).await;
        }
        assert_eq!(desk.board.level(pin(number)), safe);
        // It is nobody's now.
        desk.lines.write(&http("b"), pin(number), Level::Low, None, Some(SECOND)).unwrap();
    }
    let mut told = 0;
    while news.try_recv().is_ok() {
        told += 1;
    }
    assert!(told >= 20, "each change is news: {told}");
}

#[tokio::test(start_paused = true)]
async fn a_read_of_its_owner_changes_nothing_about_the_end() {
    let desk = Desk::new();
    desk.lines.repeat(&http("a"), pin(17), Level::High, 2, HALF).unwrap();
    sleep(HALF).await;
    desk.lines.read(&http("a"), pin(17)).unwrap();
    sleep(2 * SECOND).await;
    assert_eq!(desk.board.held(), 0);
}

#[tokio::test(start_paused = true)]
async fn it_outlives_its_connection_and_belongs_to_the_next_one_of_its_principal() {
    let desk = Desk::new();
    let (first, second) = (Presence::default(), Presence::default());
    desk.lines.repeat(&on(&first, None), pin(17), Level::High, 5, HALF).unwrap();
    let refused = desk.lines.write(&on(&second, None), pin(17), Level::Low, None, None);
    assert!(matches!(refused, Err(GpioRefusal::Lent { free_in: Some(time), .. }) if time == 5 * SECOND), "{refused:?}");
    first.leave();
    desk.lines.left(&first);
    sleep(Duration::from_millis(250)).await;
    assert_eq!(desk.board.level(pin(17)), Level::High, "it goes on");
    assert!(matches!(desk.lines.release(&http("b"), pin(17), false), Err(GpioRefusal::Lent { .. })));
    assert!(desk.lines.release(&on(&second, None), pin(17), false).unwrap());
    sleep(SECOND).await;
    assert_eq!((desk.board.level(pin(17)), desk.board.held()), (Level::Low, 0));
}

#[tokio::test(start_paused = true)]
async fn whatever_its_owner_does_next_replaces_it() {
    let desk = Desk::new();
    let (owner, pin) = (http("a"), pin(17));
    let begin = || desk.lines.repeat(&owner, pin, Level::High, 5, HALF).unwrap();
    let after = async || {
        sleep(10 * HALF + SECOND).await;
        (desk.board.level(pin), desk.board.held())
    };
    begin();
    let written = desk.lines.write(&owner, pin, Level::High, None, Some(60 * SECOND)).unwrap();
    assert_eq!((written.held_by, written.revert), (HeldBy::Lease, None));
    assert_eq!(after().await, (Level::High, 1), "written high, and it stays");
    begin();
    desk.lines.configure(&owner, pin, Take::Input { pull: Some(Pull::Up) }, Some(60 * SECOND)).unwrap();
    assert_eq!(after().await, (Level::High, 1), "an input with a resistor");
    desk.lines.release(&owner, pin, false).unwrap();
    begin();
    // A pulse upon a repetition ends as the repetition would have.
    desk.lines.write(&owner, pin, Level::High, Some(SECOND), Some(60 * SECOND)).unwrap();
    assert_eq!(after().await.1, 0);
    begin();
    desk.lines.repeat(&owner, pin, Level::Low, 1, 4 * SECOND).unwrap();
    sleep(5 * SECOND).await;
    assert_eq!(desk.board.level(pin), Level::High, "the second half of the one that replaced it");
    sleep(4 * SECOND).await;
    assert_eq!(desk.board.held(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_kill_in_the_middle_is_put_right_and_a_broken_line_ends_it() {
    let desk = Desk::new();
    desk.lines.begin();
    desk.lines.repeat(&http("a"), pin(17), Level::High, 1000, HALF).unwrap();
    desk.board.kill_holder(pin(17));
    assert_eq!(desk.board.level(pin(17)), Level::High);
    let next = desk.after_a_kill();
    next.begin();
    assert_eq!((next.recovered(), desk.board.level(pin(17))), (vec![pin(17)], Level::Low));
    // The line of the first server is gone: its repetition ends, and nothing is driven again.
    sleep(2 * SECOND).await;
    assert_eq!((desk.board.held(), desk.board.level(pin(17))), (0, Level::Low));
}

#[tokio::test(start_paused = true)]
async fn what_a_revoked_credential_holds_is_let_go_also_a_repetition() {
    let desk = Desk::new();
    desk.lines.repeat(&http("token:a"), pin(17), Level::High, 1000, HALF).unwrap();
    desk.lines.write(&http("token:a"), pin(22), Level::High, None, Some(3600 * SECOND)).unwrap();
    desk.lines.write(&http("token:b"), pin(27), Level::High, None, Some(3600 * SECOND)).unwrap();
    let pass = Presence::default();
    let late = Owner { pass: Some(pass.clone()), ..http("token:a") };
    desk.lines.write(&late, pin(22), Level::High, None, Some(3600 * SECOND)).unwrap();
    pass.leave();
    desk.lines.revoked("token:a");
    // A call of it that is still on its way gets nothing.
    assert!(matches!(desk.lines.repeat(&late, pin(17), Level::High, 5, HALF), Err(GpioRefusal::Gone)));
    assert_eq!((desk.board.held(), desk.board.level(pin(27))), (1, Level::High));
}

#[tokio::test(start_paused = true)]
async fn one_owner_is_one_at_every_door_and_the_last_use_decides_what_ends_it() {
    let desk = Desk::new();
    let presence = Presence::default();
    let (wire, post) = (on(&presence, Some("ann")), Owner { name: Some("ann".into()), ..http("token:phone") });
    let first = desk.lines.write(&wire, pin(17), Level::High, None, None).unwrap();
    assert_eq!((first.ends, first.held_by), (None, HeldBy::Connection));
    // The same name without an owner is somebody else, and so is another owner.
    for other in
        [http("token:phone"), on(&Presence::default(), None), Owner { name: Some("bob".into()), ..http("token:phone") }]
    {
        assert!(matches!(desk.lines.write(&other, pin(17), Level::Low, None, None), Err(GpioRefusal::Lent { .. })));
    }
    let second = desk.lines.write(&post, pin(17), Level::High, None, Some(60 * SECOND)).unwrap();
    assert_eq!((second.previous, second.held_by), (Some(Level::High), HeldBy::Lease));
    presence.leave();
    desk.lines.left(&presence);
    assert_eq!(desk.board.level(pin(17)), Level::High, "it is held by its lease now");
    sleep(61 * SECOND).await;
    assert_eq!(desk.board.held(), 0);
    // And the other way round.
    let presence = Presence::default();
    desk.lines.write(&post, pin(17), Level::High, None, Some(60 * SECOND)).unwrap();
    let moved = desk.lines.write(&on(&presence, Some("ann")), pin(17), Level::High, None, None).unwrap();
    assert_eq!((moved.ends, moved.held_by), (None, HeldBy::Connection));
    sleep(600 * SECOND).await;
    assert_eq!(desk.board.held(), 1);
    presence.leave();
    desk.lines.left(&presence);
    assert_eq!(desk.board.held(), 0);
}

/// Seconds from now to a time of an answer.
fn seconds_to(at: &Value) -> f64 {
    let at = OffsetDateTime::parse(at.as_str().expect("a time"), &Rfc3339).unwrap();
    (at - OffsetDateTime::now_utc()).as_seconds_f64()
}

#[tokio::test]
async fn answers_of_writes_say_when_and_by_what_it_ends() {
    let (pi, _) = board().await;
    let (mut wire, mut post) = (stdio(&pi).await, pi.on(Door::Http).await);
    let held = wire.call("gpio.write_pin", json!({"pin": 17, "value": 1})).await;
    assert_eq!((&held.ok()["held_by"], held.ok().get("expires_at")), (&json!("connection"), None));
    let lent = wire.call("gpio.write_pin", json!({"pin": 17, "value": 1, "lease_seconds": 100})).await;
    assert_eq!(lent.ok()["held_by"], "lease", "the time that it gave counts, also without the connection");
    assert!((95.0..101.0).contains(&seconds_to(&lent.ok()["expires_at"])), "{:?}", lent.ok());
    let usual = post.call("gpio.write_pin", json!({"pin": 22, "value": 1})).await;
    assert_eq!(usual.ok()["held_by"], "lease");
    assert!((55.0..61.0).contains(&seconds_to(&usual.ok()["expires_at"])), "{:?}", usual.ok());
    // Used, it lasts anew, and the next answer says so.
    let renewed = post.call("gpio.write_pin", json!({"pin": 22, "value": 0, "lease_seconds": 600})).await;
    assert!(seconds_to(&renewed.ok()["expires_at"]) > 590.0);
    let pulse = post.call("gpio.write_pin", json!({"pin": 27, "value": 1, "duration_ms": 30_000})).await;
    assert_eq!((&pulse.ok()["held_by"], &pulse.ok()["expires_at"]), (&json!("schedule"), &pulse.ok()["reverts_at"]));
    let configured = post.call("gpio.configure_pin", json!({"pin": 23, "mode": "output"})).await;
    assert_eq!(configured.ok()["expires_at"], configured.ok()["lease"]["expires_at"]);
    assert!(seconds_to(&configured.ok()["expires_at"]) > 50.0 && configured.ok()["lease"]["held_by"] == "lease");
    let wave = post.call("gpio.set_pwm", json!({"pin": 18, "frequency_hz": 50, "duty_cycle_percent": 7.5})).await;
    assert!(wave.ok()["held_by"] == "lease" && seconds_to(&wave.ok()["expires_at"]) > 50.0);
}

#[tokio::test]
async fn blink_five_times_is_one_call_that_its_caller_need_not_wait_for() {
    let (pi, lines) = board_with(|settings| settings.gpio.safe_high = [17].into()).await;
    let mut wire = pi.on(Door::Ws).await;
    let answer = wire.call("gpio.write_pin", json!({"pin": 17, "value": "low", "repeat": 2, "interval_ms": 50})).await;
    let told = answer.ok();
    assert_eq!(
        (&told["value"], &told["held_by"], &told["reverts_to"]),
        (&json!("low"), &json!("schedule"), &json!("high"))
    );
    assert_eq!(told["expires_at"], told["reverts_at"]);
    drop(wire);
    becomes(&lines, 17, Level::High).await;
    becomes(&lines, 17, Level::Low).await;
    becomes(&lines, 17, Level::High).await;
    let mut other = stdio(&pi).await;
    crate::support::served::soon(async {
        while other.call("gpio.read_pin", json!({"pin": 17})).await.ok().get("lease").is_some() {
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert_eq!(lines.level(pin(17)), Level::High);
}

#[tokio::test]
async fn what_a_repetition_cannot_be_is_refused_before_anything_changes() {
    let (pi, lines) = board().await;
    let mut wire = stdio(&pi).await;
    for (args, at) in [
        (json!({"repeat": 0}), "/repeat"),
        (json!({"repeat": 601}), "/repeat"),
        (json!({"repeat": 5, "interval_ms": 19}), "/interval_ms"),
        (json!({"repeat": 5, "interval_ms": 60_001}), "/interval_ms"),
    ] {
        let mut all = json!({"pin": 17, "value": 1});
        all.as_object_mut().unwrap().extend(args.as_object().unwrap().clone());
        wire.call("gpio.write_pin", all).await.refused(at);
    }
    for (args, said) in [
        (json!({"interval_ms": 500}), "interval_ms would be ignored"),
        (json!({"repeat": 5, "duration_ms": 100}), "duration_ms would be ignored"),
        (json!({"repeat": 5, "lease_seconds": 100}), "lease_seconds would be ignored"),
        (json!({"repeat": 600, "interval_ms": 501}), "601200 ms"),
        (json!({"repeat": 6, "interval_ms": 60_000}), "720000 ms"),
    ] {
        let mut all = json!({"pin": 17, "value": 1});
        all.as_object_mut().unwrap().extend(args.as_object().unwrap().clone());
        let answer = wire.call("gpio.write_pin", all).await;
        let refused = answer.failed("invalid_argument");
        assert!(refused["message"].as_str().unwrap().contains(said), "{refused}");
    }
    assert_eq!(lines.held(), 0);
    // At the edge it is taken.
    wire.call("gpio.write_pin", json!({"pin": 17, "value": 1, "repeat": 5, "interval_ms": 60_000})).await.ok();
    wire.call("gpio.write_pin", json!({"pin": 22, "value": 1, "repeat": 600})).await.ok();
}

fn of_ann(pi: &Pi, principal: &str, owner: Option<&str>) -> crate::support::served::Wire {
    pi.stdio(Caller::new(principal, Role::Admin, Transport::Stdio).of_owner(owner))
}

#[tokio::test]
async fn two_credentials_of_one_owner_share_pins_and_the_audit_has_both_names() {
    let (pi, _) = board().await;
    let (mut laptop, mut phone) = (of_ann(&pi, "token:laptop", Some("ann")), of_ann(&pi, "token:phone", Some("ann")));
    laptop.call("gpio.write_pin", json!({"pin": 17, "value": 1})).await.ok();
    let seen = phone.call("gpio.read_pin", json!({"pin": 17})).await;
    let lease = &seen.ok()["lease"];
    assert_eq!(
        (&lease["principal"], &lease["owner"], &lease["yours"]),
        (&json!("token:laptop"), &json!("ann"), &json!(true))
    );
    phone.call("gpio.write_pin", json!({"pin": 17, "value": 0})).await.ok();
    let wave = json!({"pin": 18, "frequency_hz": 50, "duty_cycle_percent": 7.5});
    laptop.call("gpio.set_pwm", wave.clone()).await.ok();
    phone.call("gpio.set_pwm", wave).await.ok();
    of_ann(&pi, "token:phone", None).call("gpio.release_pin", json!({"pin": 17})).await.failed("conflict");
    phone.call("gpio.release_pin", json!({"pin": 17})).await.ok();
    let record =
        pi.audited(|record| record["principal"] == "token:phone" && record["tool"] == "gpio.release_pin").await;
    assert!(record["owner"] == "ann" || record["outcome"] == "conflict", "{record}");
    let all = pi.audit().await;
    let of = |principal: &str, tool: &str| {
        all.iter().find(|record| record["principal"] == principal && record["tool"] == tool)
    };
    assert_eq!(of("token:laptop", "gpio.write_pin").unwrap()["owner"], "ann");
    let shown = phone.call("logs.get_recent_audit_logs", json!({"tool": "gpio.write_pin"})).await;
    assert!(shown.ok()["entries"].as_array().unwrap().iter().all(|entry| entry["owner"] == "ann"), "{:?}", shown.ok());
}

#[tokio::test]
async fn a_local_account_and_a_token_are_one_where_the_configuration_says_so() {
    let uid = rustix::process::geteuid().as_raw();
    let (secret, setting) = crate::support::served::token("laptop", Role::OpsRw);
    let (pi, _) = board_with(|settings| {
        settings.access.owners = Owners::from_entries([format!("uid:{uid}=ann")]);
        settings.access.tokens = vec![TokenSetting { owner: Some("ann".into()), ..setting }];
    })
    .await;
    let mut post = pi.on(Door::Http).await;
    post.post().headers = vec![("authorization".into(), format!("Bearer {secret}"))];
    post.call("gpio.write_pin", json!({"pin": 17, "value": 1})).await.ok();
    let seen = pi.on(Door::Unix).await.call("gpio.read_pin", json!({"pin": 17})).await;
    assert_eq!((&seen.ok()["lease"]["owner"], &seen.ok()["lease"]["yours"]), (&json!("ann"), &json!(true)));
    let others = pi.on(Door::Ws).await.call("gpio.read_pin", json!({"pin": 17})).await;
    assert_eq!(others.ok()["lease"]["yours"], false, "without a token nobody is ann");
}

#[tokio::test]
async fn two_credentials_of_one_owner_have_one_callers_rate() {
    let (pi, _) = board_with(|settings| settings.limits.writes_per_minute = 2).await;
    let (mut laptop, mut phone) = (of_ann(&pi, "token:laptop", Some("ann")), of_ann(&pi, "token:phone", Some("ann")));
    laptop.call("gpio.write_pin", json!({"pin": 17, "value": 1})).await.ok();
    phone.call("gpio.write_pin", json!({"pin": 17, "value": 1})).await.ok();
    phone.call("gpio.write_pin", json!({"pin": 17, "value": 1})).await.failed("resource_exhausted");
    laptop.call("gpio.write_pin", json!({"pin": 17, "value": 1})).await.failed("resource_exhausted");
    // Somebody else's is their own; a pin that is not theirs is another matter.
    of_ann(&pi, "token:other", Some("bob")).call("gpio.write_pin", json!({"pin": 22, "value": 1})).await.ok();
}
