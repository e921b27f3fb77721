//! Reads, writes and transfers that work: on an adapter of plain I2C, and on one of SMBus alone.

use super::Scene;
use hw::i2c::simulated::{BCM2835, SMBUS};
use serde_json::json;

#[tokio::test]
async fn a_thermometer_is_read() {
    let mut scene = Scene::new().await;
    let args = json!({"bus": 1, "address": 0x48, "register": 0, "length": 2});
    let answer = scene.wire.call("i2c.read", args.clone()).await;
    assert_eq!(*answer.ok(), json!({"bus": 1, "address": 0x48, "register": 0, "data": [0x15, 0x80]}), "21.5 degrees");
    assert_eq!(answer.meta()["simulated"], true);
    scene.buses.set_celsius(1, -0.25);
    assert_eq!(scene.ok("i2c.read", args).await["data"], json!([0xff, 0xc0]));
}

#[tokio::test]
async fn what_is_written_is_there_to_be_read() {
    // The same on both kinds of adapter: an SMBus one has a call that puts the same on the wire.
    for functions in [BCM2835, SMBUS] {
        let mut scene = Scene::new().await;
        scene.buses.set_functions(1, functions);
        let all: Vec<u8> = (100..132).collect();
        let answer =
            scene.wire.call("i2c.write", json!({"bus": 1, "address": 80, "register": 16, "data": all.clone()})).await;
        assert_eq!(*answer.ok(), json!({"bus": 1, "address": 80, "register": 16, "bytes_written": 32}));
        assert_eq!((&answer.meta()["simulated"], &answer.meta()["changed"]), (&json!(true), &json!(true)));
        for (register, length) in [(16, 32), (16, 1), (47, 1), (20, 2), (30, 17)] {
            let args = json!({"bus": 1, "address": 80, "register": register, "length": length});
            let expected: Vec<u8> = (register + 84..).take(length).collect();
            assert_eq!(scene.ok("i2c.read", args).await["data"], json!(expected), "{register} {length}");
        }
        for data in [vec![7], vec![7, 8], vec![7, 8, 9]] {
            scene.ok("i2c.write", json!({"bus": 1, "address": 80, "register": 200, "data": data})).await;
            let args = json!({"bus": 1, "address": 80, "register": 200, "length": data.len()});
            assert_eq!(scene.ok("i2c.read", args).await["data"], json!(data));
        }
        // The register as the first byte of the data is the same thing.
        scene.ok("i2c.write", json!({"bus": 1, "address": 80, "register": null, "data": [201, 55]})).await;
        scene.ok("i2c.write", json!({"bus": 1, "address": 80, "data": [200]})).await;
        let read = scene.ok("i2c.read", json!({"bus": 1, "address": 80, "register": null, "length": 1})).await;
        assert_eq!(read, json!({"bus": 1, "address": 80, "register": null, "data": [7]}));
        let next = scene.ok("i2c.transfer", json!({"bus": 1, "address": 80, "data": [201], "length": 2})).await;
        assert_eq!(next, json!({"bus": 1, "address": 80, "bytes_written": 1, "data": [55, 9]}));
    }
}

#[tokio::test]
async fn plain_i2c_alone_can_say_everything_in_one_breath() {
    let mut scene = Scene::new().await;
    let beyond = [
        ("i2c.read", json!({"bus": 1, "address": 80, "length": 2})),
        ("i2c.transfer", json!({"bus": 1, "address": 80, "data": [0, 1], "length": 1})),
        ("i2c.transfer", json!({"bus": 1, "address": 80, "data": vec![9; 32], "length": 32})),
    ];
    for (tool, args) in &beyond {
        scene.ok(tool, args.clone()).await;
    }
    scene.buses.set_functions(1, SMBUS);
    scene.buses.touched(1);
    for (tool, args) in &beyond {
        let error = scene.failed(tool, args.clone(), "capability_missing").await;
        assert_eq!((&error["details"]["needs_one_of"], &error["details"]["bus"]), (&json!(["i2c"]), &json!(1)));
        assert!(error["hint"].as_str().unwrap().contains("SMBus adapters"), "{error}");
    }
    assert!(scene.buses.touched(1).is_empty(), "half of it was not done either");
    assert_eq!(scene.ok("i2c.list_buses", json!({})).await["buses"][0]["functionality"][0], "smbus_quick");
}
