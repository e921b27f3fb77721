//! What holds of sensors on every board.

use super::{Bench, assertions};
use serde_json::{Value, json};

assertions! {
    sensors: |hand| !hand.sensors.is_empty() =>
        each_is_listed_with_its_unit_and_what_it_hangs_on,
        each_shows_what_is_there,
        one_that_is_not_there_fails_alone,
        many_readings_leak_no_descriptor;
}

fn names(bench: &Bench) -> Vec<&'static str> {
    bench.hand.sensors.iter().map(|(name, ..)| *name).collect()
}

async fn read(bench: &Bench, names: &[&str]) -> Vec<Value> {
    let answer = bench.call("sensors.read", json!({ "names": names })).await.ok();
    answer["readings"].as_array().unwrap().clone()
}

async fn each_is_listed_with_its_unit_and_what_it_hangs_on(bench: &Bench) {
    let listed = bench.call("sensors.list", json!({"limit": 1000})).await.ok();
    for (name, unit, ..) in &bench.hand.sensors {
        let all = listed["sensors"].as_array().unwrap();
        let sensor =
            all.iter().find(|sensor| sensor["name"] == *name).unwrap_or_else(|| panic!("no {name}: {listed:#}"));
        assert_eq!(sensor["unit"], *unit, "{sensor}");
        // A thermal zone alone is nothing on a bus.
        if let Some((chip, place)) = name.split('/').next().and_then(|device| device.split_once('@')) {
            assert_eq!(sensor["chip"], chip, "{sensor}");
            assert!(sensor["driver"].is_string() && sensor["bus"].is_string(), "{sensor}");
            // `1-0048` is at 0x48 of i2c-1.
            let address = place.rsplit_once('-').map_or(place, |(_, address)| address).trim_start_matches('0');
            assert!(sensor["address"].as_str().unwrap().contains(address), "{sensor}");
        }
    }
}

async fn each_shows_what_is_there(bench: &Bench) {
    let readings = read(bench, &names(bench)).await;
    for ((name, unit, least, most), reading) in bench.hand.sensors.iter().zip(&readings) {
        assert_eq!((&reading["name"], &reading["unit"]), (&json!(name), &json!(unit)));
        let value = reading["value"].as_f64().unwrap_or_else(|| panic!("{reading}"));
        assert!((*least..=*most).contains(&value), "{reading}");
    }
}

async fn one_that_is_not_there_fails_alone(bench: &Bench) {
    let mut asked = names(bench);
    asked.insert(0, "lm75@7-0077/temp1");
    let readings = read(bench, &asked).await;
    assert_eq!(readings[0]["error"], "not_found", "{}", readings[0]);
    assert!(readings[1..].iter().all(|reading| reading.get("value").is_some()), "{readings:?}");
}

async fn many_readings_leak_no_descriptor(bench: &Bench) {
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let names = names(bench);
    read(bench, &names).await;
    let before = open();
    for _ in 0..50 {
        read(bench, &names).await;
        bench.call("sensors.list", json!({})).await.ok();
    }
    // Other tests of this process open and close files as well.
    assert!(open() < before + 50, "{before} before, {} now", open());
}
