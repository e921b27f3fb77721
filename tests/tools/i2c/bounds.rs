//! Arguments that are none: refused before anything moves.

use super::Scene;
use serde_json::{Value, json};

#[tokio::test]
async fn every_field_has_its_bounds() {
    let mut scene = Scene::new().await;
    let good = json!({"bus": 1, "address": 80, "register": 0, "length": 1, "data": [1]});
    let of = |tool: &str, fields: &[&str]| {
        let object = fields.iter().map(|field| ((*field).to_owned(), good[*field].clone()));
        (tool.to_owned(), Value::Object(object.collect()))
    };
    let tools = [
        of("i2c.scan_bus", &["bus"]),
        of("i2c.read", &["bus", "address", "register", "length"]),
        of("i2c.write", &["bus", "address", "register", "data"]),
        of("i2c.transfer", &["bus", "address", "data", "length"]),
    ];
    let huge: Vec<u8> = vec![0; 100_000];
    let bad = [
        ("bus", vec![json!(-1), json!(1 << 20), json!("1"), json!(1.5), json!(null), json!("/dev/i2c-1"), json!([1])]),
        ("address", vec![json!(-1), json!(128), json!("0x50"), json!("80\0"), json!(null), json!(1e9)]),
        ("register", vec![json!(-1), json!(256), json!("0"), json!([0]), json!(0.5)]),
        ("length", vec![json!(0), json!(33), json!(-1), json!("1"), json!(null), json!(4e9)]),
        (
            "data",
            vec![json!([]), json!(vec![0; 33]), json!([256]), json!([-1]), json!("AA=="), json!([null]), json!(huge)],
        ),
        ("device", vec![json!(1)]),
    ];
    for (tool, args) in &tools {
        for (field, values) in &bad {
            if *field != "device" && args.get(field).is_none() {
                continue;
            }
            for value in values {
                let mut args = args.clone();
                args[*field] = value.clone();
                let error = scene.failed(tool, args, "invalid_argument").await;
                let path = error["details"]["path"].as_str().unwrap_or_default();
                assert!(path.is_empty() || path.starts_with(&format!("/{field}")), "{tool} {field}: {error}");
            }
        }
    }
    assert!(scene.buses.touched(1).is_empty());
}

#[tokio::test]
async fn reserved_addresses_are_no_devices() {
    let mut scene = Scene::new().await;
    for address in [0, 1, 7, 0x78, 0x7f] {
        for (tool, args) in [
            ("i2c.read", json!({"bus": 1, "address": address, "length": 1})),
            ("i2c.write", json!({"bus": 1, "address": address, "data": [6]})),
            ("i2c.transfer", json!({"bus": 1, "address": address, "data": [6], "length": 1})),
        ] {
            let error = scene.failed(tool, args, "invalid_argument").await;
            assert_eq!(
                (&error["details"]["parameter"], &error["details"]["provided_value"]),
                (&json!("address"), &json!(address))
            );
        }
    }
    assert!(scene.buses.touched(1).is_empty());
    scene.failed("i2c.read", json!({"bus": 1, "address": 8, "length": 1}), "not_found").await;
    scene.failed("i2c.read", json!({"bus": 1, "address": 0x77, "length": 1}), "not_found").await;
}
