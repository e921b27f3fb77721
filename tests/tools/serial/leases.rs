//! Whose a port is, and what ends that: the caller, its connection, its credential, time, a stop.

use super::Scene;
use crate::support::served::{Door, soon};
use hw::serial::simulated::{LOOPBACK, MODEM};
use serde_json::json;

#[tokio::test]
async fn a_port_is_one_callers_alone() {
    let mut scene = Scene::new().await;
    scene.open(LOOPBACK).await;
    let mut other = scene.pi.on(Door::Ws).await;
    for (tool, args) in [
        ("serial.open", json!({"port": LOOPBACK})),
        ("serial.read", json!({"port": LOOPBACK})),
        ("serial.write", json!({"port": LOOPBACK, "text": "a"})),
        ("serial.close", json!({"port": LOOPBACK})),
    ] {
        let error = other.call(tool, args).await.failed("conflict").clone();
        assert_eq!(error["details"]["fault"], "lent", "{tool}: {error}");
    }
    assert_eq!(scene.ports.sent(LOOPBACK).0, b"");
    // One that nobody has open is not read either.
    for tool in ["serial.read", "serial.write"] {
        let mut args = json!({"port": MODEM});
        if tool == "serial.write" {
            args["text"] = json!("a");
        }
        let error = scene.failed(tool, args, "failed_precondition").await;
        assert!(error["hint"].as_str().unwrap().contains("serial.open"), "{error}");
    }
}

#[tokio::test]
async fn a_connection_that_ends_gives_its_ports_back() {
    let scene = Scene::new().await;
    let mut first = scene.pi.on(Door::Ws).await;
    first.call("serial.open", json!({"port": LOOPBACK})).await.ok();
    let mut second = scene.pi.on(Door::Ws).await;
    second.call("serial.open", json!({"port": LOOPBACK})).await.failed("conflict");
    drop(first);
    // The end of a connection is heard of within moments.
    let opened = async { while second.call("serial.open", json!({"port": LOOPBACK})).await.is_refusal("conflict") {} };
    soon(opened).await;
    second.call("serial.read", json!({"port": LOOPBACK, "timeout_ms": 0})).await.ok();
}

#[tokio::test]
async fn a_time_that_its_caller_gave_keeps_a_port_open_without_the_connection() {
    let scene = Scene::with(|settings| settings.tools.enable.extend(["gpio".into()])).await;
    let mut first = scene.pi.on(Door::Ws).await;
    first.call("serial.open", json!({"port": LOOPBACK, "lease_seconds": 600})).await.ok();
    // It goes with the connection, and shows that its end was heard of.
    first.call("gpio.write_pin", json!({"pin": 17, "value": "high"})).await.ok();
    drop(first);
    let mut second = scene.pi.on(Door::Ws).await;
    let write = json!({"pin": 17, "value": "low"});
    soon(async { while second.call("gpio.write_pin", write.clone()).await.is_refusal("conflict") {} }).await;
    // Still open, and its principal's.
    second.call("serial.read", json!({"port": LOOPBACK, "timeout_ms": 0})).await.ok();
    // Opened anew without a time, it goes with the connection that did so.
    second.call("serial.open", json!({"port": LOOPBACK})).await.ok();
    drop(second);
    let mut third = scene.pi.on(Door::Ws).await;
    let opened = async { while third.call("serial.open", json!({"port": LOOPBACK})).await.is_refusal("conflict") {} };
    soon(opened).await;
}

#[tokio::test]
async fn over_http_a_lease_has_a_time_and_ends_with_it() {
    let scene = Scene::new().await;
    let mut wire = scene.pi.on(Door::Http).await;
    let opened = wire.call("serial.open", json!({"port": LOOPBACK, "lease_seconds": 1})).await.ok().clone();
    assert!(opened["expires_at"].is_string(), "{opened}");
    let gone = async {
        while wire.call("serial.list_ports", json!({"port": LOOPBACK})).await.ok()["ports"][0].get("open").is_some() {
            tokio::task::yield_now().await;
        }
    };
    soon(gone).await;
    wire.call("serial.read", json!({"port": LOOPBACK})).await.failed("failed_precondition");
}

#[tokio::test]
async fn a_revoked_credential_and_a_stop_close_its_ports() {
    let mut scene = Scene::new().await;
    scene.open(LOOPBACK).await;
    let services = scene.pi.server().pipeline.services.clone();
    let principal =
        scene.ok("serial.list_ports", json!({"port": LOOPBACK})).await["ports"][0]["open"]["principal"].clone();
    services.revoked("somebody else");
    scene.ok("serial.read", json!({"port": LOOPBACK, "timeout_ms": 0})).await;
    services.revoked(principal.as_str().unwrap());
    scene.failed("serial.read", json!({"port": LOOPBACK}), "failed_precondition").await;
    scene.open(LOOPBACK).await;
    services.serial.end();
    scene.failed("serial.read", json!({"port": LOOPBACK}), "failed_precondition").await;
}
