//! What goes wrong at the other end, or is tried at this one.

use super::Scene;
use crate::support::served::soon;
use hw::serial::simulated::{LOOPBACK, MODEM};
use serde_json::json;

#[tokio::test]
async fn a_modem_that_hangs_up_in_mid_read_ends_it_with_what_had_come() {
    let mut scene = Scene::new().await;
    scene.open(MODEM).await;
    let id = scene.wire.ask(
        "tools/call",
        json!({
            "name": "serial.read", "arguments": {"port": MODEM, "until": "OK", "timeout_ms": 60_000},
        }),
    );
    scene.ports.feed(MODEM, b"CONN");
    scene.ports.unplug(MODEM, true);
    let answer = soon(scene.wire.answer_to(id)).await;
    // Whether the read began before or after, it has what came and says that the line is gone.
    assert_eq!((&answer.ok()["text"], &answer.ok()["ended_by"]), (&json!("CONN"), &json!("hung_up")));
    for (tool, args) in [("serial.read", json!({"port": MODEM})), ("serial.write", json!({"port": MODEM, "text": "a"}))]
    {
        let error = scene.failed(tool, args, "unavailable").await;
        assert_eq!(error["details"]["fault"], "hung_up");
        assert!(error["hint"].as_str().unwrap().contains("serial.open"), "{error}");
    }
}

#[tokio::test]
async fn a_device_that_was_unplugged_can_be_opened_again_under_its_name() {
    let mut scene = Scene::new().await;
    scene.open(MODEM).await;
    scene.ports.unplug(MODEM, true);
    let gone = async {
        loop {
            let port = scene.wire.call("serial.list_ports", json!({"port": MODEM})).await.ok()["ports"][0].clone();
            if port["open"]["hung_up"] == true {
                return port;
            }
        }
    };
    let port = soon(gone).await;
    assert_eq!(port["driver"], json!(null), "it is listed for whom has it open: {port}");
    scene.failed("serial.open", json!({"port": MODEM}), "capability_missing").await;
    scene.ports.unplug(MODEM, false);
    scene.open(MODEM).await;
    scene.ok("serial.write", json!({"port": MODEM, "text": "AT\r"})).await;
    let read = scene.ok("serial.read", json!({"port": MODEM, "until": "OK"})).await;
    assert_eq!(read["ended_by"], "delimiter");
}

#[tokio::test]
async fn a_close_ends_a_read_that_waits() {
    let mut scene = Scene::new().await;
    scene.open(LOOPBACK).await;
    let id = scene.wire.ask(
        "tools/call",
        json!({
            "name": "serial.read", "arguments": {"port": LOOPBACK, "timeout_ms": 60_000},
        }),
    );
    let close = scene.wire.ask("tools/call", json!({"name": "serial.close", "arguments": {"port": LOOPBACK}}));
    let answer = soon(scene.wire.answer_to(id)).await;
    answer.failed("failed_precondition");
    soon(scene.wire.answer_to(close)).await.ok();
}

#[tokio::test]
async fn a_name_leads_out_of_dev_nowhere() {
    let mut scene = Scene::new().await;
    for bad in ["", "/dev/ttyS0", "../etc/shadow", "pts/../../etc/shadow", "ttyS0\u{0}", "a b", ".", "tty;reboot"] {
        for tool in ["serial.open", "serial.read", "serial.close", "serial.list_ports"] {
            scene.wire.call(tool, json!({"port": bad})).await.refused("/port");
        }
    }
}

#[tokio::test]
async fn sixteen_ports_are_enough() {
    let mut scene = Scene::new().await;
    for _ in 0..20 {
        scene.open(LOOPBACK).await;
        scene.open(MODEM).await;
    }
    let listed = scene.ok("serial.list_ports", json!({})).await;
    let open = listed["ports"].as_array().unwrap().iter().filter(|port| port.get("open").is_some());
    assert_eq!(open.count(), 2, "a port that is opened again is no other one");
}
