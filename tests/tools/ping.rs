//! `network.ping` as a conversation: progress for each request, and an end when nobody wants it any more.
//!
//! Whether echo requests may be sent is the kernel's matter (`net.ipv4.ping_group_range`). Where they may not, the refusal says
//! so, and that is all there is to see; `ci/nspawn` runs this where they may, and says so in `RASPI_MCP_PING`.

use crate::support::served::{Door, Pi, Wire};
use serde_json::{Value, json};

async fn allowed(wire: &mut Wire) -> bool {
    let answer = wire.call("network.ping", json!({"address": "127.0.0.1", "count": 1})).await;
    if !answer.is_refusal("capability_missing") {
        assert_eq!(answer.ok()["packets_received"], 1);
        return true;
    }
    assert!(std::env::var_os("RASPI_MCP_PING").is_none(), "{answer:#?}");
    println!("echo requests are not allowed here");
    false
}

fn call(args: Value) -> Value {
    json!({"name": "network.ping", "arguments": args, "_meta": {"progressToken": "p"}})
}

#[tokio::test]
async fn every_request_is_reported() {
    let pi = Pi::standard(|_| {}).await;
    let mut wire = pi.on(Door::Stdio).await;
    if !allowed(&mut wire).await {
        return;
    }
    for address in ["127.0.0.1", "::1"] {
        let before = wire.seen.len();
        let args = json!({"address": address, "count": 3, "interval_ms": 300});
        let answer = wire.request("tools/call", call(args)).await;
        let out = answer.ok();
        assert_eq!(
            (&out["packets_sent"], &out["packets_received"], &out["address"]),
            (&json!(3), &json!(3), &json!(address))
        );
        let times: Vec<f64> =
            out["probes"].as_array().unwrap().iter().map(|each| each["rtt_ms"].as_f64().unwrap()).collect();
        assert!(
            times
                .iter()
                .all(|time| (out["min_rtt_ms"].as_f64().unwrap()..=out["max_rtt_ms"].as_f64().unwrap()).contains(time))
        );
        let said: Vec<&str> =
            wire.seen[before..].iter().filter_map(|seen| seen.message["params"]["message"].as_str()).collect();
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[2].starts_with(&format!("echo 3 of 3 from {address}: ")), "{said:?}");
    }
}

#[tokio::test]
async fn nobody_waits_for_what_nobody_wants() {
    let pi = Pi::standard(|_| {}).await;
    let mut wire = pi.on(Door::Stdio).await;
    if !allowed(&mut wire).await {
        return;
    }
    let started = std::time::Instant::now();
    let id = wire.ask("tools/call", call(json!({"address": "127.0.0.1", "count": 10, "interval_ms": 5000})));
    while wire.next().await.expect("a report").message["method"] != "notifications/progress" {}
    wire.notify("notifications/cancelled", json!({"requestId": id}));
    wire.answer_to(id).await.failed("cancelled");
    assert!(started.elapsed().as_secs() < 20, "it would have taken 45 s");
}
