//! What arrives is told to subscribers, and shown without being taken.

use super::Scene;
use crate::support::served::{Door, Wire, soon};
use hw::serial::simulated::LOOPBACK;
use serde_json::{Value, json};

const URI: &str = "raspi://serial/ttyAMA0";

async fn shown(wire: &mut Wire) -> Value {
    let read = wire.request("resources/read", json!({"uri": URI})).await;
    let text = read.result()["contents"][0]["text"].as_str().unwrap().to_owned();
    serde_json::from_str::<Value>(&text).unwrap()["ports"][0].clone()
}

#[tokio::test]
async fn a_subscriber_hears_that_something_arrived_and_that_the_line_is_gone() {
    let mut scene = Scene::new().await;
    scene.wire.initialize("2025-06-18", "test").await;
    scene.open(LOOPBACK).await;
    scene.wire.request("resources/subscribe", json!({"uri": URI})).await.result();
    assert_eq!(scene.ports.feed(LOOPBACK, b"hello"), 5);
    let told = soon(scene.wire.next()).await.unwrap().message;
    assert_eq!((&told["method"], &told["params"]["uri"]), (&json!("notifications/resources/updated"), &json!(URI)));
    let port = shown(&mut scene.wire).await;
    assert_eq!((&port["open"]["preview"], &port["open"]["waiting_bytes"]), (&json!("hello"), &json!(5)));
    // It stays for serial.read. Another one is shown counts and not contents.
    let mut other = scene.pi.on(Door::Ws).await;
    other.initialize("2025-06-18", "test").await;
    let port = shown(&mut other).await;
    assert_eq!((port["open"].get("preview"), &port["open"]["yours"]), (None, &json!(false)));
    let read = scene.ok("serial.read", json!({"port": LOOPBACK})).await;
    assert_eq!(read["text"], "hello");
    scene.ports.unplug(LOOPBACK, true);
    let told = soon(scene.wire.next()).await.unwrap().message;
    assert_eq!(told["params"]["uri"], URI, "{told}");
    let port = shown(&mut scene.wire).await;
    assert_eq!(port["open"]["hung_up"], true, "{port}");
}
