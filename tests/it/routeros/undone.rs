//! Writes that are done, seen and undone: on the simulated router always, and on a real one if it is named.
//!
//! `ROUTEROS_URL=https://raspi:password@192.168.88.1 ROUTEROS_PIN=sha256:... ROUTEROS_WRITE=1 cargo test --test it routeros::undone`
//! The router has to be one that may fail: its name, a comment, a list, an address and a rule change for some seconds.

use super::{Bench, Service, lab, reads::of_the_environment};
use raspi_mcp::routeros::plans;
use routeros_simulator::Profile;
use serde_json::{Value, json};

/// A network of documentation (RFC 5737), which no router has.
const NOWHERE: &str = "198.51.100.0/24";
const LIST: &str = "mcp-raspi-mcp-test";

struct Desk(Service);

impl Desk {
    async fn call(&self, tool: &str, mut args: Value) -> Value {
        if args.get("plan_id").is_none() && args.get("device_ids").is_none() {
            args["device_id"] = json!("attic");
        }
        self.0.call(tool, args).await.unwrap_or_else(|error| panic!("{tool}: {error:?}"))
    }

    /// The configuration without what comes and goes by itself.
    async fn export(&self) -> Vec<String> {
        let export = self.call("get_config_snapshot", json!({})).await;
        let text = export["config_text"].as_str().unwrap();
        let mut lines: Vec<String> = text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
        lines.sort();
        lines
    }

    async fn entries(&self) -> Value {
        self.call("list_firewall_address_lists", json!({ "list_name": LIST })).await["total_count"].clone()
    }
}

async fn writes_are_undone(service: Service) {
    let desk = Desk(service);
    let before = desk.export().await;

    let named = desk.call("set_system_identity", json!({ "identity": "raspi-mcp-test" })).await;
    assert_eq!(named["changed"], true);
    assert!(desk.export().await.iter().any(|line| line.contains("name=raspi-mcp-test")));
    desk.call("set_system_identity", json!({ "identity": named["old_identity"] })).await;

    let interfaces = desk.call("list_interfaces", json!({})).await;
    let interface = interfaces["interfaces"][0]["name"].clone();
    let comment = |text: &Value| json!({ "interface_id": interface, "comment": text });
    let said = desk.call("update_interface_comment", comment(&json!("raspi-mcp \"test\" $x; ["))).await;
    desk.call("update_interface_comment", comment(&said["old_comment"])).await;

    let entry = |action: &str| json!({ "action": action, "list_name": LIST, "address": "198.51.100.7" });
    desk.call("update_firewall_address_list", entry("add")).await;
    assert_eq!(desk.entries().await, 1);
    desk.call("update_firewall_address_list", entry("remove")).await;
    assert_eq!(desk.entries().await, 0);

    let addresses = desk.call("list_ip_addresses", json!({})).await;
    let interface = addresses["addresses"][0]["interface"].clone();
    desk.call("add_secondary_ip_address", json!({ "address": "198.51.100.1/32", "interface": interface })).await;
    desk.call("remove_secondary_ip_address", json!({ "address_id": "198.51.100.1/32" })).await;
    assert_eq!(desk.export().await, before, "single writes");

    let version = plans::test(&desk.0.service, "attic").await.expect("the router takes an entry back by itself");
    println!("RouterOS {version} takes changes back by itself");
    let rule = json!({ "device_ids": ["attic"], "chain": "forward", "action": "drop", "src_address": NOWHERE, "place": "last" });
    let plan = desk.call("plan_add_firewall_rule", rule).await;
    let mut apply = json!({ "plan_id": plan["plan_id"], "batch_pause_seconds": 0 });
    assert_eq!(desk.call("apply_firewall_plan", apply.clone()).await["successful"], 1);
    assert!(desk.export().await.iter().any(|line| line.contains(NOWHERE)));
    apply["reason"] = json!("test");
    assert_eq!(desk.call("config_rollback_plan", apply).await["successful"], 1);
    assert_eq!(desk.export().await, before, "a plan and its rollback");
}

#[tokio::test]
async fn on_the_simulated_router() {
    let mut bench = Bench::new(Profile::V7_21).await;
    bench.listener.follow_the_clock();
    writes_are_undone(bench.service()).await;
}

#[tokio::test]
async fn on_a_router_if_one_is_named() {
    match of_the_environment() {
        Some(device) if std::env::var("ROUTEROS_WRITE").is_ok_and(|value| value == "1") => {
            writes_are_undone(Service::new([(device, lab())])).await;
        }
        _ => println!("ROUTEROS_URL or ROUTEROS_WRITE=1 is not set: no router is written to"),
    }
}
