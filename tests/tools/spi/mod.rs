//! `spi.*` on a simulated board: a wire from output to input, a converter, and what goes wrong.

mod listed;

use crate::support::served::{Door, Pi, Wire};
use contract::config::{Settings, SpiDeviceSetting};
use hw::spi::{SpiClock, simulated::SimulatedSpi};
use rustix::io::Errno;
use serde_json::{Value, json};

/// A server whose SPI tools are on, the hand that has its devices, and a conversation.
struct Scene {
    wire: Wire,
    devices: SimulatedSpi,
    _pi: Pi,
}

impl Scene {
    async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let pi = Pi::standard(|settings| {
            settings.tools.enable.insert("spi".into());
            change(settings);
        })
        .await;
        let board = pi.server().pipeline.services.machine.board.simulated.clone().expect("it is simulated");
        Self { wire: pi.on(Door::Stdio).await, devices: board.spi.clone(), _pi: pi }
    }

    async fn transfer(&mut self, args: Value) -> Value {
        self.wire.call("spi.transfer", args).await.ok().clone()
    }

    async fn failed(&mut self, args: Value, code: &str) -> Value {
        self.wire.call("spi.transfer", args).await.failed(code).clone()
    }
}

#[tokio::test]
async fn the_buses_are_listed_with_their_devices() {
    let mut scene = Scene::with(|_| {}).await;
    let answer = scene.wire.call("spi.list_buses", json!({})).await;
    assert_eq!(answer.meta()["simulated"], true);
    let device = |chip_select, description| json!({"chip_select": chip_select, "description": description, "allowed": true, "max_speed_hz": 125_000_000});
    assert_eq!(answer.ok(), &json!({"buses": [{"bus": 0, "devices": [device(0, "loopback"), device(1, "mcp3008")]}]}));
}

#[tokio::test]
async fn what_is_sent_comes_back_through_a_wire_and_the_clock_is_as_asked() {
    let mut scene = Scene::with(|_| {}).await;
    let all: Vec<u8> = (0..=255).cycle().take(4096).collect();
    let out = scene.transfer(json!({"bus": 0, "chip_select": 0, "data": all})).await;
    assert_eq!((&out["data"], &out["speed_hz"]), (&json!(all), &json!(500_000)));
    assert_eq!(scene.devices.last(), Some(SpiClock { mode: 0, speed_hz: 500_000, delay_us: 0 }));
    let more = json!({"bus": 0, "chip_select": 0, "data": [1], "mode": 3, "speed_hz": 1_000_000, "delay_us": 65_535});
    scene.transfer(more).await;
    assert_eq!(scene.devices.last(), Some(SpiClock { mode: 3, speed_hz: 1_000_000, delay_us: 65_535 }));
}

#[tokio::test]
async fn a_converter_is_read() {
    let mut scene = Scene::with(|_| {}).await;
    scene.devices.set_channel(5, 0x2a7);
    let out = scene.transfer(json!({"bus": 0, "chip_select": 1, "data": [1, 0xd0, 0]})).await;
    assert_eq!(out["data"], json!([0, 0x02, 0xa7]));
}

#[tokio::test]
async fn bounds_hold_at_their_edges() {
    let mut scene = Scene::with(|_| {}).await;
    let with = |name: &str, value: Value| {
        let mut args = json!({"bus": 0, "chip_select": 0, "data": [0]});
        args[name] = value;
        args
    };
    for (name, good, bad) in [
        ("data", json!([255]), json!([256])),
        ("data", json!(vec![0; 4096]), json!(vec![0; 4097])),
        ("data", json!([0]), json!([])),
        ("mode", json!(3), json!(4)),
        ("speed_hz", json!(10_000), json!(9_999)),
        ("speed_hz", json!(125_000_000), json!(125_000_001)),
        ("delay_us", json!(65_535), json!(65_536)),
    ] {
        scene.transfer(with(name, good)).await;
        let error = scene.failed(with(name, bad.clone()), "invalid_argument").await;
        assert!(error["details"]["path"].as_str().unwrap().starts_with(&format!("/{name}")), "{name} {bad}: {error}");
    }
    scene.failed(with("bus", json!(255)), "capability_missing").await;
    scene.failed(with("bus", json!(256)), "invalid_argument").await;
}

#[tokio::test]
async fn every_fault_has_a_code_a_word_and_a_next_step() {
    let mut scene = Scene::with(|_| {}).await;
    let args = json!({"bus": 0, "chip_select": 0, "data": [0]});
    for (fault, code, word) in [
        (Errno::NODEV, "capability_missing", "no_device"),
        (Errno::ACCESS, "unavailable", "no_access"),
        (Errno::BUSY, "failed_precondition", "held"),
        (Errno::MSGSIZE, "failed_precondition", "too_long"),
        (Errno::INVAL, "capability_missing", "unsupported"),
        (Errno::TIMEDOUT, "unavailable", "timeout"),
        (Errno::IO, "unavailable", "io"),
    ] {
        scene.devices.fail(Some(fault));
        let error = scene.failed(args.clone(), code).await;
        assert_eq!(error["details"]["fault"], word, "{error}");
        assert!(error["hint"].as_str().unwrap().len() > 10 && error["message"].as_str().unwrap().contains("spidev0.0"));
    }
    scene.devices.fail(None);
    scene.transfer(args).await;
}

#[tokio::test]
async fn only_what_is_listed_is_reached_and_no_faster() {
    let listed = SpiDeviceSetting { bus: 0, chip_select: 1, max_speed_hz: 100_000 };
    let mut scene = Scene::with(|settings| settings.spi.devices = vec![listed]).await;
    let error = scene.failed(json!({"bus": 0, "chip_select": 0, "data": [0]}), "permission_denied").await;
    assert_eq!(error["details"]["required_permission"], "spi:transfer:0:0");
    assert!(error["hint"].as_str().unwrap().contains("[[spi.devices]]"), "{error}");
    let error =
        scene.failed(json!({"bus": 0, "chip_select": 1, "data": [0], "speed_hz": 100_001}), "permission_denied").await;
    assert_eq!(error["details"]["max_speed_hz"], 100_000);
    assert_eq!(scene.devices.last(), None, "nothing moved on the bus");
    let out = scene.transfer(json!({"bus": 0, "chip_select": 1, "data": [0]})).await;
    assert_eq!(out["speed_hz"], 100_000, "the default is not faster than what is allowed");
    let buses = scene.wire.call("spi.list_buses", json!({})).await.ok().clone();
    let [one, other] = [0, 1].map(|at| buses["buses"][0]["devices"][at]["allowed"].clone());
    assert_eq!((one, other), (json!(false), json!(true)));
}
