//! Progress: at most four a second, rising, with the caller's token, and none after the answer.

use crate::support::served::{Answer, Door, Pi};
use serde_json::{Value, json};
use std::time::Instant;

fn call(steps: u32, every_ms: u64, token: &Value) -> Value {
    json!({
        "name": "test.steps",
        "arguments": { "steps": steps, "every_ms": every_ms },
        "_meta": { "progressToken": token },
    })
}

fn reports(seen: &[Answer]) -> Vec<&Value> {
    let ours = seen.iter().filter(|seen| seen.message["method"] == "notifications/progress");
    ours.map(|seen| &seen.message["params"]).collect()
}

#[tokio::test]
async fn progress_is_throttled_rises_and_stops_with_the_answer() {
    let pi = Pi::start().await;
    // The doors side by side: each takes about a second.
    let all = Door::ALL.map(|door| {
        let pi = &pi;
        async move {
            let mut wire = pi.on(door).await;
            if door == Door::Http {
                wire.initialize("2025-11-25", "a client").await.result();
            }
            let token = json!(format!("{door:?}"));
            let started = Instant::now();
            let answer = wire.request("tools/call", call(100, 10, &token)).await;
            answer.ok();
            let seconds = started.elapsed().as_secs_f64();
            let seen = reports(&wire.seen);
            if door == Door::Api {
                // One request, one JSON answer: there is no room for anything before it.
                assert!(seen.is_empty());
                return;
            }
            let most = (seconds * 4.0).ceil() as usize + 1;
            assert!(seen.len() >= 3 && seen.len() <= most, "{door:?}: {} in {seconds} s", seen.len());
            for (one, two) in seen.iter().zip(&seen[1..]) {
                assert!(one["progress"].as_f64() < two["progress"].as_f64(), "{one} {two}");
            }
            for report in &seen {
                assert_eq!(report["progressToken"], token);
                assert_eq!(report["total"], 100.0);
                let meta = &report["_meta"];
                assert_eq!((&meta["tool"], &meta["phase"]), (&json!("test.steps"), &json!("work")));
                assert!(meta["ts"].is_string() && meta["stream"].is_string());
                assert_eq!(meta["id"], answer.id().to_string());
            }
            // Nothing follows the answer, though a merged update was still waiting for its time.
            let before = wire.seen.len();
            wire.request("tools/call", call(1, 300, &json!(1))).await.ok();
            let late = reports(&wire.seen[before..]);
            assert!(late.iter().all(|report| report["progressToken"] == 1), "{door:?}: {late:?}");
        }
    });
    futures::future::join_all(all).await;
}

#[tokio::test]
async fn without_a_token_there_is_no_progress() {
    let pi = Pi::start().await;
    for mut wire in pi.every_door().await {
        wire.call("test.steps", json!({"steps": 3, "every_ms": 1})).await.ok();
        assert!(reports(&wire.seen).is_empty());
    }
}

#[tokio::test]
async fn a_cancelled_call_reports_nothing_more() {
    let pi = Pi::start().await;
    for door in [Door::Stdio, Door::Unix, Door::Http, Door::Ws] {
        let mut wire = pi.on(door).await;
        if door == Door::Http {
            wire.initialize("2025-11-25", "a client").await.result();
        }
        let id = wire.ask("tools/call", call(1000, 10, &json!("p")));
        let first = wire.next().await.unwrap();
        assert_eq!(first.message["method"], "notifications/progress", "{first:#?}");
        wire.notify("notifications/cancelled", json!({"requestId": id}));
        wire.answer_to(id).await.failed("cancelled");
        let before = wire.seen.len();
        // Longer than the next report would have taken.
        wire.call("test.steps", json!({"steps": 1, "every_ms": 400})).await.ok();
        assert!(reports(&wire.seen[before..]).is_empty());
    }
}

#[tokio::test]
async fn a_modern_call_streams_its_progress_too() {
    let pi = Pi::start().await;
    let mut wire = pi.on(Door::Http).await;
    wire.modern("tools/call", Some("test.steps"));
    let mut params =
        crate::support::served::modern_meta(json!({"name": "test.steps", "arguments": {"steps": 60, "every_ms": 10}}));
    params["_meta"]["progressToken"] = json!("new");
    let answer = wire.request("tools/call", params).await;
    assert_eq!(answer.result()["resultType"], "complete");
    answer.ok();
    assert!(reports(&wire.seen).len() >= 2, "{:#?}", wire.seen);
}
