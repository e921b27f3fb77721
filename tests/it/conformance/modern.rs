//! 2026-07-28: results that ask for input, states that come back, capabilities, subscriptions.

use crate::support::served::{Answer, Door, Pi, Wire, modern_meta};
use serde_json::{Value, json};

const DOORS: [Door; 4] = [Door::Stdio, Door::Unix, Door::Http, Door::Ws];

/// Calls `tool` as a 2026-07-28 client that can do `able`, with `more` beside the arguments.
async fn call(wire: &mut Wire, tool: &str, able: Value, more: Value) -> Answer {
    let mut params = modern_meta(json!({"name": tool, "arguments": {}}));
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = able;
    for (key, value) in more.as_object().unwrap() {
        params[key] = value.clone();
    }
    wire.modern("tools/call", Some(tool));
    wire.request("tools/call", params).await
}

#[tokio::test]
async fn rounds_go_on_with_the_state_they_left() {
    let pi = Pi::with_fixtures().await;
    let tool = "test_input_required_result_multi_round";
    for door in DOORS {
        let mut wire = pi.on(door).await;
        let mut more = json!({});
        let mut states = Vec::new();
        for step in ["step1", "step2"] {
            let answer = call(&mut wire, tool, json!({"elicitation": {}}), more).await;
            let result = answer.under(200).result();
            assert_eq!(result["resultType"], "input_required", "{door:?}");
            assert_eq!(result["inputRequests"][step]["method"], "elicitation/create", "{door:?}: {result}");
            states.push(result["requestState"].clone());
            more = json!({
                "requestState": result["requestState"],
                "inputResponses": {step: {"action": "accept", "content": {}}},
            });
        }
        assert_ne!(states[0], states[1]);
        let answer = call(&mut wire, tool, json!({"elicitation": {}}), more).await;
        assert_eq!(answer.result()["resultType"], "complete", "{door:?}");
    }
}

#[tokio::test]
async fn a_state_that_was_changed_is_refused() {
    let pi = Pi::with_fixtures().await;
    let tool = "test_input_required_result_tampered_state";
    for door in DOORS {
        let mut wire = pi.on(door).await;
        let first = call(&mut wire, tool, json!({}), json!({})).await;
        let state = first.result()["requestState"].as_str().unwrap().to_owned();
        let good = call(&mut wire, tool, json!({}), json!({"requestState": state})).await;
        assert_eq!(good.result()["content"][0]["text"], "Confirmed: state-ok");
        for bad in [format!("{state}00"), state.replacen('7', "6", 1), "made up".into(), String::new()] {
            call(&mut wire, tool, json!({}), json!({"requestState": bad})).await.fault(-32602);
        }
        // Recorded as the refusal it is.
        pi.audited(|record| record["tool"] == tool && record["outcome"] == "invalid_argument").await;
    }
}

#[tokio::test]
async fn what_the_client_cannot_do_is_named() {
    let pi = Pi::with_fixtures().await;
    for door in DOORS {
        let mut wire = pi.on(door).await;
        let refusal = call(&mut wire, "test_missing_capability", json!({}), json!({})).await;
        assert_eq!(refusal.under(400).fault(-32021)["data"], json!({"requiredCapabilities": {"sampling": {}}}));
        call(&mut wire, "test_missing_capability", json!({"sampling": {}}), json!({})).await.under(200).result();
    }
}

#[tokio::test]
async fn log_messages_come_only_when_the_request_asks_for_them() {
    let pi = Pi::with_fixtures().await;
    for door in DOORS {
        let mut wire = pi.on(door).await;
        for level in [None, Some("error")] {
            let mut params = modern_meta(json!({"name": "test_logging_tool", "arguments": {}}));
            if let Some(level) = level {
                params["_meta"]["io.modelcontextprotocol/logLevel"] = json!(level);
            }
            wire.modern("tools/call", Some("test_logging_tool"));
            wire.seen.clear();
            wire.request("tools/call", params).await.result();
            assert_eq!(wire.seen.len(), usize::from(level.is_some()), "{door:?} {level:?}: {:?}", wire.seen);
        }
    }
}

#[tokio::test]
async fn subscribers_hear_what_they_asked_for() {
    let pi = Pi::with_fixtures().await;
    for door in DOORS {
        let mut listener = pi.on(door).await;
        listener.modern("subscriptions/listen", None);
        let params = modern_meta(json!({"notifications": {"toolsListChanged": true}}));
        let id = listener.ask("subscriptions/listen", params);
        let accepted = listener.next().await.unwrap().message;
        assert_eq!(accepted["method"], "notifications/subscriptions/acknowledged", "{door:?}: {accepted}");

        let mut other = pi.on(Door::Stdio).await;
        for tool in ["test_trigger_prompt_change", "test_trigger_tool_change"] {
            call(&mut other, tool, json!({}), json!({})).await.result();
        }
        let news = listener.next().await.unwrap().message;
        assert_eq!(news["method"], "notifications/tools/list_changed", "{door:?}");
        assert_eq!(news["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id, "{door:?}");
    }
}

#[tokio::test]
async fn a_header_must_repeat_its_parameter() {
    let pi = Pi::with_fixtures().await;
    let mut wire = pi.on(Door::Http).await;
    let params = modern_meta(json!({"name": "test_custom_header", "arguments": {"value": "one"}}));
    for (header, status) in [("one", 200), ("=?base64?b25l?=", 200), ("two", 400)] {
        wire.modern("tools/call", Some("test_custom_header"));
        wire.post().headers.push(("mcp-param-value".into(), header.into()));
        let answer = wire.request("tools/call", params.clone()).await;
        match status {
            200 => assert_eq!(answer.under(200).result()["content"][0]["text"], "one"),
            _ => drop(answer.under(400).fault(-32020)),
        }
    }
}
