//! `raspi://…`: reading, subscribing in both eras, and the log.

mod log;
mod notifier;
mod read;
mod services;
mod subscribe;

use crate::support::served::{Answer, Door, Pi, Wire, modern_meta};
use serde_json::{Value, json};

/// Ways in that can be told something later.
pub const DOORS: [Door; 3] = Door::STREAMS;

pub async fn conversation(pi: &Pi, door: Door) -> Wire {
    let mut wire = pi.on(door).await;
    wire.initialize("2025-11-25", "a client").await.result();
    wire
}

/// A request of 2026-07-28.
pub async fn modern(wire: &mut Wire, method: &str, name: Option<&str>, params: Value) -> Answer {
    wire.modern(method, name);
    wire.request(method, modern_meta(params)).await
}

/// What a resource holds.
pub async fn read(wire: &mut Wire, uri: &str) -> Value {
    let answer = wire.request("resources/read", json!({ "uri": uri })).await;
    content(&answer, uri)
}

#[track_caller]
pub fn content(answer: &Answer, uri: &str) -> Value {
    let contents = &answer.result()["contents"][0];
    assert_eq!((&contents["uri"], &contents["mimeType"]), (&json!(uri), &json!("application/json")));
    serde_json::from_str(contents["text"].as_str().unwrap()).unwrap()
}
