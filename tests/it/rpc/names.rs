//! One tool, many spellings; and what a name that is no tool's gets.

use crate::support::served::{Door, Pi};
use serde_json::{Value, json};

#[tokio::test]
async fn every_spelling_reaches_the_same_tool() {
    let pi = Pi::start().await;
    for mut wire in pi.every_door().await {
        for name in [
            "test.echo",
            "test_echo",
            "test/echo",
            "test.echo@1",
            "test_echo@1",
            "test/echo@1",
            "test.echo.v1",
            "test/echo.v1",
        ] {
            let said = wire.call(name, json!({"text": name})).await;
            assert_eq!(said.ok()["text"], name);
            // The bare form answers with the object itself.
            let said = wire.request(name, json!({"text": name})).await;
            assert_eq!(*said.result(), json!({"text": name}));
        }
    }
    let records = pi.audit().await;
    assert!(records.iter().all(|record| record["tool"] == "test.echo"), "{records:#?}");
}

#[tokio::test]
async fn a_version_that_is_not_there_says_which_is() {
    let pi = Pi::start().await;
    for mut wire in pi.every_door().await {
        for version in ["2", "0", "01x", "", "1.0"] {
            let name = format!("test.echo@{version}");
            let told = |fault: &Value| fault["message"].as_str().unwrap().contains("this server has test.echo@1");
            let fault = wire.request("tools/call", json!({"name": name})).await;
            assert!(told(fault.fault(-32602)), "{fault:#?}");
            let fault = wire.request(&name, json!({})).await;
            assert!(told(fault.fault(-32601)), "{fault:#?}");
        }
        let fault = wire.request("test/echo.v2", json!({})).await;
        assert!(fault.fault(-32601)["message"].as_str().unwrap().contains("this server has test.echo@1"), "{fault:#?}");
    }
}

#[tokio::test]
async fn a_name_that_is_almost_right_is_put_right() {
    let pi = Pi::start().await;
    for mut wire in pi.every_door().await {
        for (written, meant) in [("tools.serch", "tools.search"), ("test_ecko", "test.echo"), ("test/hod", "test.hold")]
        {
            let fault = wire.request(written, json!({})).await;
            let error = fault.fault(-32601);
            assert!(error["message"].as_str().unwrap().contains(&format!("did you mean {meant}?")), "{error}");
            assert_eq!(error["data"]["error_code"], "not_found");
            assert_eq!(error["data"]["details"]["method"], written);
            let fault = wire.request("tools/call", json!({"name": written})).await;
            assert!(fault.fault(-32602)["message"].as_str().unwrap().contains(meant), "{fault:#?}");
        }
        let fault = wire.request("quantum.entangle", json!({})).await;
        assert!(fault.fault(-32601)["message"].as_str().unwrap().contains("tools.search"));
        // A name does not come back longer than a name can be.
        let fault = wire.request(&"x".repeat(100_000), json!({})).await;
        assert!(fault.fault(-32601).to_string().len() < 1000);
    }
}

#[tokio::test]
async fn the_slash_dialect_has_its_own_error_numbers() {
    let pi = Pi::with(|settings| settings.limits.request_timeout_seconds = 1).await;
    let cases = [
        ("test/echo", json!({"text": 7}), 1003, -32602, "invalid_argument"),
        ("test/write", json!({}), 1002, -32001, "permission_denied"),
        ("test/panic", json!({}), -32603, -32099, "internal"),
        ("test/hold", json!({}), -32603, -32010, "timeout"),
    ];
    for mut wire in pi.every_door().await {
        for (method, params, slash, dotted, symbol) in &cases {
            let fault = wire.request(method, params.clone()).await;
            assert_eq!(fault.fault(*slash)["data"]["error_code"], *symbol);
            let fault = wire.request(&method.replacen('/', ".", 1), params.clone()).await;
            assert_eq!(fault.fault(*dotted)["data"]["error_code"], *symbol);
        }
    }
}

#[tokio::test]
async fn a_bare_call_takes_meta_beside_its_arguments() {
    let pi = Pi::start().await;
    for mut wire in pi.every_door().await {
        let params = json!({"text": "hello", "_meta": {"correlation_id": format!("{:?}", wire.door)}});
        assert_eq!(*wire.request("test.echo", params).await.result(), json!({"text": "hello"}));
    }
    for door in Door::ALL {
        pi.audited(|record| record["correlation_id"] == format!("{door:?}")).await;
    }
}
