//! What holds of buses, scans and transfers on every board.

use super::{
    Bench, assertions,
    hand::{Slave, Wires},
};
use serde_json::{Value, json};

assertions! {
    i2c: |hand| hand.wires.is_some() =>
        a_bus_is_listed_with_its_adapter_and_its_protocols,
        a_scan_finds_who_is_there_and_nobody_else,
        a_register_reads_what_is_in_it,
        what_is_written_is_in_the_register,
        a_transfer_writes_and_then_reads,
        a_read_without_a_register_goes_on_where_the_device_stands,
        nobody_is_not_found,
        a_bus_that_is_not_there_is_a_missing_capability,
        a_device_that_is_not_allowed_is_not_touched,
        what_a_device_is_not_is_not_confirmed,
        many_transfers_leak_no_descriptor;
    |hand| hand.wires.as_ref().is_some_and(|wires| wires.held().is_some()) =>
        what_a_driver_has_is_left_to_it_by_name,
        what_a_driver_has_is_identified_without_a_question;
}

/// The registers that may be written, and values that every part of the family keeps whole.
const VALUES: [(u8, [u8; 2]); 4] = [(2, [0x4b, 0x00]), (3, [0x50, 0x00]), (2, [0x19, 0x80]), (3, [0xe7, 0x00])];

fn wires(bench: &Bench) -> &dyn Wires {
    bench.hand.wires.as_deref().expect("a board with I2C")
}

fn at(slave: &Slave, more: &Value) -> Value {
    let mut args = json!({"bus": slave.bus, "address": slave.address});
    for (key, value) in more.as_object().unwrap() {
        args[key] = value.clone();
    }
    args
}

async fn ok(bench: &Bench, tool: &str, slave: &Slave, more: Value) -> Value {
    bench.call(tool, at(slave, &more)).await.ok()
}

async fn listed(bench: &Bench, bus: u8) -> Value {
    let all = bench.call("i2c.list_buses", json!({})).await.ok();
    let found = all["buses"].as_array().unwrap().iter().find(|entry| entry["bus"] == bus);
    found.unwrap_or_else(|| panic!("no bus {bus} in {all}")).clone()
}

async fn a_bus_is_listed_with_its_adapter_and_its_protocols(bench: &Bench) {
    for slave in wires(bench).slaves() {
        let bus = listed(bench, slave.bus).await;
        assert!(bus["description"].as_str().unwrap().contains(slave.adapter), "{bus}");
        let protocols = bus["functionality"].as_array().unwrap();
        assert_eq!(protocols.contains(&json!("i2c")), slave.plain, "{bus}");
        assert!(protocols.contains(&json!("smbus_byte_data")), "{bus}");
        assert!(bus["allowed"] == true && bus.get("problem").is_none(), "{bus}");
        assert_eq!(bus["writable"], json!(["0x40-0x5f", "0x68"]));
    }
}

async fn a_scan_finds_who_is_there_and_nobody_else(bench: &Bench) {
    let wires = wires(bench);
    for slave in wires.slaves() {
        // What it held before it holds after: a scan changes nothing.
        wires.put(slave, 2, [0x4b, 0x00]);
        let scan = bench.call("i2c.scan_bus", json!({"bus": slave.bus})).await.ok();
        let found = scan["addresses"].as_array().unwrap();
        assert!(found.contains(&slave.address.into()), "{scan}");
        assert_eq!(wires.get(slave, 2), [0x4b, 0x00]);
        for (bus, address) in [wires.nobody(), wires.forbidden()] {
            assert!(bus != slave.bus || !found.contains(&address.into()), "{scan}");
        }
        assert_eq!(scan["skipped"][0]["reason"], "not_allowed", "{scan}");
        assert_eq!(scan["unclear"], json!([]), "{scan}");
    }
    if let Some((bus, address, driver)) = wires.held() {
        let scan = bench.call("i2c.scan_bus", json!({"bus": bus})).await.ok();
        assert!(!scan["addresses"].as_array().unwrap().contains(&address.into()), "{scan}");
        let held = scan["in_use"].as_array().unwrap().iter().find(|entry| entry["address"] == address).unwrap();
        assert_eq!(held["driver"], driver);
        assert_eq!(listed(bench, bus).await["in_use"], scan["in_use"]);
    }
}

async fn a_register_reads_what_is_in_it(bench: &Bench) {
    for slave in wires(bench).slaves() {
        for (register, bytes) in VALUES {
            wires(bench).put(slave, register, bytes);
            let two = ok(bench, "i2c.read", slave, json!({"register": register, "length": 2})).await;
            assert_eq!(two, at(slave, &json!({"register": register, "data": bytes})));
            let one = ok(bench, "i2c.read", slave, json!({"register": register, "length": 1})).await;
            assert_eq!(one["data"], json!(bytes[..1]));
        }
    }
}

async fn what_is_written_is_in_the_register(bench: &Bench) {
    for slave in wires(bench).slaves() {
        for (register, bytes) in VALUES {
            let answer = bench.call("i2c.write", at(slave, &json!({"register": register, "data": bytes}))).await;
            assert!(answer.changed);
            assert_eq!(answer.ok(), at(slave, &json!({"register": register, "bytes_written": 2})));
            assert_eq!(wires(bench).get(slave, register), bytes);
        }
        // The register as the first byte of what is written is the same on the wire.
        ok(bench, "i2c.write", slave, json!({"data": [2, 0x20, 0x00]})).await;
        assert_eq!(wires(bench).get(slave, 2), [0x20, 0x00]);
    }
}

