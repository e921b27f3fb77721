//! `onewire.*` on a simulated board and on trees of files: thermometers, other parts, and what goes wrong.

use crate::support::{
    pi::Pi,
    served::{self, Door},
};
use base::os::Root;
use hw::{
    board::{Board, Choice},
    machine::Machine,
    onewire::simulated::{MEMORY, THERMOMETER},
};
use serde_json::{Value, json};
use std::{fs, path::Path};

#[tokio::test]
async fn a_thermometer_is_found_and_read() {
    let pi = served::Pi::standard(|_| {}).await;
    let mut wire = pi.on(Door::Stdio).await;
    let answer = wire.call("onewire.list_devices", json!({})).await;
    assert_eq!(answer.meta()["simulated"], true);
    let device = |address, family, kind| json!({"address": address, "family": family, "kind": kind, "readable": true});
    assert_eq!(
        answer.ok(),
        &json!({
            "devices": [
                device(THERMOMETER, "DS18B20 thermometer", "thermometer"),
                device(MEMORY, "DS2431 memory of 128 bytes", "other"),
            ],
            "buses": ["w1_bus_master1"],
        })
    );
    let read = wire.call("onewire.read", json!({"address": THERMOMETER})).await.ok().clone();
    assert_eq!(
        (&read["celsius"], &read["crc_ok"], read["data"].as_array().unwrap().len()),
        (&json!(19.25), &json!(true), 9)
    );
    let read = wire.call("onewire.read", json!({"address": MEMORY})).await.ok().clone();
    assert_eq!((&read["data"], read.get("celsius")), (&json!(vec![255; 128]), None));
}

#[tokio::test]
async fn bits_that_do_not_arrive_whole_are_no_temperature() {
    let pi = served::Pi::standard(|_| {}).await;
    let mut wire = pi.on(Door::Stdio).await;
    let sensor = pi.server().pipeline.services.machine.board.simulated.as_ref().unwrap().onewire.clone();
    let mut read = async |sixteenths, whole| {
        sensor.set(sixteenths, whole);
        wire.call("onewire.read", json!({"address": THERMOMETER})).await.ok().clone()
    };
    let broken = read(344, false).await;
    assert_eq!((&broken["celsius"], &broken["crc_ok"]), (&Value::Null, &json!(false)));
    assert!(broken["note"].as_str().unwrap().contains("pull-up"), "{broken}");
    let cold = read(-880, true).await;
    assert_eq!((&cold["celsius"], cold.get("note")), (&json!(-55.0), None));
    let fresh = read(85 * 16, true).await;
    assert!(fresh["celsius"] == 85.0 && fresh["note"].as_str().unwrap().contains("power-up"), "{fresh}");
}

#[tokio::test]
async fn a_sensor_that_vanishes_is_not_found() {
    let pi = served::Pi::standard(|_| {}).await;
    let mut wire = pi.on(Door::Stdio).await;
    let sensor = pi.server().pipeline.services.machine.board.simulated.as_ref().unwrap().onewire.clone();
    sensor.take(THERMOMETER);
    let error = wire.call("onewire.read", json!({"address": THERMOMETER})).await.failed("not_found").clone();
    assert!(error["hint"].as_str().unwrap().contains("4.7 kOhm"), "{error}");
    assert_eq!(wire.call("onewire.list_devices", json!({})).await.ok()["devices"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn an_address_is_no_path() {
    let pi = served::Pi::standard(|_| {}).await;
    let mut wire = pi.on(Door::Stdio).await;
    for bad in ["", "28", "../../../etc/passwd", "28-0123456789AB", "28-0123456789abc", "28-0123456789a/"] {
        wire.call("onewire.read", json!({"address": bad})).await.refused("/address");
    }
}

/// A machine with these files of 1-Wire devices.
fn machine(root: &Path, files: &[(&str, &str)]) -> Pi {
    for (path, text) in files {
        let path = root.join("sys/bus/w1/devices").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let root = Root::at(root);
    let board = Board::detect(Choice::Linux, &root).unwrap();
    Pi::on(Machine::new(root, board, None))
}

#[tokio::test]
async fn the_kernels_devices_are_read_from_their_files() {
    let folder = tempfile::tempdir().unwrap();
    let w1_slave = "72 01 4b 46 7f ff 0e 10 57 : crc=57 YES\n72 01 4b 46 7f ff 0e 10 57 t=23125\n";
    let zeros = "00 00 00 00 00 00 00 00 00 : crc=00 YES\n00 00 00 00 00 00 00 00 00 t=0\n";
    let long = "x".repeat(513);
    let pi = machine(
        folder.path(),
        &[
            ("w1_bus_master1/name", "w1_bus_master1"),
            ("28-0123456789ab/w1_slave", w1_slave),
            ("28-000000000000/w1_slave", zeros),
            ("28-00000000000e/w1_slave", ""),
            ("28-00000000000f/name", "no driver"),
            ("43-0123456789ab/eeprom", &long),
            ("26-0123456789ab/name", "a DS2438"),
            ("ff-0123456789ab/name", "unknown"),
        ],
    );
    let read = async |address: &str| pi.call("onewire.read", json!({"address": address})).await;
    let good = read("28-0123456789ab").await.ok();
    assert_eq!((&good["celsius"], &good["data"][0]), (&json!(23.125), &json!(0x72)));
    let shorted = read("28-000000000000").await.ok();
    assert_eq!((&shorted["celsius"], &shorted["crc_ok"]), (&Value::Null, &json!(false)), "a line that is held low");
    let memory = read("43-0123456789ab").await.ok();
    assert_eq!((memory["data"].as_array().unwrap().len(), &memory["truncated"]), (512, &json!(true)));
    for (address, code) in [
        ("28-00000000000e", "unavailable"),
        ("28-00000000000f", "capability_missing"),
        ("26-0123456789ab", "capability_missing"),
        ("ff-0123456789ab", "capability_missing"),
        ("28-00000000dead", "not_found"),
    ] {
        let error = read(address).await.refused();
        assert_eq!((&error["error_code"], &error["details"]["address"]), (&json!(code), &json!(address)));
    }
    let listed = pi.call("onewire.list_devices", json!({})).await.ok();
    assert_eq!(listed["devices"].as_array().unwrap().len(), 7);
    assert_eq!(listed["devices"][6]["family"], Value::Null);
}

#[tokio::test]
async fn without_a_bus_there_is_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let pi = machine(folder.path(), &[]);
    let listed = pi.call("onewire.list_devices", json!({})).await.ok();
    assert!(listed["hint"].as_str().unwrap().contains("dtoverlay=w1-gpio"), "{listed}");
}
