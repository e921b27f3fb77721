//! What is no proper message gets JSON-RPC's own answer, and the conversation goes on.

use crate::support::served::{Door, Pi, Wire};
use serde_json::{Value, json};

/// The conversation still works.
async fn lives(wire: &mut Wire) {
    wire.call("test.echo", json!({"text": "still here"})).await.under(200).ok();
}

#[tokio::test]
async fn faults_are_answered_by_their_kind_through_every_door() {
    let pi = Pi::start().await;
    let cases: &[(&str, i32, Value)] = &[
        ("{", -32700, Value::Null),
        ("nonsense", -32700, Value::Null),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"} {}"#, -32700, Value::Null),
        ("17", -32600, Value::Null),
        (r#""text""#, -32600, Value::Null),
        ("null", -32600, Value::Null),
        (r#"{"id":5,"method":"ping"}"#, -32600, json!(5)),
        (r#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#, -32600, json!(5)),
        (r#"{"jsonrpc":2.0,"id":5,"method":"ping"}"#, -32600, json!(5)),
        (r#"{"jsonrpc":"2.0","id":5}"#, -32600, json!(5)),
        (r#"{"jsonrpc":"2.0","id":5,"method":["ping"]}"#, -32600, json!(5)),
        (r#"{"jsonrpc":"2.0","id":5,"method":null}"#, -32600, json!(5)),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":{"n":1},"method":"ping"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":5,"method":"ping","params":"text"}"#, -32600, json!(5)),
        (r#"{"jsonrpc":"2.0","id":5,"method":"test.echo","params":["a"]}"#, -32602, json!(5)),
        (r#"{"jsonrpc":"2.0","id":"five","method":"tools/call","params":[]}"#, -32602, json!("five")),
    ];
    for mut wire in pi.every_door().await {
        for (message, code, id) in cases {
            wire.raw(message);
            let answer = wire.answer().await;
            answer.under(400).fault(*code);
            assert_eq!(answer.id(), id, "{:?}: {message}", wire.door);
        }
        lives(&mut wire).await;
    }
}

#[tokio::test]
async fn a_byte_order_mark_is_ignored_through_every_door() {
    let pi = Pi::start().await;
    for mut wire in pi.every_door().await {
        wire.raw(
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":\"marked\",\"method\":\"test.echo\",\"params\":{\"text\":\"a\"}}",
        );
        let answer = wire.answer().await;
        assert_eq!((answer.id(), &answer.result()["text"]), (&json!("marked"), &json!("a")), "{:?}", wire.door);
        lives(&mut wire).await;
    }
}

#[tokio::test]
async fn parameters_of_the_wrong_shape_name_the_method_s_own_code() {
    let pi = Pi::start().await;
    let cases: &[(&str, Value)] = &[
        ("tools/call", json!({})),
        ("tools/call", json!({"name": 7})),
        ("tools/call", json!({"name": "test.echo", "arguments": [1]})),
        ("tools/call", json!({"name": "test.echo", "arguments": "text"})),
        ("tools/call", json!({"name": "test.echo", "_meta": 7})),
        ("tools/call", json!({"name": "test.echo", "_meta": {"progressToken": []}})),
        ("tools/call", json!({"name": "test.echo", "_meta": {"correlation_id": "x".repeat(129)}})),
        ("tools/call", json!({"name": "test.nothing"})),
        ("tools/list", json!({"cursor": 7})),
        ("tools/list", json!({"cursor": "mine"})),
        ("tools/list", json!({"limit": 0})),
        ("tools/list", json!({"limit": 201})),
        ("tools/list", json!({"filter": {"colour": "red"}})),
    ];
    for mut wire in pi.every_door().await {
        for (method, params) in cases {
            wire.request(method, params.clone()).await.under(200).fault(-32602);
        }
        wire.call("test.echo", json!({"text": 7})).await.under(200).refused("/text");
        wire.call("test.echo", json!({"txt": ""})).await.under(200).refused("/txt");
        wire.call("test.steps", json!({"steps": 1})).await.under(200).refused("/every_ms");
        // The bare form of the same mistakes.
        let refusal = wire.request("test.echo", json!({"text": 7})).await;
        assert_eq!(refusal.under(200).fault(-32602)["data"]["details"]["expected_type"], "string");
        lives(&mut wire).await;
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_are_a_parse_error() {
    let pi = Pi::start().await;
    for mut wire in pi.every_door().await {
        wire.raw(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"test.echo\",\"params\":{\"text\":\"\xff\xfe\"}}");
        // A WebSocket says text or bytes by itself: bytes are no message there.
        let code = if wire.door == Door::Ws { -32600 } else { -32700 };
        wire.answer().await.under(400).fault(code);
        lives(&mut wire).await;
    }
}

#[tokio::test]
async fn nesting_is_bounded_at_sixty_four_levels() {
    let pi = Pi::start().await;
    // The message and its parameters are two levels themselves.
    let nested = |levels: usize| {
        let inner = format!("{}{}", "[".repeat(levels - 2), "]".repeat(levels - 2));
        format!(r#"{{"jsonrpc":"2.0","id":"deep","method":"test.echo","params":{{"text":{inner}}}}}"#)
    };
    for mut wire in pi.every_door().await {
        wire.raw(nested(64));
        wire.answer().await.under(200).fault(-32602);
        wire.raw(nested(65));
        let answer = wire.answer().await;
        assert!(answer.under(400).fault(-32600)["message"].as_str().unwrap().contains("64 levels"));
        assert_eq!(answer.id(), "deep");
        wire.raw("[".repeat(100_000));
        wire.answer().await.under(400).fault(-32600);
        // Brackets inside text are text.
        wire.call("test.echo", json!({"text": "[".repeat(1000)})).await.ok();
        lives(&mut wire).await;
    }
}

#[tokio::test]
async fn empty_lines_and_responses_nobody_waits_for_are_passed_over() {
    let pi = Pi::start().await;
    for mut wire in pi.on_all(&Door::STREAMS).await {
        if wire.door != Door::Ws {
            for empty in ["", "\r", "  ", "\n\n"] {
                wire.raw(empty);
            }
        }
        wire.raw(r#"{"jsonrpc":"2.0","id":99,"result":{}}"#);
        wire.raw(r#"{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"no"}}"#);
        wire.call("test.echo", json!({})).await.ok();
        assert!(wire.seen.is_empty(), "{:#?}", wire.seen);
    }
}

#[tokio::test]
async fn notifications_never_run_tools_and_are_never_answered() {
    let pi = Pi::with(|settings| settings.tools.enable.extend(["test".to_owned()])).await;
    for mut wire in pi.every_door().await {
        wire.notify("test.write", json!({}));
        wire.notify("test/write", json!({}));
        wire.notify("tools/call", json!({"name": "test.write", "arguments": {}}));
        wire.notify("no.such.thing", json!({}));
        wire.raw(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        lives(&mut wire).await;
        assert!(wire.seen.is_empty(), "{:#?}", wire.seen);
    }
    assert_eq!(pi.bench.ran(), 0);
}

#[tokio::test]
async fn an_id_is_echoed_as_it_came_and_may_be_in_use_once() {
    let pi = Pi::start().await;
    for mut wire in pi.every_door().await {
        for id in [json!(0), json!(-7), json!(i64::MAX), json!("text"), json!(""), json!("ünï")] {
            wire.raw(crate::support::served::request(&id, "test.echo", &json!({})));
            assert_eq!(*wire.answer().await.id(), id);
        }
    }
    // Over HTTP each request has its own answer; on a stream two answers under one id could not be told apart.
    for mut wire in pi.on_all(&Door::STREAMS).await {
        wire.raw(crate::support::served::request(&json!(7), "test.hold", &json!({})));
        pi.bench.until_inside(1).await;
        for method in ["test.echo", "tools/list", "ping", "no.such.method"] {
            for id in [json!(7), json!("7")] {
                wire.raw(crate::support::served::request(&id, method, &json!({})));
                assert!(wire.answer().await.fault(-32600)["message"].as_str().unwrap().contains("in use"));
            }
        }
        pi.bench.release.add_permits(1);
        wire.answer().await.result();
        wire.raw(crate::support::served::request(&json!(7), "test.echo", &json!({})));
        wire.answer().await.result();
    }
}

#[tokio::test]
async fn a_handshake_that_fails_can_be_tried_again() {
    let pi = Pi::start().await;
    for mut wire in pi.on_all(&Door::STREAMS).await {
        // Before there is a conversation, nothing spoils it: not its notifications, not a withdrawal, not a bad start.
        wire.notify("notifications/initialized", json!({}));
        wire.request("ping", json!({})).await.result();
        wire.notify("notifications/progress", json!({"progressToken": 1, "progress": 1}));
        wire.raw(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
        wire.notify("notifications/cancelled", json!({"requestId": "p"}));
        wire.answer_to("p").await;
        wire.request("initialize", json!({"protocolVersion": 7})).await.fault(-32602);
        wire.notify("notifications/initialized", json!({}));
        wire.request("resources/list", json!({})).await.fault(-32602);
        wire.initialize("2025-11-25", "a client").await.result();
        wire.request("ping", json!({})).await.result();
        wire.call("test.talk", json!({"no": 1})).await.refused("/no");
        assert!(wire.seen.is_empty(), "{:#?}", wire.seen);
    }
}
