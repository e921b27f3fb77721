//! A grant is as wide as it says: the lists of the configuration are for callers that have the tool without it.

use super::{close, gates, grant, high, open};
use crate::support::served::{Door, Pi};
use agent::{
    AgentPolicy,
    operations::service::{ControlRequest, ControlUnit},
};
use contract::{
    access::caller::{Caller, Transport},
    config::Grant,
    meta::Role,
};
use serde_json::json;

const LISTED: &str = "[gpio]\nallow = [17, 22]\n[service]\nallow = [\"web.service\", \"worker.service\"]\n\
     [[serial.ports]]\nname = \"ttyUSB0\"\nwritable = true\n[[serial.ports]]\nname = \"ttyAMA0\"\nwritable = true\n\
     [[spi.devices]]\nbus = 0\nchip_select = 0\n[[spi.devices]]\nbus = 0\nchip_select = 1\n\
     [[i2c.buses]]\nbus = 1\naddresses = [\"0x48\", \"0x50\"]\nwritable = true\n[camera]\nallow = [\"*\"]\n";

/// The caller, a call that the grant names and its neighbour, which the configuration lists.
fn calls() -> Vec<(Grant, serde_json::Value, serde_json::Value)> {
    let of = |tool: &str| grant(tool, &["loopback"]);
    let devices = |tool: &str, device: &str| Grant { devices: vec![device.into()], ..of(tool) };
    let transfer = |select: u8| json!({ "bus": 0, "chip_select": select, "data": [0] });
    let write = |address: u8| json!({ "bus": 1, "address": address, "data": [0] });
    let service = |name: &str| json!({ "service_name": name });
    vec![
        (Grant { pins: [17].into(), ..of("gpio.write_pin") }, high(17), high(22)),
        (
            Grant { pins: [17].into(), ..of("gpio.configure_pin") },
            json!({ "pin": 17, "mode": "input" }),
            json!({ "pin": 22, "mode": "input" }),
        ),
        (Grant { units: vec!["web.service".into()], ..of("service.restart") }, service("web"), service("worker")),
        (devices("spi.transfer", "spidev0.0"), transfer(0), transfer(1)),
        (devices("serial.open", "ttyUSB0"), json!({ "port": "ttyUSB0" }), json!({ "port": "ttyAMA0" })),
        (devices("i2c.write", "1:0x48"), write(0x48), write(0x50)),
    ]
}

#[tokio::test]
async fn a_grant_opens_what_it_names_and_not_what_the_configuration_lists() {
    let (pi, sources) = Pi::of_site(&[("10-site.toml", LISTED)]).await;
    let mut api = pi.on(Door::Api).await;
    let mut admin = pi.stdio(Caller::new("token:desk", Role::Admin, Transport::Http));
    for (grant, named, listed) in calls() {
        let tool = grant.tool.clone();
        api.call(&tool, named.clone()).await.failed("permission_denied");
        open(grant.clone(), &sources).unwrap();
        let answer = api.call(&tool, named.clone()).await;
        assert!(!answer.is_refusal("permission_denied"), "{tool} {named}: {answer:#?}");
        let answer = api.call(&tool, listed.clone()).await;
        let refusal = answer.failed("permission_denied");
        let told = gates(refusal);
        assert!(told.contains(&("list".to_owned(), true)) && told.contains(&("role".to_owned(), false)), "{refusal:#}");
        assert!(refusal["hint"].as_str().unwrap().contains(&format!("raspi-mcp allow {tool}")), "{refusal:#}");
        // A grant for whoever has the role is no grant for this caller, which has it not.
        open(Grant { callers: Vec::new(), ..grant.clone() }, &sources).unwrap();
        api.call(&tool, listed.clone()).await.failed("permission_denied");
        // Who has the role, and not the namespace, reaches no more than the grant says either.
        let answer = admin.call(&tool, listed.clone()).await;
        assert!(answer.is_refusal("permission_denied"), "{tool} {listed}: {answer:#?}");
        close(super::grant(&tool, &[]), &sources).unwrap();
        // A grant that names nothing is for what the configuration lists.
        open(super::grant(&tool, &["loopback"]), &sources).unwrap();
        open(grant, &sources).unwrap();
        let answer = api.call(&tool, listed.clone()).await;
        assert!(!answer.is_refusal("permission_denied"), "{tool} {listed}: {answer:#?}");
        close(super::grant(&tool, &[]), &sources).unwrap();
    }
    pi.stop().await.unwrap();
}

