//! `system.list_devices`

use crate::support::{
    pi::Pi,
    trees::{Copied, machine, machine_as},
};
use contract::{access::caller::Transport, meta::Role};
use hw::board::Choice;
use serde_json::json;

const TOOL: &str = "system.list_devices";

#[tokio::test]
async fn what_a_device_says_is_harmless_and_its_serial_number_for_admins() {
    let tree = Copied::of("pi-4b");
    let at = "sys/bus/usb/devices/1-1.3";
    for (file, text) in [
        ("idVendor", "1209".to_owned()),
        ("idProduct", "0001".to_owned()),
        ("product", format!("\u{1b}[2Jevil\nnext {}", "x".repeat(200))),
        ("serial", "SECRET1".to_owned()),
    ] {
        tree.write(&format!("{at}/{file}"), text);
    }
    let pi = Pi::on(machine(tree.root()));
    let of = |role| pi.caller("somebody", role, Transport::Http);
    let answer = of(Role::ReadOnly).call(TOOL, json!({"bus": "usb"})).await;
    assert!(!answer.simulated);
    let list = answer.ok();
    let device = &list["devices"][0];
    let product = device["product"].as_str().unwrap();
    assert!(product.starts_with("\\u{1b}[2Jevil\\u{a}next xxx") && product.len() < 160, "{product}");
    assert!(!list.to_string().contains("SECRET1"), "{list}");
    let list = of(Role::Admin).call(TOOL, json!({})).await.ok();
    assert_eq!(list["devices"][0]["serial_number"], "SECRET1");
    let none = of(Role::Admin).call(TOOL, json!({"bus": "pci"})).await.ok();
    assert!(none["note"].as_str().unwrap().starts_with("no such device"), "{none}");
}

#[tokio::test]
async fn a_simulated_board_has_some() {
    let pi = Pi::on(machine_as(Choice::Simulated, Copied::empty().root()));
    let answer = pi.call(TOOL, json!({})).await;
    assert!(answer.simulated);
    let list = answer.ok();
    let buses: Vec<&str> = list["devices"].as_array().unwrap().iter().map(|one| one["bus"].as_str().unwrap()).collect();
    assert_eq!(buses, ["usb", "usb", "bluetooth"]);
    assert_eq!(pi.call(TOOL, json!({"bus": "bluetooth"})).await.ok()["devices"][0]["id"], "hci0");
}
