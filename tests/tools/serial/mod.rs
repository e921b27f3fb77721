//! `serial.*` on a simulated board, whose ports are a wire and a modem, and on pseudoterminals of the kernel.

mod attacks;
mod flow;
mod leases;
mod minute;
mod ptys;
mod told;

use crate::support::served::{Door, Pi, Wire};
use contract::config::{SerialPortSetting, Settings};
use hw::serial::{
    Flow, Line, Parity,
    simulated::{LOOPBACK, MODEM, SimulatedSerial},
};
use serde_json::{Value, json};

/// A server whose serial tools are on, the hand that has its ports, and a conversation.
struct Scene {
    wire: Wire,
    ports: SimulatedSerial,
    pi: Pi,
}

impl Scene {
    async fn new() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let pi = Pi::standard(|settings| {
            settings.tools.enable.insert("serial".into());
            settings.access.loopback_role = contract::meta::Role::OpsRw;
            settings.limits.writes_per_minute = 10_000;
            settings.limits.reads_per_minute = 10_000;
            change(settings);
        })
        .await;
        let board = pi.server().pipeline.services.machine.board.simulated.clone().expect("it is simulated");
        Self { wire: pi.on(Door::Stdio).await, ports: board.serial.clone(), pi }
    }

    async fn ok(&mut self, tool: &str, args: Value) -> Value {
        self.wire.call(tool, args).await.ok().clone()
    }

    async fn failed(&mut self, tool: &str, args: Value, code: &str) -> Value {
        self.wire.call(tool, args).await.failed(code).clone()
    }

    async fn open(&mut self, port: &str) {
        self.ok("serial.open", json!({"port": port})).await;
    }
}

#[tokio::test]
async fn a_modem_is_asked_and_answers() {
    let mut scene = Scene::new().await;
    let answer = scene.wire.call("serial.list_ports", json!({})).await;
    assert_eq!(answer.meta()["simulated"], true);
    let port = |port, driver, product| json!({"port": port, "driver": driver, "product": product, "allowed": true, "writable": true});
    let product = json!("Simulated modem");
    assert_eq!(
        answer.ok(),
        &json!({"ports": [port(LOOPBACK, "uart-pl011", Value::Null), port(MODEM, "ftdi_sio", product)]})
    );
    let opened = scene.ok("serial.open", json!({"port": MODEM, "baud": 9600})).await;
    let line = json!({"baud": 9600, "data_bits": 8, "parity": "none", "stop_bits": 1, "flow_control": "none"});
    assert_eq!(opened, json!({"port": MODEM, "line": line}), "on a connection without a time");
    let written = scene.ok("serial.write", json!({"port": MODEM, "text": "ATI\r", "drain": true})).await;
    assert_eq!(written, json!({"port": MODEM, "bytes_written": 4, "drained": true}));
    assert_eq!(scene.ports.sent(MODEM).0, b"ATI\r");
    let read = scene.ok("serial.read", json!({"port": MODEM, "until": "OK\r\n"})).await;
    assert_eq!((&read["text"], &read["ended_by"]), (&json!("\r\nOK\r\n"), &json!("delimiter")));
    let closed = scene.ok("serial.close", json!({"port": MODEM})).await;
    assert_eq!(closed["was_open"], true);
    assert_eq!(scene.ok("serial.close", json!({"port": MODEM})).await["was_open"], false);
}

#[tokio::test]
async fn settings_reach_the_line_and_may_be_changed() {
    let mut scene = Scene::new().await;
    scene
        .ok(
            "serial.open",
            json!({"port": LOOPBACK, "baud": 300, "data_bits": 7, "parity": "even", "stop_bits": 2, "flow_control": "rts_cts"}),
        )
        .await;
    let line = Line { baud: 300, data_bits: 7, parity: Parity::Even, stop_bits: 2, flow: Flow::RtsCts };
    assert_eq!(scene.ports.sent(LOOPBACK).1, Some(line));
    scene.ok("serial.write", json!({"port": LOOPBACK, "text": "kept"})).await;
    scene.ok("serial.open", json!({"port": LOOPBACK, "baud": 4_000_000, "flow_control": "xon_xoff"})).await;
    let line = Line { baud: 4_000_000, data_bits: 8, parity: Parity::None, stop_bits: 1, flow: Flow::XonXoff };
    assert_eq!(scene.ports.sent(LOOPBACK).1, Some(line));
    let read = scene.ok("serial.read", json!({"port": LOOPBACK})).await;
    assert_eq!((&read["text"], &read["ended_by"]), (&json!("kept"), &json!("quiet")));
}

#[tokio::test]
async fn bytes_that_are_no_text_go_as_base64_both_ways() {
    let mut scene = Scene::new().await;
    scene.open(LOOPBACK).await;
    scene.ok("serial.write", json!({"port": LOOPBACK, "base64": "/wD+"})).await;
    let read = scene.ok("serial.read", json!({"port": LOOPBACK})).await;
    assert_eq!((&read["base64"], read.get("text"), &read["bytes_read"]), (&json!("/wD+"), None, &json!(3)));
}