async fn a_transfer_writes_and_then_reads(bench: &Bench) {
    for slave in wires(bench).slaves() {
        for (register, bytes) in VALUES {
            wires(bench).put(slave, register, bytes);
            let read = ok(bench, "i2c.transfer", slave, json!({"data": [register], "length": 2})).await;
            assert_eq!(read, at(slave, &json!({"bytes_written": 1, "data": bytes})));
        }
        let two = at(slave, &json!({"data": [2, 0x4b], "length": 2}));
        let answer = bench.call("i2c.transfer", two).await.result();
        if let Err(refused) = answer {
            assert!(!slave.plain && refused["error_code"] == "capability_missing", "{refused}");
            assert_eq!(refused["details"]["needs_one_of"], json!(["i2c"]));
        }
    }
}

async fn a_read_without_a_register_goes_on_where_the_device_stands(bench: &Bench) {
    for slave in wires(bench).slaves() {
        wires(bench).put(slave, 3, [0x50, 0x00]);
        ok(bench, "i2c.write", slave, json!({"data": [3]})).await;
        let one = ok(bench, "i2c.read", slave, json!({"length": 1})).await;
        assert_eq!(one, at(slave, &json!({"register": null, "data": [0x50]})));
        ok(bench, "i2c.write", slave, json!({"data": [3]})).await;
        let two = bench.call("i2c.read", at(slave, &json!({"length": 2}))).await.result();
        match two {
            Ok(read) => assert!(slave.plain && read["data"] == json!([0x50, 0x00]), "{read}"),
            Err(refused) => {
                assert!(!slave.plain && refused["error_code"] == "capability_missing", "{refused}");
                assert_eq!(
                    (&refused["details"]["bus"], &refused["details"]["needs_one_of"]),
                    (&json!(slave.bus), &json!(["i2c"]))
                );
            }
        }
    }
}

/// Every way to speak to one device.
async fn refusals(bench: &Bench, (bus, address): (u8, u8)) -> Vec<Value> {
    let mut refusals = Vec::new();
    for (tool, more) in [
        ("i2c.read", json!({"length": 1})),
        ("i2c.read", json!({"register": 0, "length": 2})),
        ("i2c.write", json!({"register": 0, "data": [0]})),
        ("i2c.transfer", json!({"data": [0], "length": 2})),
    ] {
        let slave = Slave { bus, address, adapter: "", plain: true };
        let answer = bench.call(tool, at(&slave, &more)).await;
        assert!(!answer.changed, "{tool}");
        refusals.push(answer.refused());
    }
    refusals
}

async fn nobody_is_not_found(bench: &Bench) {
    let (bus, address) = wires(bench).nobody();
    for refusal in refusals(bench, (bus, address)).await {
        assert_eq!(refusal["error_code"], "not_found", "{refusal}");
        assert_eq!(refusal["details"], json!({"bus": bus, "address": address, "fault": "nack"}));
    }
}

async fn a_bus_that_is_not_there_is_a_missing_capability(bench: &Bench) {
    let (bus, address) = wires(bench).nowhere();
    let mut all = refusals(bench, (bus, address)).await;
    all.push(bench.call("i2c.scan_bus", json!({"bus": bus})).await.refused());
    for refusal in all {
        assert_eq!(refusal["error_code"], "capability_missing", "{refusal}");
        assert!(refusal["hint"].as_str().unwrap().contains("dtparam=i2c_arm=on"), "{refusal}");
    }
}

async fn a_device_that_is_not_allowed_is_not_touched(bench: &Bench) {
    let (bus, address) = wires(bench).forbidden();
    for refusal in refusals(bench, (bus, address)).await {
        assert_eq!(refusal["error_code"], "permission_denied", "{refusal}");
        let needed = refusal["details"]["required_permission"].as_str().unwrap();
        assert!(needed.starts_with("i2c:") && needed.ends_with(&format!(":{bus}:{address:#04x}")), "{refusal}");
    }
}

async fn what_a_driver_has_is_left_to_it_by_name(bench: &Bench) {
    let (bus, address, driver) = wires(bench).held().expect("a device that a driver has");
    for refusal in refusals(bench, (bus, address)).await {
        assert_eq!(refusal["error_code"], "failed_precondition", "{refusal}");
        assert_eq!((&refusal["details"]["driver"], &refusal["details"]["address"]), (&json!(driver), &json!(address)));
    }
}

async fn what_a_device_is_not_is_not_confirmed(bench: &Bench) {
    for slave in wires(bench).slaves() {
        let answer = ok(bench, "i2c.identify", slave, json!({"force": true})).await;
        let candidates = answer["candidates"].as_array().unwrap();
        assert!(!candidates.is_empty(), "{answer}");
        for candidate in candidates {
            let identity = candidate["identity"].as_str().unwrap();
            assert!(["refuted", "no_register"].contains(&identity), "{slave:?}: {candidate}");
        }
    }
}

async fn what_a_driver_has_is_identified_without_a_question(bench: &Bench) {
    let (bus, address, driver) = wires(bench).held().expect("a device that a driver has");
    let answer = bench.call("i2c.identify", json!({"bus": bus, "address": address, "force": true})).await.ok();
    assert_eq!(answer["in_use"]["driver"], driver, "{answer}");
    for candidate in answer["candidates"].as_array().unwrap() {
        assert!(["not_asked", "no_register"].contains(&candidate["identity"].as_str().unwrap()), "{candidate}");
    }
}

async fn many_transfers_leak_no_descriptor(bench: &Bench) {
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let slave = &wires(bench).slaves()[0];
    let nobody = wires(bench).nobody();
    ok(bench, "i2c.read", slave, json!({"register": 2, "length": 2})).await;
    let before = open();
    for _ in 0..50 {
        ok(bench, "i2c.read", slave, json!({"register": 2, "length": 2})).await;
        refusals(bench, nobody).await;
    }
    // Other tests of this process open and close files as well.
    assert!(open() < before + 50, "{before} before, {} now", open());
}
