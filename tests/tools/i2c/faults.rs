//! What goes wrong on a bus, each told so that one knows what to do next.

use super::Scene;
use hw::i2c::simulated::I2cTrouble;
use serde_json::json;

#[tokio::test]
async fn a_nack_is_not_found_with_bus_and_address() {
    let mut scene = Scene::new().await;
    let read = json!({"bus": 1, "address": 0x20, "length": 1});
    let error = scene.failed("i2c.read", read, "not_found").await;
    assert_eq!(error["details"], json!({"bus": 1, "address": 0x20, "fault": "nack"}));
    assert!(error["message"].as_str().unwrap().contains("0x20 on I2C bus 1"), "{error}");
    // Its address is acknowledged, what is sent to it is not.
    for (tool, args) in [
        ("i2c.write", json!({"bus": 1, "address": 0x2a, "data": [1, 2]})),
        ("i2c.transfer", json!({"bus": 1, "address": 0x2a, "data": [1], "length": 1})),
    ] {
        let answer = scene.wire.call(tool, args).await;
        assert_eq!(answer.failed("not_found")["details"]["address"], 0x2a);
    }
}

#[tokio::test]
async fn what_a_driver_has_is_left_to_it() {
    let mut scene = Scene::new().await;
    for (tool, args) in [
        ("i2c.read", json!({"bus": 1, "address": 0x68, "register": 0, "length": 1})),
        ("i2c.write", json!({"bus": 1, "address": 0x68, "data": [0, 0]})),
        ("i2c.transfer", json!({"bus": 1, "address": 0x68, "data": [0], "length": 1})),
    ] {
        let error = scene.failed(tool, args, "failed_precondition").await;
        assert_eq!(
            error["details"],
            json!({"bus": 1, "address": 0x68, "driver": "rtc-ds1307", "fault": "held_by_driver"})
        );
        assert!(error["hint"].as_str().unwrap().contains("dtoverlay"), "{error}");
    }
    assert!(scene.buses.touched(1).is_empty());
}

#[tokio::test]
async fn every_fault_of_a_bus_has_a_code_a_word_and_a_hint_of_its_own() {
    let mut scene = Scene::new().await;
    let read = json!({"bus": 1, "address": 0x48, "register": 0, "length": 2});
    let mut hints = Vec::new();
    for (trouble, code, word) in [
        (I2cTrouble::Nack, "not_found", "nack"),
        (I2cTrouble::ArbitrationLost, "unavailable", "arbitration_lost"),
        (I2cTrouble::Busy, "unavailable", "bus_busy"),
        (I2cTrouble::Timeout, "timeout", "timeout"),
    ] {
        scene.buses.fail(1, trouble);
        let error = scene.failed("i2c.read", read.clone(), code).await;
        assert_eq!(error["details"], json!({"bus": 1, "address": 0x48, "fault": word}));
        assert_eq!(error.get("timeoutMs").is_some(), code == "timeout", "{error}");
        hints.push(error["hint"].as_str().unwrap().to_owned());
        let write = json!({"bus": 1, "address": 0x48, "data": [1]});
        assert_eq!(scene.failed("i2c.write", write, code).await["details"]["fault"], word);
    }
    hints.sort();
    hints.dedup();
    assert_eq!(hints.len(), 4, "{hints:#?}");
    scene.buses.heal(1);
    scene.ok("i2c.read", read).await;
}

#[tokio::test]
async fn a_bus_that_is_not_there_is_a_missing_capability() {
    let mut scene = Scene::new().await;
    for (tool, args) in [
        ("i2c.scan_bus", json!({"bus": 7})),
        ("i2c.read", json!({"bus": 7, "address": 0x48, "length": 1})),
        ("i2c.write", json!({"bus": 7, "address": 0x48, "data": [1]})),
        ("i2c.transfer", json!({"bus": 7, "address": 0x48, "data": [1], "length": 1})),
    ] {
        let error = scene.failed(tool, args, "capability_missing").await;
        assert_eq!(error["details"]["bus"], 7);
        assert!(error["hint"].as_str().unwrap().contains("dtparam=i2c_arm=on"), "{error}");
    }
}