#[tokio::test]
async fn a_read_takes_so_many_bytes_and_says_how_many_wait() {
    let mut scene = Scene::new().await;
    scene.open(LOOPBACK).await;
    scene.ok("serial.write", json!({"port": LOOPBACK, "text": "one\ntwo\nthree"})).await;
    let read = scene.ok("serial.read", json!({"port": LOOPBACK, "until": "\n"})).await;
    assert_eq!((&read["text"], &read["waiting_bytes"]), (&json!("one\n"), &json!(9)));
    let read = scene.ok("serial.read", json!({"port": LOOPBACK, "max_bytes": 3})).await;
    assert_eq!((&read["text"], &read["ended_by"]), (&json!("two"), &json!("full")));
    // The delimiter does not come: what is there is the answer when the time is over.
    let read = scene.ok("serial.read", json!({"port": LOOPBACK, "until": "END", "timeout_ms": 1})).await;
    assert_eq!((&read["text"], &read["ended_by"]), (&json!("\nthree"), &json!("timeout")));
    let read = scene.ok("serial.read", json!({"port": LOOPBACK, "timeout_ms": 0})).await;
    assert_eq!((&read["bytes_read"], &read["ended_by"]), (&json!(0), &json!("timeout")));
}

#[tokio::test]
async fn a_break_goes_before_the_bytes_and_needs_none() {
    let mut scene = Scene::new().await;
    scene.open(LOOPBACK).await;
    scene.ok("serial.write", json!({"port": LOOPBACK, "break_ms": 1})).await;
    scene.ok("serial.write", json!({"port": LOOPBACK, "break_ms": 1, "text": "U"})).await;
    assert_eq!(scene.ports.sent(LOOPBACK).2, 2);
}

#[tokio::test]
async fn bounds_hold_at_their_edges() {
    let mut scene = Scene::new().await;
    scene.open(LOOPBACK).await;
    for (tool, name, good, bad) in [
        ("serial.open", "baud", json!(50), json!(49)),
        ("serial.open", "baud", json!(4_000_000), json!(4_000_001)),
        ("serial.open", "data_bits", json!(5), json!(4)),
        ("serial.open", "data_bits", json!(8), json!(9)),
        ("serial.open", "stop_bits", json!(2), json!(3)),
        ("serial.open", "lease_seconds", json!(3600), json!(3601)),
        ("serial.write", "text", json!("x".repeat(4096)), json!("x".repeat(4097))),
        ("serial.write", "break_ms", json!(1), json!(1001)),
        ("serial.read", "max_bytes", json!(65_536), json!(65_537)),
        ("serial.read", "max_bytes", json!(1), json!(0)),
        ("serial.read", "timeout_ms", json!(0), json!(60_001)),
        ("serial.read", "until", json!("x".repeat(16)), json!("x".repeat(17))),
    ] {
        let mut args = json!({"port": LOOPBACK});
        if tool == "serial.read" {
            args["timeout_ms"] = json!(0);
        }
        args[name] = good;
        scene.ok(tool, args.clone()).await;
        args[name] = bad;
        scene.wire.call(tool, args).await.refused(&format!("/{name}"));
    }
    let too_long = json!({"port": LOOPBACK, "text": "ü".repeat(2049)});
    let error = scene.failed("serial.write", too_long, "invalid_argument").await;
    assert!(error["message"].as_str().unwrap().contains("4098 bytes"), "{error}");
    scene.failed("serial.write", json!({"port": LOOPBACK}), "invalid_argument").await;
    scene.failed("serial.write", json!({"port": LOOPBACK, "text": "a", "base64": "YQ=="}), "invalid_argument").await;
    scene.failed("serial.write", json!({"port": LOOPBACK, "base64": "!"}), "invalid_argument").await;
}

#[tokio::test]
async fn only_what_is_listed_is_opened_and_only_what_is_writable_is_written() {
    let port = |name: &str, writable| SerialPortSetting { name: name.into(), writable };
    let mut scene =
        Scene::with(|settings| settings.serial.ports = vec![port(LOOPBACK, false), port("ttyS9", true)]).await;
    let error = scene.failed("serial.open", json!({"port": MODEM}), "permission_denied").await;
    assert_eq!(error["details"]["required_permission"], format!("serial:open:{MODEM}"));
    assert!(error["hint"].as_str().unwrap().contains("[[serial.ports]]"), "{error}");
    scene.open(LOOPBACK).await;
    let error = scene.failed("serial.write", json!({"port": LOOPBACK, "text": "a"}), "permission_denied").await;
    assert!(error["hint"].as_str().unwrap().contains("writable = true"), "{error}");
    scene.failed("serial.open", json!({"port": "ttyS9"}), "capability_missing").await;
}
