//! The server's log: as messages from the severity a session asked for, and as a resource that changes.

use super::{DOORS, conversation, modern, read};
use crate::support::served::{Door, Pi, Wire, modern_meta};
use serde_json::{Value, json};

async fn message(wire: &mut Wire) -> Value {
    let news = wire.next().await.unwrap().message;
    assert_eq!(news["method"], "notifications/message", "{news:#}");
    news["params"].clone()
}

#[tokio::test]
async fn each_session_gets_what_it_asked_for_without_secrets() {
    let pi = Pi::start().await;
    let _guard = pi.logs();
    let mut silent = conversation(&pi, Door::Stdio).await;
    for door in DOORS {
        let (mut all, mut grave) = (conversation(&pi, door).await, conversation(&pi, door).await);
        assert_eq!(*all.request("logging/setLevel", json!({"level": "info"})).await.result(), json!({}));
        grave.request("logging/setLevel", json!({"level": "error"})).await.result();
        tracing::debug!(target: "raspi_mcp::test", "too mild for both");
        tracing::info!(target: "raspi_mcp::test", card = 7, token = "rmcp_abcdefgh", "found {}", "password=hunter2");
        tracing::error!(target: "raspi_mcp::test", "it broke");

        let first = message(&mut all).await;
        assert_eq!((&first["level"], &first["logger"]), (&json!("info"), &json!("raspi_mcp::test")));
        assert_eq!(first["data"]["fields"]["card"], 7);
        assert!(first["data"]["timestamp"].is_string());
        let said = first.to_string();
        assert!(!said.contains("hunter2") && !said.contains("abcdefgh") && said.contains("[redacted]"), "{said}");
        for wire in [&mut all, &mut grave] {
            let last = message(wire).await;
            assert_eq!((&last["level"], &last["data"]["message"]), (&json!("error"), &json!("it broke")));
        }
        // The level can be changed; it does not bring back what was.
        grave.request("logging/setLevel", json!({"level": "warning"})).await.result();
        tracing::warn!(target: "raspi_mcp::test", "mind the gap");
        assert_eq!(message(&mut grave).await["level"], "warning");
        assert_eq!(message(&mut all).await["level"], "warning");
        all.request("logging/setLevel", json!({"level": "loud"})).await.fault(-32602);
    }
    silent.request("ping", json!({})).await.result();
    assert!(silent.seen.is_empty(), "who did not ask gets nothing: {:#?}", silent.seen);
}

#[tokio::test]
async fn a_flood_is_cut_and_counted_and_does_not_feed_itself() {
    let pi = Pi::start().await;
    let _guard = pi.logs();
    let mut wire = conversation(&pi, Door::Stdio).await;
    wire.request("logging/setLevel", json!({"level": "debug"})).await.result();
    wire.request("resources/subscribe", json!({"uri": "raspi://logs/app"})).await.result();
    wire.request("ping", json!({})).await.result();
    wire.seen.clear();
    // The test's log keeps a hundred lines.
    for n in 0..250 {
        tracing::info!(target: "raspi_mcp::test", n, "flood");
    }
    let (mut kept, mut left_out, mut updates) = (Vec::new(), 0, 0);
    while kept.last() != Some(&249) {
        let news = wire.next().await.unwrap().message;
        match news["method"].as_str().unwrap() {
            "notifications/resources/updated" => updates += 1,
            _ if news["params"]["data"]["left_out"].is_u64() => {
                assert_eq!(news["params"]["level"], "warning");
                left_out += news["params"]["data"]["left_out"].as_u64().unwrap();
            }
            _ if news["params"]["data"]["message"] == "flood" => {
                kept.push(news["params"]["data"]["fields"]["n"].as_u64().unwrap());
            }
            _ => {}
        }
    }
    assert!(kept.len() <= 64 && left_out as usize + kept.len() >= 250, "{} kept, {left_out} left out", kept.len());
    assert!(updates <= 2, "{updates}");
    // Delivering and reading log nothing that would be delivered and read again.
    for _ in 0..3 {
        read(&mut wire, "raspi://logs/app?limit=1").await;
    }
    let log = pi.server().pipeline.services.log.clone();
    let mut mark = log.mark();
    tracing::info!(target: "raspi_mcp::test", "one more");
    while message_or_update(&mut wire).await != json!("one more") {}
    // Libraries speak at levels that the real log leaves out; what of them gets there is not delivered.
    let ours = log.since(&mut mark, 100, |line| line.target.starts_with("raspi_mcp"));
    assert_eq!(ours.lines.len(), 1, "{:#?}", ours.lines);
}

