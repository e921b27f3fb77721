//! Batches: 2025-03-26 has them, every other revision refuses them.

use crate::support::served::{Answer, Door, Pi, Wire};
use serde_json::{Value, json};

const BATCHING: &str = "2025-03-26";

fn batch(items: &[Value]) -> String {
    Value::from(items.to_vec()).to_string()
}

fn ask(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })
}

/// The one array that answers a batch, by id.
fn sorted(answer: &Answer) -> Vec<(String, Value)> {
    let items = answer.message.as_array().unwrap_or_else(|| panic!("no array: {answer:#?}"));
    let mut items: Vec<(String, Value)> = items.iter().map(|item| (item["id"].to_string(), item.clone())).collect();
    items.sort_by(|a, b| a.0.cmp(&b.0));
    items
}

/// The plain endpoint has no sessions: there the header says which revision a request follows.
async fn begin(wire: &mut Wire, version: &str) {
    if wire.door == Door::Api {
        wire.post().headers.push(("mcp-protocol-version".into(), version.into()));
    } else {
        wire.initialize(version, "a client").await.result();
    }
}

#[tokio::test]
async fn batches_are_refused_unless_the_revision_has_them() {
    let pi = Pi::start().await;
    let message = batch(&[ask(1, "test.echo", json!({}))]);
    for mut wire in pi.every_door().await {
        wire.raw(&message);
        let fault = wire.answer().await;
        assert!(fault.under(400).fault(-32600)["message"].as_str().unwrap().contains(BATCHING));
    }
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        for mut wire in pi.every_door().await {
            begin(&mut wire, version).await;
            wire.raw(&message);
            wire.answer().await.under(400).fault(-32600);
            wire.call("test.echo", json!({})).await.ok();
        }
    }
}

#[tokio::test]
async fn a_batch_is_answered_as_one_with_every_request_in_it_once() {
    let pi = Pi::start().await;
    for mut wire in pi.every_door().await {
        begin(&mut wire, BATCHING).await;
        wire.raw(batch(&[
            ask("a", "test.echo", json!({"text": "bare"})),
            ask("b", "tools/call", json!({"name": "test.echo", "arguments": {"text": "mcp"}})),
            ask("c", "ping", json!({})),
            ask("d", "tools/list", json!({"limit": 1})),
            ask("e", "no.such.method", json!({})),
            ask("f", "initialize", json!({})),
            json!({ "jsonrpc": "2.0", "method": "test.write" }),
            json!({ "jsonrpc": "2.0", "id": "g", "method": 7 }),
            json!(17),
        ]));
        let answer = wire.answer().await;
        let items = sorted(answer.under(200));
        let ids: Vec<&str> = items.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(
            ids,
            [r#""a""#, r#""b""#, r#""c""#, r#""d""#, r#""e""#, r#""f""#, r#""g""#, "null"],
            "{:?}",
            wire.door
        );
        assert_eq!(items[0].1["result"]["text"], "bare");
        assert_eq!(items[1].1["result"]["structuredContent"]["text"], "mcp");
        assert!(items[2].1["result"].is_object(), "{:?} {}", wire.door, items[2].1);
        assert_eq!(items[3].1["result"]["tools"].as_array().unwrap().len(), 1);
        assert_eq!(items[4].1["error"]["code"], -32601);
        for (_, refused) in &items[5..] {
            assert_eq!(refused["error"]["code"], -32600, "{refused}");
        }
        wire.call("test.echo", json!({})).await.ok();
        assert!(wire.seen.iter().all(|seen| seen.message.get("method").is_some()), "{:#?}", wire.seen);
    }
}

#[tokio::test]
async fn empty_and_oversized_batches_are_refused_and_one_of_notifications_is_silent() {
    let pi = Pi::start().await;
    for mut wire in pi.every_door().await {
        begin(&mut wire, BATCHING).await;
        wire.raw("[]");
        wire.answer().await.under(400).fault(-32600);
        let many: Vec<Value> = (0..65).map(|id| ask(id, "test.echo", json!({}))).collect();
        wire.raw(batch(&many));
        wire.answer().await.under(400).fault(-32600);
        wire.raw(batch(&many[..64]));
        assert_eq!(sorted(&wire.answer().await).len(), 64);
        wire.raw(batch(&[json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })]));
        wire.call("test.echo", json!({})).await.ok();
        assert!(wire.seen.is_empty(), "{:#?}", wire.seen);
    }
}

