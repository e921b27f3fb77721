//! Edges: waited for, debounced, shared, withdrawn; and as news of a resource.

use super::{board, board_with, is_let_go, pin, stdio};
use crate::support::served::{Door, Pi, soon};
use hw::{gpio::SimulatedGpio, line::Level};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Waits until the server holds a pin.
async fn is_held(lines: &SimulatedGpio, number: u64) {
    soon(async {
        while lines.consumer(pin(number)).is_none() {
            sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn an_edge_is_told_with_the_kernels_time() {
    let (pi, lines) = board().await;
    let mut wire = stdio(&pi).await;
    wire.call("gpio.configure_pin", json!({"pin": 23, "mode": "input", "pull": "down"})).await.ok();
    // An edge from before does not count.
    lines.drive(pin(23), Some(Level::High));
    lines.drive(pin(23), Some(Level::Low));
    let id = wire.ask("gpio.wait_for_edge", json!({"pin": 23, "edge": "rising"}));
    // Answered after it, so that it waits now.
    wire.call("gpio.read_pin", json!({"pin": 23})).await.ok();
    lines.drive(pin(23), Some(Level::High));
    let answer = wire.answer_to(id).await;
    let told = answer.result();
    assert_eq!((&told["edge"], &told["value"], &told["pin"]), (&json!("rising"), &json!("high"), &json!(23)));
    assert!(told["timestamp"].is_string() && told["monotonic_ns"].as_u64() > Some(0), "{told}");
}

#[tokio::test]
async fn no_edge_in_time_is_an_answer_and_a_withdrawn_wait_lets_go() {
    let (pi, lines) = board().await;
    let mut wire = stdio(&pi).await;
    let none = wire.call("gpio.wait_for_edge", json!({"pin": 23, "timeout_ms": 20})).await;
    assert_eq!((&none.ok()["edge"], &none.ok()["value"]), (&Value::Null, &json!("low")));
    assert!(none.ok()["waited_ms"].as_u64() >= Some(20) && none.ok().get("timestamp").is_none());
    assert_eq!(lines.held(), 0, "it was held for the wait alone");
    let id = wire.ask("gpio.wait_for_edge", json!({"pin": 23}));
    is_held(&lines, 23).await;
    wire.notify("notifications/cancelled", json!({"requestId": id}));
    is_let_go(&lines, 23).await;
}

#[tokio::test]
async fn only_an_input_is_waited_for_and_one_that_is_changed_ends_the_wait() {
    let (pi, lines) = board().await;
    let mut wire = stdio(&pi).await;
    wire.call("gpio.write_pin", json!({"pin": 24, "value": 1})).await.ok();
    wire.call("gpio.wait_for_edge", json!({"pin": 24})).await.failed("failed_precondition");
    let _other = lines.hold(pin(25), "w1").unwrap();
    let busy = wire.call("gpio.wait_for_edge", json!({"pin": 25})).await;
    assert_eq!(busy.failed("failed_precondition")["details"]["consumer"], "w1");
    let id = wire.ask("gpio.wait_for_edge", json!({"pin": 23}));
    is_held(&lines, 23).await;
    // Whoever takes the pin has the right to.
    wire.call("gpio.configure_pin", json!({"pin": 23, "mode": "output"})).await.ok();
    assert_eq!(wire.answer_to(id).await.fault(-32007)["data"]["error_code"], "conflict");
}

#[tokio::test]
async fn two_wait_for_the_same_pin_and_both_are_told() {
    let (pi, lines) = board().await;
    let (mut one, mut two) = (stdio(&pi).await, pi.on(Door::Ws).await);
    let (first, second) =
        (one.ask("gpio.wait_for_edge", json!({"pin": 23})), two.ask("gpio.wait_for_edge", json!({"pin": 23})));
    one.call("gpio.read_pin", json!({"pin": 23})).await.ok();
    two.call("gpio.read_pin", json!({"pin": 23})).await.ok();
    lines.drive(pin(23), Some(Level::High));
    assert_eq!(one.answer_to(first).await.result()["edge"], "rising");
    assert_eq!(two.answer_to(second).await.result()["edge"], "rising");
    is_let_go(&lines, 23).await;
}

#[tokio::test]
async fn a_bouncing_contact_is_one_edge_once_it_has_settled() {
    let (pi, lines) = board().await;
    let mut wire = stdio(&pi).await;
    let id = wire.ask("gpio.wait_for_edge", json!({"pin": 23, "edge": "rising", "debounce_ms": 40}));
    is_held(&lines, 23).await;
    // A spike is none.
    lines.drive(pin(23), Some(Level::High));
    sleep(Duration::from_millis(2)).await;
    lines.drive(pin(23), Some(Level::Low));
    sleep(Duration::from_millis(60)).await;
    let began = Instant::now();
    for level in [Level::High, Level::Low, Level::High, Level::Low, Level::High] {
        lines.drive(pin(23), Some(level));
        sleep(Duration::from_millis(2)).await;
    }
    let answer = wire.answer_to(id).await;
    assert_eq!(answer.result()["edge"], "rising");
    assert!(began.elapsed() >= Duration::from_millis(40), "it has to settle first");
}

async fn subscribed(pi: &Pi, number: u64) -> crate::support::served::Wire {
    let mut wire = pi.on(Door::Ws).await;
    wire.initialize("2025-11-25", "test").await.result();
    wire.notify("notifications/initialized", json!({}));
    wire.request("resources/subscribe", json!({"uri": format!("raspi://gpio/{number}")})).await.result();
    wire
}

#[tokio::test]
async fn changes_of_a_pin_are_news_to_its_subscribers_alone() {
    let (pi, lines) = board_with(|settings| settings.gpio.allow = [23, 24].into()).await;
    let (mut ears, mut deaf) = (subscribed(&pi, 23).await, subscribed(&pi, 24).await);
    is_held(&lines, 23).await;
    is_held(&lines, 24).await;
    lines.drive(pin(23), Some(Level::High));
    let news = ears.next().await.unwrap();
    assert_eq!(
        (&news.message["method"], &news.message["params"]["uri"]),
        (&json!("notifications/resources/updated"), &json!("raspi://gpio/23"))
    );
    let read = ears.request("resources/read", json!({"uri": "raspi://gpio/23"})).await;
    let text: Value = serde_json::from_str(read.result()["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text["value"], "high");
    // An output has no edges, and is told all the same.
    let mut hand = stdio(&pi).await;
    hand.call("gpio.write_pin", json!({"pin": 23, "value": 0})).await.ok();
    assert_eq!(ears.next().await.unwrap().message["params"]["uri"], "raspi://gpio/23");
    assert_eq!(deaf.request("ping", json!({})).await.result(), &json!({}), "nothing before this answer");
    // Who does not listen any more holds nothing.
    drop(hand);
    ears.request("resources/unsubscribe", json!({"uri": "raspi://gpio/23"})).await;
    is_let_go(&lines, 23).await;
}
