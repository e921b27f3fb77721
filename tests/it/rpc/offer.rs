//! What a server does not offer it does not announce, and does not find.

use crate::support::served::{Door, Pi, modern_meta};
use serde_json::{Value, json};

/// MCP methods that tools alone do not bring, with parameters that fit.
fn beside_tools() -> Vec<(&'static str, Value)> {
    vec![
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "any"})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "any://thing"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "any"}, "argument": {"name": "a", "value": "b"}}),
        ),
    ]
}

#[tokio::test]
async fn a_server_of_tools_announces_tools_and_finds_nothing_else() {
    let pi = Pi::tools_only().await;
    for door in [Door::Stdio, Door::Unix, Door::Http, Door::Ws] {
        let mut wire = pi.on(door).await;
        let answer = wire.initialize("2025-11-25", "a client").await;
        assert_eq!(answer.result()["capabilities"], json!({"tools": {}}), "{door:?}");
        let legacy = [
            ("logging/setLevel", json!({"level": "info"})),
            ("resources/subscribe", json!({"uri": "any://thing"})),
            ("resources/unsubscribe", json!({"uri": "any://thing"})),
        ];
        for (method, params) in beside_tools().into_iter().chain(legacy) {
            let answer = wire.request(method, params).await;
            let message = answer.fault(-32601)["message"].as_str().unwrap().to_owned();
            assert!(message.contains(method), "{door:?}: {message}");
        }
    }
}

#[tokio::test]
async fn the_shipped_server_announces_what_it_has() {
    let pi = Pi::start().await;
    let has = json!({
        "tools": {"listChanged": true}, "resources": {"subscribe": true}, "prompts": {}, "completions": {}, "logging": {},
        "extensions": {"io.modelcontextprotocol/tasks": {}},
    });
    for mut wire in pi.on_all(&[Door::Stdio, Door::Unix, Door::Http, Door::Ws]).await {
        let answer = wire.initialize("2025-11-25", "a client").await;
        assert_eq!(answer.result()["capabilities"], has, "{:?}", wire.door);
    }
    // Between requests nothing comes to the plain endpoint.
    let mut less = has.clone();
    less["resources"] = json!({});
    less.as_object_mut().unwrap().remove("logging");
    let answer = pi.on(Door::Api).await.initialize("2025-11-25", "a client").await;
    assert_eq!(answer.result()["capabilities"], less);
    for mut wire in pi.every_door().await {
        wire.modern("server/discover", None);
        let answer = wire.request("server/discover", modern_meta(json!({}))).await;
        assert_eq!(answer.result()["capabilities"], has, "{:?}", wire.door);
    }
}

#[tokio::test]
async fn nor_does_it_since_2026_07_28() {
    let pi = Pi::tools_only().await;
    for mut wire in pi.on_all(&[Door::Stdio, Door::Unix, Door::Http, Door::Ws]).await {
        let listen = ("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
        for (method, params) in beside_tools().into_iter().chain([listen]) {
            let name = params.get("name").or(params.get("uri")).and_then(Value::as_str).map(str::to_owned);
            wire.modern(method, name.as_deref());
            wire.request(method, modern_meta(params)).await.under(404).fault(-32601);
        }
    }
}

#[tokio::test]
async fn methods_of_earlier_revisions_are_not_found_since_2026_07_28_whatever_their_parameters() {
    let pi = Pi::start().await;
    for mut wire in pi.every_door().await {
        for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"] {
            wire.modern(method, None);
            let answer = wire.request(method, modern_meta(json!({}))).await;
            assert_eq!(answer.under(404).fault(-32601)["data"]["details"]["method"], method);
        }
    }
}
