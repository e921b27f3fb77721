//! Who has a pin, what ends that, and how the pin is afterwards.

use super::{becomes, board, board_with, is_let_go, pin, stdio};
use crate::support::served::Door;
use hw::line::Level;
use serde_json::json;
use std::thread;
use tokio::runtime::Builder;

#[tokio::test]
async fn one_pin_has_one_owner_at_a_time() {
    let (pi, lines) = board().await;
    let (mut first, mut second) = (stdio(&pi).await, pi.on(Door::Ws).await);
    first.call("gpio.write_pin", json!({"pin": 17, "value": 1})).await.ok();
    for (tool, args) in [
        ("gpio.write_pin", json!({"pin": 17, "value": 0})),
        ("gpio.configure_pin", json!({"pin": 17, "mode": "input"})),
        ("gpio.release_pin", json!({"pin": 17})),
    ] {
        let answer = second.call(tool, args).await;
        assert_eq!(answer.failed("conflict")["details"]["lent_to"], "stdio", "{tool}");
    }
    assert_eq!(lines.level(pin(17)), Level::High);
    // Everybody may look.
    let seen = second.call("gpio.read_pin", json!({"pin": 17})).await;
    assert_eq!((&seen.ok()["value"], &seen.ok()["lease"]["yours"]), (&json!("high"), &json!(false)));
    // Also another connection of the same principal is another.
    let mut third = stdio(&pi).await;
    third.call("gpio.write_pin", json!({"pin": 17, "value": 0})).await.failed("conflict");
    // Who has it gives it back.
    assert_eq!(first.call("gpio.release_pin", json!({"pin": 17})).await.ok()["mode"], "input");
    second.call("gpio.write_pin", json!({"pin": 17, "value": 0})).await.ok();
    first.call("gpio.release_pin", json!({"pin": 17})).await.failed("conflict");
    // An administrator takes it by force.
    first.call("gpio.release_pin", json!({"pin": 17, "force": true})).await.ok();
    assert_eq!(lines.held(), 0);
    // There is nothing left to give back, and that is no fault.
    let again = first.call("gpio.release_pin", json!({"pin": 17})).await;
    assert_eq!(
        (again.ok()["mode"].clone(), again.meta().get("changed").cloned()),
        (json!("input"), Some(json!(false)))
    );
}

#[tokio::test]
async fn force_is_for_administrators() {
    use contract::{
        access::caller::{Caller, Transport},
        meta::Role,
    };
    let (pi, lines) = board().await;
    let mut owner = stdio(&pi).await;
    owner.call("gpio.write_pin", json!({"pin": 17, "value": 1})).await.ok();
    let mut operator = pi.stdio(Caller::new("operator", Role::OpsRw, Transport::Stdio));
    let answer = operator.call("gpio.release_pin", json!({"pin": 17, "force": true})).await;
    assert_eq!(answer.failed("permission_denied")["details"]["required_role"], "admin");
    assert_eq!(lines.level(pin(17)), Level::High);
}

#[tokio::test]
async fn a_lease_ends_with_its_connection() {
    for door in Door::STREAMS {
        let (pi, lines) = board_with(|settings| settings.access.admin_group = "nobody-is-in-it".into()).await;
        let mut wire = pi.on(door).await;
        if door == Door::Unix
            && wire.call("gpio.write_pin", json!({"pin": 4, "value": 1})).await.is_refusal("permission_denied")
        {
            // Not root: nobody to try it with.
            continue;
        }
        wire.call("gpio.write_pin", json!({"pin": 4, "value": 1})).await.ok();
        wire.call("gpio.configure_pin", json!({"pin": 5, "mode": "input"})).await.ok();
        assert_eq!(lines.held(), 2);
        drop(wire);
        is_let_go(&lines, 4).await;
        is_let_go(&lines, 5).await;
        // Not driven any more: GPIO 4 has a resistor to 3.3 V from the start.
        assert_eq!(lines.level(pin(4)), Level::High);
        lines.drive(pin(4), Some(Level::Low));
        assert_eq!(lines.level(pin(4)), Level::Low, "{door:?}");
    }
}

#[tokio::test]
async fn pins_with_a_safe_level_are_driven_to_it_from_start_to_end() {
    let (pi, lines) = board_with(|settings| {
        settings.gpio.safe_low = [17].into();
        settings.gpio.safe_high = [27].into();
    })
    .await;
    lines.drive(pin(17), Some(Level::High));
    lines.drive(pin(27), Some(Level::Low));
    // Before anybody has called.
    assert_eq!((lines.level(pin(17)), lines.level(pin(27))), (Level::Low, Level::High));
    let mut wire = stdio(&pi).await;
    wire.call("gpio.write_pin", json!({"pin": 17, "value": 1})).await.ok();
    let input = wire.call("gpio.configure_pin", json!({"pin": 27, "mode": "input"})).await;
    assert_eq!((&input.ok()["value"], &input.ok()["safe_state"]), (&json!("low"), &json!("high")));
    assert_eq!(lines.level(pin(17)), Level::High);
    drop(wire);
    becomes(&lines, 17, Level::Low).await;
    becomes(&lines, 27, Level::High).await;
    let listed = pi.call("gpio.read_pin", json!({"pin": 17})).await;
    assert_eq!((&listed.ok()["mode"], &listed.ok()["value"]), (&json!("output"), &json!("low")));
    assert!(listed.ok().get("lease").is_none() && listed.ok().get("consumer").is_none());
    // A stop leaves them at it, held by nobody.
    let mut wire = stdio(&pi).await;
    wire.call("gpio.write_pin", json!({"pin": 17, "value": 1})).await.ok();
    pi.stop().await.unwrap();
    assert_eq!((lines.level(pin(17)), lines.held()), (Level::Low, 0));
}

/// Ten thousand rounds, a half of them on each of two servers that work at the same time.
#[test]
fn ten_thousand_times_taken_and_given_back_leave_nothing_behind() {
    let server = || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(taken_and_given_back(5_000));
    };
    let servers = [(); 2].map(|()| thread::spawn(server));
    for server in servers {
        server.join().unwrap();
    }
}

async fn taken_and_given_back(rounds: u32) {
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let (pi, lines) = board_with(|settings| settings.limits.writes_per_minute = 1_000_000).await;
    let mut wire = stdio(&pi).await;
    wire.call("gpio.write_pin", json!({"pin": 17, "value": 1})).await.ok();
    wire.call("gpio.release_pin", json!({"pin": 17})).await.ok();
    let before = open();
    for round in 0..rounds {
        let mode = if round % 2 == 0 { "input" } else { "output" };
        wire.call("gpio.configure_pin", json!({"pin": 17, "mode": mode})).await.ok();
        wire.call("gpio.release_pin", json!({"pin": 17})).await.ok();
    }
    assert_eq!(lines.held(), 0);
    // Other tests of this process open files as well: a leak would be five thousand.
    assert!(open() < before + 1000, "{} files were open, now {}", before, open());
}
