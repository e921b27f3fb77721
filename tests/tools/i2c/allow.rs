//! The list of what may be reached: by bus and address, reading and writing apart.

use super::Scene;
use contract::config::{BusSetting, Settings};
use serde_json::json;

fn listed(settings: &mut Settings) {
    let setting = |bus, addresses: serde_json::Value, writable| BusSetting {
        bus,
        addresses: serde_json::from_value(addresses).unwrap(),
        writable,
    };
    settings.i2c.buses = vec![
        setting(1, json!(["0x48", "0x68"]), false),
        setting(1, json!(["0x50-0x51"]), true),
        setting(3, json!(["0x20"]), true),
    ];
}

#[tokio::test]
async fn what_is_not_listed_is_not_touched() {
    let mut scene = Scene::with(listed).await;
    for (tool, args, permission) in [
        ("i2c.read", json!({"bus": 1, "address": 0x2a, "length": 1}), "i2c:read:1:0x2a"),
        ("i2c.read", json!({"bus": 2, "address": 0x48, "length": 1}), "i2c:read:2:0x48"),
        ("i2c.read", json!({"bus": 3, "address": 0x48, "length": 1}), "i2c:read:3:0x48"),
        ("i2c.write", json!({"bus": 1, "address": 0x52, "data": [1]}), "i2c:write:1:0x52"),
        ("i2c.transfer", json!({"bus": 1, "address": 0x52, "data": [1], "length": 1}), "i2c:write:1:0x52"),
        ("i2c.scan_bus", json!({"bus": 0}), "i2c:scan:0"),
    ] {
        let error = scene.failed(tool, args, "permission_denied").await;
        assert_eq!(error["details"]["required_permission"], permission);
        assert!(error["hint"].as_str().unwrap().contains("[[i2c.buses]]"), "{error}");
    }
    assert!(scene.buses.touched(1).is_empty());
    scene.ok("i2c.read", json!({"bus": 1, "address": 0x48, "register": 0, "length": 2})).await;
    scene.ok("i2c.write", json!({"bus": 1, "address": 0x50, "data": [1, 2]})).await;
    // Listed, and not there.
    scene.failed("i2c.read", json!({"bus": 3, "address": 0x20, "length": 1}), "capability_missing").await;
}

#[tokio::test]
async fn what_may_be_read_may_not_be_written_for_that() {
    let mut scene = Scene::with(listed).await;
    for (tool, args) in [
        ("i2c.write", json!({"bus": 1, "address": 0x48, "register": 1, "data": [0x60, 0xa0]})),
        ("i2c.transfer", json!({"bus": 1, "address": 0x48, "data": [0], "length": 2})),
    ] {
        let error = scene.failed(tool, args, "permission_denied").await;
        assert_eq!(error["details"]["required_permission"], "i2c:write:1:0x48");
        assert!(error["hint"].as_str().unwrap().contains("writable = true"), "{error}");
    }
    assert!(scene.buses.touched(1).is_empty());
}

#[tokio::test]
async fn a_scan_asks_nobody_else() {
    let mut scene = Scene::with(listed).await;
    let scan = scene.ok("i2c.scan_bus", json!({"bus": 1})).await;
    assert_eq!(scan["addresses"], json!([0x48, 0x50]));
    assert_eq!(
        scan["skipped"],
        json!([{"reason": "not_allowed", "addresses": ["0x08-0x47", "0x49-0x4f", "0x52-0x67", "0x69-0x77"]}])
    );
    assert_eq!(scan["in_use"][0]["address"], 0x68);
    assert_eq!(scene.buses.touched(1).ranges(), ["0x48", "0x50-0x51"]);
    let listed = scene.ok("i2c.list_buses", json!({})).await;
    let bus = &listed["buses"][0];
    assert_eq!((&bus["readable"], &bus["writable"]), (&json!(["0x48", "0x50-0x51", "0x68"]), &json!(["0x50-0x51"])));
}

#[tokio::test]
async fn a_fresh_server_reads_and_does_not_write() {
    let mut scene = Scene::with(|settings| settings.tools.enable.clear()).await;
    scene.ok("i2c.read", json!({"bus": 1, "address": 0x48, "register": 0, "length": 2})).await;
    scene.ok("i2c.scan_bus", json!({"bus": 1})).await;
    for (tool, args) in [
        ("i2c.write", json!({"bus": 1, "address": 80, "data": [1]})),
        ("i2c.transfer", json!({"bus": 1, "address": 80, "data": [1], "length": 1})),
    ] {
        let error = scene.failed(tool, args, "permission_denied").await;
        assert!(error["hint"].as_str().unwrap().contains("tools.enable"), "{error}");
    }
}