async fn message_or_update(wire: &mut Wire) -> Value {
    wire.next().await.unwrap().message["params"]["data"]["message"].clone()
}

#[tokio::test]
async fn the_log_as_a_resource_changes_with_the_lines_that_were_asked_for() {
    let pi = Pi::start().await;
    let _guard = pi.logs();
    for door in DOORS {
        let mut wire = conversation(&pi, door).await;
        let uri = "raspi://logs/app?level=warn";
        wire.request("resources/subscribe", json!({ "uri": uri })).await.result();
        tracing::info!(target: "raspi_mcp::test", "routine");
        tracing::warn!(target: "raspi_mcp::test", ?door, "trouble");
        let news = wire.next().await.unwrap().message;
        assert_eq!((&news["method"], &news["params"]["uri"]), (&json!("notifications/resources/updated"), &json!(uri)));
        assert_eq!(read(&mut wire, uri).await["entries"][0]["message"], "trouble");
    }
}

#[tokio::test]
async fn a_modern_client_has_no_level_to_set() {
    let pi = Pi::start().await;
    for mut wire in pi.every_door().await {
        modern(&mut wire, "logging/setLevel", None, json!({"level": "info"})).await.under(404).fault(-32601);
    }
}

/// Every part of this program that has a target of its own, not only those named by their module.
#[tokio::test]
async fn lines_of_the_privileged_half_arrive_and_those_of_libraries_do_not() {
    let pi = Pi::start().await;
    let _guard = pi.logs();
    for door in DOORS {
        let mut wire = conversation(&pi, door).await;
        wire.request("logging/setLevel", json!({"level": "info"})).await.result();
        wire.request("resources/subscribe", json!({"uri": "raspi://logs/app"})).await.result();
        tracing::warn!(target: "rmcp::service", "not ours");
        tracing::warn!(target: "agent", "the card is slow");
        let mut heard = Vec::new();
        while heard.len() < 2 {
            let news = wire.next().await.unwrap().message;
            heard.push(match news["method"].as_str().unwrap() {
                "notifications/message" => news["params"]["data"]["message"].clone(),
                _ => news["params"]["uri"].clone(),
            });
        }
        heard.sort_by_key(Value::to_string);
        assert_eq!(heard, ["raspi://logs/app", "the card is slow"], "{door:?}");
    }
}

/// 2026-07-28: what is logged while a call runs comes with it, where the request asks for it.
#[tokio::test]
async fn a_request_of_2026_07_28_gets_what_is_logged_while_it_runs() {
    let pi = Pi::with(|settings| settings.approval.wait_seconds = 0).await;
    let _guard = pi.logs();
    for door in Door::ALL {
        for (level, expected) in [(None, 0), (Some("info"), 1), (Some("warning"), 0)] {
            let mut wire = pi.on(door).await;
            wire.modern("tools/call", Some("test.ask"));
            let mut params = modern_meta(json!({"name": "test.ask", "arguments": {}}));
            if let Some(level) = level {
                params["_meta"]["io.modelcontextprotocol/logLevel"] = json!(level);
            }
            let id = wire.ask("tools/call", params);
            let answer = wire.answer().await;
            // Before the answer, with which the stream of the request ends.
            let lines: Vec<Value> = wire.seen.drain(..).map(|seen| seen.message["params"].clone()).collect();
            assert_eq!(lines.iter().filter(|line| line["logger"] == "agent").count(), expected, "{door:?} {lines:#?}");
            assert!(*answer.id() == id && answer.is_refusal("failed_precondition"), "{answer:#?}");
            pi.withdraw_asks().await;
        }
    }
}

#[tokio::test]
async fn who_may_not_read_the_log_gets_none_of_it_with_a_call() {
    let pi = Pi::with(|settings| {
        settings.approval.wait_seconds = 0;
        settings.tools.disable.extend(["logs.get_recent_app_logs".to_owned()]);
    })
    .await;
    let _guard = pi.logs();
    let mut wire = pi.on(Door::Stdio).await;
    let mut params = modern_meta(json!({"name": "test.ask", "arguments": {}}));
    params["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
    wire.request("tools/call", params).await.failed("failed_precondition");
    assert!(wire.seen.is_empty(), "{:#?}", wire.seen);
}
