//! What holds of SPI on every board that has a device whose output is connected to its input.

use super::{Bench, assertions};
use serde_json::{Value, json};

assertions! {
    spi: |hand| hand.spi_loop.is_some() =>
        a_device_is_listed_with_what_is_allowed,
        what_is_sent_comes_back_in_every_mode,
        as_many_bytes_as_a_transfer_has_come_back_whole,
        a_device_that_is_not_allowed_is_not_reached,
        a_device_that_is_not_there_is_a_missing_capability,
        a_clock_that_is_not_allowed_is_refused,
        many_transfers_leak_no_descriptor;
}

/// The arguments of a transfer with the wire.
fn wire(bench: &Bench, data: &[u8], more: Value) -> Value {
    let (bus, chip_select) = bench.hand.spi_loop.expect("a board with SPI");
    let mut args = json!({"bus": bus, "chip_select": chip_select, "data": data});
    for (key, value) in more.as_object().unwrap() {
        args[key] = value.clone();
    }
    args
}

async fn a_device_is_listed_with_what_is_allowed(bench: &Bench) {
    let (bus, chip_select) = bench.hand.spi_loop.expect("a board with SPI");
    let listed = bench.call("spi.list_buses", json!({})).await.ok();
    let buses = listed["buses"].as_array().unwrap();
    let found = buses.iter().find(|entry| entry["bus"] == bus).unwrap_or_else(|| panic!("no bus {bus}: {listed}"));
    let devices = found["devices"].as_array().unwrap();
    let device = devices.iter().find(|device| device["chip_select"] == chip_select).expect("the device");
    assert_eq!((&device["allowed"], &device["max_speed_hz"]), (&json!(true), &json!(1_000_000)), "{device}");
}

async fn what_is_sent_comes_back_in_every_mode(bench: &Bench) {
    for mode in [0, 1, 2, 3, 0] {
        for data in [vec![0xa5], vec![0, 255, 1, 128, mode]] {
            let args = wire(bench, &data, json!({"mode": mode, "speed_hz": 1_000_000}));
            assert_eq!(bench.call("spi.transfer", args).await.ok()["data"], json!(data), "mode {mode}");
        }
    }
}

async fn as_many_bytes_as_a_transfer_has_come_back_whole(bench: &Bench) {
    let data: Vec<u8> = (0..=255).cycle().take(4096).collect();
    let out = bench.call("spi.transfer", wire(bench, &data, json!({"speed_hz": 1_000_000}))).await.ok();
    assert_eq!(out["data"], json!(data));
}

async fn a_device_that_is_not_allowed_is_not_reached(bench: &Bench) {
    let mut args = wire(bench, &[1], json!({}));
    args["chip_select"] = json!(200);
    let refusal = bench.call("spi.transfer", args).await.refused();
    assert_eq!(refusal["error_code"], "permission_denied", "{refusal}");
}

async fn a_device_that_is_not_there_is_a_missing_capability(bench: &Bench) {
    let refusal = bench.call("spi.transfer", json!({"bus": 9, "chip_select": 0, "data": [1]})).await.refused();
    assert_eq!(
        (&refusal["error_code"], &refusal["details"]["fault"]),
        (&json!("capability_missing"), &json!("no_device"))
    );
}

async fn a_clock_that_is_not_allowed_is_refused(bench: &Bench) {
    let refusal = bench.call("spi.transfer", wire(bench, &[1], json!({"speed_hz": 1_000_001}))).await.refused();
    assert_eq!(refusal["details"]["max_speed_hz"], 1_000_000, "{refusal}");
}

async fn many_transfers_leak_no_descriptor(bench: &Bench) {
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    bench.call("spi.transfer", wire(bench, &[1], json!({}))).await.ok();
    let before = open();
    for _ in 0..50 {
        bench.call("spi.transfer", wire(bench, &[1], json!({}))).await.ok();
    }
    // Other tests of this process open and close files as well.
    assert!(open() < before + 50, "{before} before, {} now", open());
}
