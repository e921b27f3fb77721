//! `i2c.identify`: candidates by the table, and what is asked of a device to confirm one.

use super::Scene;
use contract::config::Settings;
use hw::i2c::simulated::I2cTrouble;
use serde_json::{Value, json};

fn candidate<'a>(answer: &'a Value, chip: &str) -> &'a Value {
    let all = answer["candidates"].as_array().unwrap();
    all.iter().find(|candidate| candidate["chip"] == chip).unwrap_or_else(|| panic!("no {chip} in {answer:#}"))
}

fn only(addresses: &'static [&'static str]) -> impl FnOnce(&mut Settings) {
    move |settings| {
        settings.i2c.buses = serde_json::from_value(json!([{"bus": 1, "addresses": addresses}])).unwrap();
    }
}

#[tokio::test]
async fn a_device_with_an_identity_is_confirmed_with_the_line_that_gives_it_a_driver() {
    let mut scene = Scene::new().await;
    let answer = scene.wire.call("i2c.identify", json!({"bus": 1, "address": 0x76})).await;
    assert_eq!(answer.meta()["simulated"], true);
    let answer = answer.ok();
    assert_eq!(
        answer["candidates"][0],
        json!({
            "chip": "BME280", "what": "humidity, pressure and temperature", "identity": "confirmed", "driver": "bmp280",
            "overlay": "dtoverlay=i2c-sensor,bme280,addr=0x76", "source": "linux: bmp280",
        })
    );
    assert_eq!(candidate(answer, "BMP280")["identity"], "refuted");
    assert_eq!(candidate(answer, "BMP388")["identity"], "refuted");
    assert_eq!(candidate(answer, "MS5611")["identity"], "no_register");
    assert!(answer.get("note").is_none() && answer.get("in_use").is_none(), "{answer}");
    scene.buses.set_register(1, 0x76, 0xd0, [0x58, 0]);
    let answer = scene.ok("i2c.identify", json!({"bus": 1, "address": 0x76})).await;
    assert_eq!(answer["candidates"][0]["chip"], "BMP280", "{answer}");
    scene.buses.set_register(1, 0x76, 0xd0, [0x99, 0]);
    let answer = scene.ok("i2c.identify", json!({"bus": 1, "address": 0x76})).await;
    assert!(answer["note"].as_str().unwrap().contains("no identity register fits"), "{answer}");
}

#[tokio::test]
async fn a_device_of_a_driver_is_told_without_traffic() {
    let mut scene = Scene::new().await;
    let answer = scene.ok("i2c.identify", json!({"bus": 1, "address": 0x68, "force": true})).await;
    assert_eq!(answer["in_use"], json!({"address": 0x68, "driver": "rtc-ds1307", "device": "ds3231"}));
    assert_eq!(candidate(&answer, "DS3231")["overlay"], "dtoverlay=i2c-rtc,ds3231");
    assert_eq!(candidate(&answer, "MPU6050")["identity"], "not_asked");
    assert!(scene.buses.touched(1).is_empty(), "nothing moved on the bus");
}

#[tokio::test]
async fn nothing_is_sent_where_it_could_be_a_command_unless_the_caller_insists() {
    let mut scene = Scene::new().await;
    let args = json!({"bus": 1, "address": 0x48});
    let answer = scene.ok("i2c.identify", args).await;
    assert!(answer["note"].as_str().unwrap().contains("PCF8591"), "{answer}");
    assert_eq!(candidate(&answer, "TMP117")["identity"], "not_asked");
    assert!(scene.buses.touched(1).is_empty());
    let answer = scene.ok("i2c.identify", json!({"bus": 1, "address": 0x48, "force": true})).await;
    assert_eq!(candidate(&answer, "TMP117")["identity"], "refuted", "{answer}");
    assert!(!scene.buses.touched(1).is_empty());
}

#[tokio::test]
async fn nothing_is_asked_of_a_device_that_i2c_read_may_not_read() {
    let mut scene = Scene::with(only(&["0x48"])).await;
    let answer = scene.ok("i2c.identify", json!({"bus": 1, "address": 0x76, "force": true})).await;
    assert_eq!(candidate(&answer, "BME280")["identity"], "not_asked");
    assert!(answer["note"].as_str().unwrap().contains("[[i2c.buses]]"), "{answer}");
    assert!(scene.buses.touched(1).is_empty());
    // An address without registers needs no leave either, and is not asked.
    let answer = scene.ok("i2c.identify", json!({"bus": 1, "address": 0x62})).await;
    assert_eq!(candidate(&answer, "SCD41")["identity"], "no_register");
    let answer = scene.ok("i2c.identify", json!({"bus": 1, "address": 0x08})).await;
    assert_eq!(answer["candidates"], json!([]));
}

#[tokio::test]
async fn nobody_and_a_bus_that_fails_are_what_i2c_read_says() {
    let mut scene = Scene::new().await;
    let nobody = scene.failed("i2c.identify", json!({"bus": 1, "address": 0x77}), "not_found").await;
    assert_eq!(nobody["details"]["fault"], "nack");
    scene.failed("i2c.identify", json!({"bus": 7, "address": 0x77}), "capability_missing").await;
    scene.buses.fail(1, I2cTrouble::Timeout);
    scene.failed("i2c.identify", json!({"bus": 1, "address": 0x76}), "timeout").await;
}
