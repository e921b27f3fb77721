//! `i2c.scan_bus`: i2cdetect's rules, and never what belongs to a driver.

use super::Scene;
use hw::i2c::{
    Addresses, Functions,
    simulated::{I2cTrouble, SMBUS},
};
use serde_json::json;

#[tokio::test]
async fn everybody_is_asked_but_those_a_driver_has() {
    let mut scene = Scene::new().await;
    let answer = scene.wire.call("i2c.scan_bus", json!({"bus": 1})).await;
    assert_eq!(
        *answer.ok(),
        json!({
            "bus": 1,
            "addresses": [0x2a, 0x48, 0x50, 0x76],
            "in_use": [{"address": 0x68, "driver": "rtc-ds1307", "device": "ds3231"}],
            "skipped": [],
            "unclear": [],
        })
    );
    assert_eq!(answer.meta()["simulated"], true);
    assert_eq!(scene.buses.touched(1).ranges(), ["0x08-0x67", "0x69-0x77"]);
}

#[tokio::test]
async fn it_changes_nothing_on_a_device() {
    let mut scene = Scene::new().await;
    scene.ok("i2c.write", json!({"bus": 1, "address": 0x48, "register": 2, "data": [1, 0xe0]})).await;
    scene.ok("i2c.scan_bus", json!({"bus": 1})).await;
    let register = scene.ok("i2c.read", json!({"bus": 1, "address": 0x48, "length": 2})).await;
    assert_eq!(register["data"], json!([1, 0xe0]), "the pointer is where it was");
}

#[tokio::test]
async fn adapters_ask_as_well_as_they_can() {
    let everywhere = ["0x08-0x67", "0x69-0x77"];
    let without_reads = ["0x08-0x2f", "0x38-0x4f", "0x60-0x67", "0x69-0x77"];
    for (functions, asked, found, skipped) in [
        (SMBUS, &everywhere[..], json!([0x2a, 0x48, 0x50, 0x76]), json!([])),
        (Functions::READ_BYTE, &everywhere[..], json!([0x2a, 0x48, 0x50, 0x76]), json!([])),
        (
            Functions::QUICK,
            &without_reads[..],
            json!([0x2a, 0x48, 0x76]),
            json!([{"reason": "no_safe_way", "addresses": ["0x30-0x37", "0x50-0x5f"]}]),
        ),
    ] {
        let mut scene = Scene::new().await;
        scene.buses.set_functions(1, functions);
        let scan = scene.ok("i2c.scan_bus", json!({"bus": 1})).await;
        assert_eq!((&scan["addresses"], &scan["skipped"]), (&found, &skipped), "{functions:?}");
        assert_eq!(scene.buses.touched(1).ranges(), asked, "{functions:?}");
    }
    let mut scene = Scene::new().await;
    scene.buses.set_functions(1, Functions::I2C);
    let error = scene.failed("i2c.scan_bus", json!({"bus": 1}), "capability_missing").await;
    assert_eq!(error["details"]["needs_one_of"], json!(["smbus_quick", "smbus_read_byte"]));
    assert!(scene.buses.touched(1).is_empty());
}

#[tokio::test]
async fn a_bus_where_nobody_answers_is_empty_and_one_that_hangs_is_told_after_three() {
    let mut scene = Scene::new().await;
    scene.buses.fail(1, I2cTrouble::Nack);
    assert_eq!(scene.ok("i2c.scan_bus", json!({"bus": 1})).await["addresses"], json!([]));
    for (trouble, code) in [
        (I2cTrouble::Timeout, "timeout"),
        (I2cTrouble::Busy, "unavailable"),
        (I2cTrouble::ArbitrationLost, "unavailable"),
    ] {
        scene.buses.touched(1);
        scene.buses.fail(1, trouble);
        let error = scene.failed("i2c.scan_bus", json!({"bus": 1}), code).await;
        assert!(error["details"]["bus"] == 1 && error["details"].get("address").is_none(), "{error}");
        assert!(scene.buses.touched(1).iter().count() <= 8, "no more than one row");
    }
}

#[tokio::test]
async fn it_says_how_far_it_is() {
    let mut scene = Scene::new().await;
    let params = json!({"name": "i2c.scan_bus", "arguments": {"bus": 1}, "_meta": {"progressToken": "scan"}});
    scene.wire.request("tools/call", params).await.ok();
    let reports: Vec<_> =
        scene.wire.seen.iter().filter(|seen| seen.message["method"] == "notifications/progress").collect();
    assert!(!reports.is_empty());
    for report in reports {
        let params = &report.message["params"];
        assert_eq!((&params["progressToken"], &params["total"]), (&json!("scan"), &json!(111.0)), "{params}");
        assert_eq!(params["_meta"]["phase"], "scan");
    }
}

#[tokio::test]
async fn it_ends_between_two_probes_when_its_caller_goes() {
    let mut scene = Scene::new().await;
    scene.buses.fail(1, I2cTrouble::Hangs);
    let id = scene.wire.ask("tools/call", json!({"name": "i2c.scan_bus", "arguments": {"bus": 1}}));
    while scene.buses.inside(1) == 0 {
        tokio::task::yield_now().await;
    }
    scene.wire.notify("notifications/cancelled", json!({"requestId": id}));
    scene.wire.answer_to(id).await.failed("cancelled");
    assert_eq!(scene.buses.touched(1).ranges(), ["0x08"], "the probe that hangs");
    scene.buses.heal(1);
    // Waits for its turn: when it is answered, what was left of the scan is over.
    scene.ok("i2c.read", json!({"bus": 1, "address": 0x48, "length": 2})).await;
    assert_eq!(scene.buses.touched(1), Addresses::parse("0x48").unwrap());
}