#[tokio::test]
async fn ids_that_clash_are_refused_inside_the_batch_and_do_not_hold_it_up() {
    let pi = Pi::start().await;
    for mut wire in pi.on_all(&Door::STREAMS).await {
        begin(&mut wire, BATCHING).await;
        wire.raw(ask(7, "test.hold", json!({})).to_string());
        pi.bench.until_inside(1).await;
        // 7 is running, 8 comes twice.
        wire.raw(batch(&[
            ask(7, "test.echo", json!({})),
            ask(8, "test.echo", json!({})),
            ask("8", "test.echo", json!({})),
        ]));
        let answer = wire.answer().await;
        let items = sorted(&answer);
        let codes: Vec<bool> = items.iter().map(|(_, item)| item["error"]["code"] == -32600).collect();
        assert_eq!(items.len(), 3, "{:?}: {items:?}", wire.door);
        assert_eq!(codes.iter().filter(|refused| **refused).count(), 2, "{items:?}");
        pi.bench.release.add_permits(1);
        wire.answer_to(7).await.result();
    }
}

#[tokio::test]
async fn a_batch_on_a_full_connection_is_still_answered_whole() {
    let pi = Pi::with(|settings| {
        settings.limits.max_concurrent_requests = 1;
        // One caller's share of the queue is half of it, and a connection can be full.
        settings.limits.max_waiting_requests = 128;
    })
    .await;
    for mut wire in pi.on_all(&Door::STREAMS).await {
        begin(&mut wire, BATCHING).await;
        for id in 100..160 {
            wire.raw(ask(id, "test.hold", json!({})).to_string());
        }
        pi.bench.until_inside(1).await;
        let many: Vec<Value> = (0..10).map(|id| ask(id, "test.hold", json!({}))).collect();
        wire.raw(batch(&many));
        // Sixty-four requests of a connection may be open: four of these wait with the others, six are refused, and so is
        // the one after them, which says that the batch has been taken.
        wire.raw(ask(999, "test.echo", json!({})).to_string());
        wire.answer_to(999).await.fault(-32005);
        pi.bench.release.add_permits(64);
        loop {
            let answer = wire.answer().await;
            if answer.message.is_array() {
                let items = sorted(&answer);
                assert_eq!(items.len(), 10);
                let refused = items.iter().filter(|(_, item)| item["error"]["code"] == -32005).count();
                assert_eq!(refused, 6, "{items:?}");
                break;
            }
            wire.seen.push(answer);
        }
        let singles = 60 - wire.seen.len();
        for _ in 0..singles {
            wire.answer().await.result();
        }
    }
}

#[tokio::test]
async fn the_answers_of_a_batch_have_one_limit_together() {
    let pi = Pi::with(|settings| settings.limits.max_response_bytes = 100_000).await;
    for mut wire in pi.every_door().await {
        begin(&mut wire, BATCHING).await;
        let big: Vec<Value> = (0..5).map(|id| ask(id, "test.big", json!({"bytes": 40_000}))).collect();
        wire.raw(batch(&big));
        let answer = wire.answer().await;
        let items = sorted(&answer);
        let refused: Vec<&Value> =
            items.iter().map(|(_, item)| &item["error"]["code"]).filter(|code| **code == -32008).collect();
        assert_eq!((items.len(), refused.len()), (5, 3), "{:?}", wire.door);
    }
}