#[tokio::test]
async fn who_has_the_tool_without_a_grant_keeps_the_list() {
    let site = format!("[tools]\nenable = [\"gpio\"]\n{LISTED}");
    let (pi, sources) = Pi::of_site(&[("10-site.toml", &site)]).await;
    let mut admin = pi.stdio(Caller::new("token:desk", Role::Admin, Transport::Http));
    open(Grant { pins: [4].into(), ..grant("gpio.write_pin", &[]) }, &sources).unwrap();
    for pin in [4, 17, 22] {
        admin.call("gpio.write_pin", high(pin)).await.ok();
    }
    admin.call("gpio.write_pin", high(5)).await.failed("permission_denied");
    // The role is what the grant gives: one pin.
    open(Grant { pins: [17].into(), ..grant("gpio.write_pin", &["loopback"]) }, &sources).unwrap();
    let mut api = pi.on(Door::Api).await;
    // Somebody else has it at the moment.
    api.call("gpio.write_pin", high(17)).await.failed("conflict");
    api.call("gpio.write_pin", high(4)).await.failed("permission_denied");
    api.call("gpio.write_pin", high(22)).await.failed("permission_denied");
    pi.stop().await.unwrap();
}

#[tokio::test]
async fn folders_and_cameras_of_the_configuration_are_not_in_a_grant() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().canonicalize().unwrap();
    for name in ["root", "granted"] {
        std::fs::create_dir(path.join(name)).unwrap();
    }
    let root = path.join("root");
    let site = format!("[[files.roots]]\nname = \"root\"\npath = {root:?}\nwritable = true\n");
    let (pi, sources) = Pi::of_site(&[("10-site.toml", &site)]).await;
    let mut api = pi.on(Door::Api).await;
    let granted = path.join("granted").to_str().unwrap().to_owned();
    open(Grant { paths: vec![granted.clone()], ..grant("files.write", &["loopback"]) }, &sources).unwrap();
    let write = |path: String| json!({ "path": path, "content": "x" });
    api.call("files.write", write(format!("{granted}/a"))).await.ok();
    api.call("files.write", write(format!("{}/a", root.display()))).await.failed("permission_denied");
    api.call("files.write", write("b".into())).await.ok();
    assert!(!root.join("b").exists(), "without a root's name the granted folder is the only one there is");

    let cameras = api.call("camera.list_cameras", json!({})).await.ok()["cameras"].as_array().unwrap().clone();
    let camera = cameras[0]["camera"].as_str().unwrap();
    open(Grant { cameras: vec!["another".into()], ..grant("camera.take_photo", &["loopback"]) }, &sources).unwrap();
    api.call("camera.take_photo", json!({ "camera": camera })).await.failed("permission_denied");
    api.call("camera.take_photo", json!({})).await.failed("permission_denied");
    pi.stop().await.unwrap();
}

#[test]
fn the_half_with_root_judges_the_same() {
    let web = Grant { units: vec!["web.service".into()], ..grant("service.restart", &["loopback"]) };
    let policy = |namespaces: &[&str], grants: Vec<Grant>| AgentPolicy {
        namespaces: namespaces.iter().map(|name| (*name).to_owned()).collect(),
        services: vec!["worker.service".into()],
        grants,
        ..AgentPolicy::default()
    };
    let reach = |policy: AgentPolicy, principal: &str| policy.services("service.restart", principal);
    assert_eq!(reach(policy(&[], vec![web.clone()]), "loopback"), ["web.service"]);
    assert_eq!(reach(policy(&[], vec![web.clone()]), "token:other"), [""; 0]);
    assert_eq!(reach(policy(&["service"], vec![web.clone()]), "loopback"), ["worker.service", "web.service"]);
    let unnamed = grant("service.restart", &["loopback"]);
    assert_eq!(reach(policy(&[], vec![web, unnamed]), "loopback"), ["worker.service", "web.service"]);
}

#[tokio::test]
async fn an_operation_beyond_the_grant_is_refused_by_the_agent_itself() {
    let (pi, sources) = Pi::of_site(&[("10-site.toml", LISTED)]).await;
    open(Grant { units: vec!["web.service".into()], ..grant("service.restart", &["loopback"]) }, &sources).unwrap();
    let agent = &pi.server().pipeline.services.agent;
    let request = |service: &str| -> ControlRequest {
        serde_json::from_value(json!({
            "short": true, "service_name": service, "action": "restart", "mode": "replace", "wait": true,
            "break_dependents": false, "dry_run": false,
            "warrant": { "principal": "loopback", "args_sha256": "0".repeat(64) },
        }))
        .unwrap()
    };
    agent.call::<ControlUnit>(request("web")).await.unwrap();
    let refused = agent.call::<ControlUnit>(request("worker")).await.unwrap_err();
    assert_eq!(refused.details["required_permission"], "service:restart:worker.service", "{refused:?}");
    pi.stop().await.unwrap();
}
