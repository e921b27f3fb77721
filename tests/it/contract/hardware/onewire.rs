//! What holds of a 1-Wire thermometer on every board.

use super::{Bench, assertions, hand::Probe};
use serde_json::{Value, json};

assertions! {
    onewire: |hand| hand.probe.is_some() =>
        a_thermometer_is_listed_by_its_address,
        it_measures_above_and_below_zero,
        an_address_that_is_not_there_is_not_found;
    |hand| hand.probe.as_ref().is_some_and(|probe| probe.can_fail()) =>
        bits_that_do_not_arrive_whole_are_no_temperature,
        one_that_no_longer_answers_gives_no_temperature;
}

fn probe(bench: &Bench) -> &dyn Probe {
    bench.hand.probe.as_deref().expect("a board with 1-Wire")
}

async fn read(bench: &Bench) -> Value {
    bench.call("onewire.read", json!({"address": probe(bench).address()})).await.ok()
}

async fn a_thermometer_is_listed_by_its_address(bench: &Bench) {
    let listed = bench.call("onewire.list_devices", json!({})).await.ok();
    let devices = listed["devices"].as_array().unwrap();
    let address = probe(bench).address();
    let device = devices.iter().find(|device| device["address"] == address);
    let device = device.unwrap_or_else(|| panic!("no {address} in {listed}"));
    assert_eq!((&device["kind"], &device["readable"]), (&json!("thermometer"), &json!(true)));
    assert!(!listed["buses"].as_array().unwrap().is_empty(), "{listed}");
}

async fn it_measures_above_and_below_zero(bench: &Bench) {
    // Sixteenths of a degree, as the part has them; a real one shows the room.
    for sixteenths in [344_i16, 2000, -8, -880] {
        let celsius = f64::from(sixteenths) / 16.0;
        let set = probe(bench).set(sixteenths);
        let read = read(bench).await;
        assert_eq!(read["crc_ok"], true, "{read}");
        let told = read["celsius"].as_f64().unwrap();
        assert!(!set || (told - celsius).abs() < 0.001, "{celsius} was set: {read}");
        assert!((-55.0..=125.0).contains(&told), "{read}");
    }
}

async fn an_address_that_is_not_there_is_not_found(bench: &Bench) {
    let refusal = bench.call("onewire.read", json!({"address": "28-ffffffffffff"})).await.refused();
    assert_eq!(refusal["error_code"], "not_found", "{refusal}");
}

async fn bits_that_do_not_arrive_whole_are_no_temperature(bench: &Bench) {
    let disturbed = probe(bench).disturb();
    let answer = bench.call("onewire.read", json!({"address": probe(bench).address()})).await.result();
    match answer {
        Ok(read) => assert!(read["celsius"].is_null() && read["crc_ok"] == false, "{read}"),
        // The kernel gives up after some tries.
        Err(refusal) => assert_eq!(refusal["error_code"], "unavailable", "{refusal}"),
    }
    drop(disturbed);
    assert_eq!(read(bench).await["crc_ok"], true);
}

async fn one_that_no_longer_answers_gives_no_temperature(bench: &Bench) {
    let away = probe(bench).take();
    let answer = bench.call("onewire.read", json!({"address": probe(bench).address()})).await.result();
    match answer {
        Ok(read) => assert!(read["celsius"].is_null() && read["crc_ok"] == false, "{read}"),
        Err(refusal) => {
            let code = refusal["error_code"].as_str().unwrap();
            assert!(["unavailable", "not_found"].contains(&code), "{refusal}");
        }
    }
    drop(away);
}
