//! Pins that nothing has used since power-on, as a Raspberry Pi 5 starts with them: free like an input, without a level.

use super::{board, pin, stdio};
use hw::line::Level;
use serde_json::{Value, json};

#[tokio::test]
async fn an_unused_pin_has_no_level_and_says_so() {
    let (pi, lines) = board().await;
    lines.like_a_pi_5();
    let mut wire = stdio(&pi).await;
    let read = wire.call("gpio.read_pin", json!({"pin": 17})).await;
    assert_eq!((&read.ok()["mode"], &read.ok()["value"]), (&json!("none"), &Value::Null));
    assert!(read.ok().get("function").is_none());
    let list = wire.call("gpio.list_pins", json!({"all": true})).await;
    let modes = list.ok()["pins"].as_array().unwrap().iter().map(|pin| (pin["pin"].as_u64().unwrap(), &pin["mode"]));
    for (number, mode) in modes {
        let wanted = if [2, 3, 14, 15].contains(&number) { "alt" } else { "none" };
        assert_eq!(mode, wanted, "GPIO {number}");
    }
}

#[tokio::test]
async fn an_unused_pin_is_written_pulsed_and_modulated_like_an_input() {
    let (pi, lines) = board().await;
    lines.like_a_pi_5();
    let mut wire = stdio(&pi).await;
    wire.call("gpio.write_pin", json!({"pin": 17, "value": "high"})).await.ok();
    assert_eq!(lines.level(pin(17)), Level::High);
    let pulse = wire.call("gpio.write_pin", json!({"pin": 27, "value": "high", "duration_ms": 60_000})).await;
    assert!(pulse.ok()["reverts_at"].is_string(), "{:?}", pulse.ok());
    wire.call("gpio.set_pwm", json!({"pin": 22, "frequency_hz": 50, "duty_cycle_percent": 5})).await.ok();
    // Once used it is an input, with a level.
    wire.call("gpio.release_pin", json!({"pin": 17})).await.ok();
    let read = wire.call("gpio.read_pin", json!({"pin": 17})).await;
    assert_eq!((&read.ok()["mode"], &read.ok()["value"]), (&json!("input"), &json!("low")));
}

#[tokio::test]
async fn an_edge_of_an_unused_pin_is_waited_for() {
    let (pi, lines) = board().await;
    lines.like_a_pi_5();
    let mut wire = stdio(&pi).await;
    let none = wire.call("gpio.wait_for_edge", json!({"pin": 22, "timeout_ms": 20})).await;
    assert_eq!(none.ok()["edge"], Value::Null);
}

#[tokio::test]
async fn a_bus_of_a_pi_5_is_still_protected() {
    let (pi, lines) = board().await;
    lines.like_a_pi_5();
    let mut wire = stdio(&pi).await;
    let refused = wire.call("gpio.write_pin", json!({"pin": 2, "value": "high"})).await;
    refused.failed("failed_precondition");
}
