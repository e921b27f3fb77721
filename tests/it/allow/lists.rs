//! Grants beside pins and folders: buses that are scanned, cameras, commands that no grant can say.

use super::{close, gates, grant, open};
use crate::support::served::{Door, Pi, soon};
use base::error::ErrorCode;
use contract::{
    access::caller::{Caller, Transport},
    config::Grant,
    meta::Role,
};
use serde_json::json;

const NONE: &str = "[[i2c.buses]]\nbus = 9\naddresses = [\"0x48\"]\n[camera]\nallow = [\"nothing\"]\n";

#[tokio::test]
async fn a_bus_is_scanned_by_grant_and_listed_as_it_is() {
    let (pi, sources) = Pi::of_site(&[("10-site.toml", NONE)]).await;
    let (mut api, one) = (pi.on(Door::Api).await, json!({ "bus": 1 }));
    let answer = api.call("i2c.scan_bus", one.clone()).await;
    let refusal = answer.failed("permission_denied");
    assert!(gates(refusal).contains(&("list".to_owned(), true)), "{refusal:#}");
    assert!(refusal["hint"].as_str().unwrap().contains("`raspi-mcp allow i2c.scan_bus 1`"), "{refusal:#}");
    let devices = |tool: &str, devices: &str| Grant { devices: vec![devices.into()], ..grant(tool, &["loopback"]) };
    open(devices("i2c.scan_bus", "1:0x08-0x3f"), &sources).unwrap();
    let answer = api.call("i2c.scan_bus", one.clone()).await;
    let skipped = answer.ok()["skipped"].to_string();
    assert!(skipped.contains("not_allowed") && skipped.contains("0x40-0x67"), "{skipped}");
    // It reads nothing, and another caller scans nothing.
    api.call("i2c.read", json!({ "bus": 1, "address": 8, "length": 1 })).await.failed("permission_denied");
    let mut other = pi.stdio(Caller::new("token:desk", Role::Admin, Transport::Http));
    other.call("i2c.scan_bus", one.clone()).await.failed("permission_denied");

    open(devices("i2c.read", "1:0x48"), &sources).unwrap();
    let bus = |answer: &serde_json::Value| {
        answer["buses"].as_array().unwrap().iter().find(|bus| bus["bus"] == 1).cloned().unwrap()
    };
    let mine = bus(api.call("i2c.list_buses", json!({})).await.ok());
    assert_eq!((&mine["allowed"], &mine["readable"], &mine["writable"]), (&json!(true), &json!(["0x48"]), &json!([])));
    let theirs = bus(other.call("i2c.list_buses", json!({})).await.ok());
    assert_eq!((&theirs["allowed"], &theirs["readable"]), (&json!(false), &json!([])));
    close(grant("i2c.scan_bus", &[]), &sources).unwrap();
    api.call("i2c.scan_bus", one).await.failed("permission_denied");
    pi.stop().await.unwrap();
}

#[tokio::test]
async fn news_of_a_granted_pin_are_for_whom_it_was_granted() {
    let (pi, sources) = Pi::of_site(&[("10-site.toml", "[gpio]\nallow = [4]\n")]).await;
    let pin = |tool: &str, caller: &str| Grant { pins: [17].into(), ..grant(tool, &[caller]) };
    open(pin("gpio.write_pin", "loopback"), &sources).unwrap();
    let (mut wires, uri) = (Vec::new(), json!({ "uri": "raspi://gpio/17" }));
    for name in ["token:one", "token:other"] {
        let mut wire = pi.stdio(Caller::new(name, Role::ReadOnly, Transport::Http));
        wire.initialize("2025-11-25", "a client").await.result();
        wire.request("resources/subscribe", uri.clone()).await.result();
        wires.push(wire);
    }
    // Also for a subscription that was there before.
    open(pin("gpio.read_pin", "token:one"), &sources).unwrap();
    wires[0].request("resources/read", uri.clone()).await.result();
    wires[1].request("resources/read", uri).await.fault(-32001);
    let mut api = pi.on(Door::Api).await;
    let heard = async {
        for level in ["high", "low"].into_iter().cycle() {
            api.call("gpio.write_pin", json!({ "pin": 17, "value": level })).await.ok();
            wires[0].request("ping", json!({})).await.result();
            let updates =
                wires[0].seen.iter().filter(|news| news.message["method"] == "notifications/resources/updated");
            if updates.count() > 0 {
                return;
            }
        }
    };
    soon(heard).await;
    wires[1].request("ping", json!({})).await.result();
    let updates = wires[1].seen.iter().filter(|news| news.message["method"] == "notifications/resources/updated");
    assert_eq!(updates.count(), 0, "{:#?}", wires[1].seen);
    pi.stop().await.unwrap();
}

#[tokio::test]
async fn a_camera_is_a_gate_with_one_command() {
    let (pi, sources) = Pi::of_site(&[("10-site.toml", NONE)]).await;
    let mut api = pi.on(Door::Api).await;
    let cameras = api.call("camera.list_cameras", json!({})).await;
    let camera = cameras.ok()["cameras"][0]["camera"].as_str().unwrap().to_owned();
    assert_eq!(cameras.ok()["cameras"][0]["allowed"], false);
    open(grant("camera.take_photo", &["loopback"]), &sources).unwrap();
    let answer = api.call("camera.take_photo", json!({ "camera": camera })).await;
    let refusal = answer.failed("permission_denied");
    assert!(gates(refusal).contains(&("list".to_owned(), true)), "{refusal:#}");
    let hint = refusal["hint"].as_str().unwrap();
    assert!(hint.contains(&format!("`raspi-mcp allow camera.take_photo {camera} --for loopback`")), "{hint}");
    open(Grant { cameras: vec![camera.clone()], ..grant("camera.take_photo", &["loopback"]) }, &sources).unwrap();
    api.call("camera.take_photo", json!({ "camera": camera })).await.ok();
    assert_eq!(api.call("camera.list_cameras", json!({})).await.ok()["cameras"][0]["allowed"], true);
    pi.stop().await.unwrap();
}

#[tokio::test]
async fn a_command_is_no_grant_and_the_error_has_the_lines_to_write() {
    let (pi, sources) = Pi::of_site(&[]).await;
    let refused = open(grant("exec.run", &[]), &sources).unwrap_err();
    assert_eq!(refused.code, ErrorCode::FailedPrecondition);
    let lines = refused.hint.as_deref().unwrap();
    let entry = &lines[lines.find("[[exec.commands]]").unwrap()..];
    let mut api = pi.on(Door::Api).await;
    let answer = api.call("exec.run", json!({ "command": "uptime" })).await;
    let refusal = answer.failed("permission_denied");
    assert!(refusal["hint"].as_str().unwrap().contains("[[exec.commands]], which takes a restart"), "{refusal:#}");
    // The lines do what is said of them.
    std::fs::create_dir_all(&sources.places.site_dir).unwrap();
    std::fs::write(sources.places.site_dir.join("10-site.toml"), entry).unwrap();
    open(grant("exec.run", &[]), &sources).unwrap();
    pi.stop().await.unwrap();
}
