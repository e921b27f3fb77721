//! Every planning tool on every version: planned, applied, taken back, and applied again for the next one.

use super::{Fleet, export, statuses};
use crate::support::served::soon;
use routeros_simulator::Profile;
use serde_json::{Value, json};

/// Rows that are made again stand at the end.
pub(super) fn sorted(text: &str) -> Vec<String> {
    let mut section = "";
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.starts_with('/') {
            section = line;
        }
        // What is off by default is not written by everybody.
        lines.push(format!("{section} {}", line.replace(" disabled=no", "")));
    }
    lines.sort();
    lines
}

/// Plans, applies, takes back, and applies once more. What the first plan says.
async fn round(fleet: &Fleet, tool: &str, args: Value) -> Value {
    let router = &fleet.routers[0];
    let before = export(router);
    let fail = |what: &str, error: base::error::ToolError| -> Value { panic!("{tool} {what}: {error:?}") };
    let plan = soon(fleet.plan(tool, args.clone())).await.unwrap_or_else(|error| fail("plan", error));
    assert_eq!(export(router), before, "{tool}: a plan changed the router");
    assert!(!plan["devices"][0]["changes"].as_array().unwrap().is_empty(), "{tool}: {plan}");
    let job = soon(fleet.apply(&plan)).await.unwrap_or_else(|error| fail("apply", error));
    assert_eq!(statuses(&job), ["success"], "{tool}: {job}");
    assert_ne!(export(router), before, "{tool}");
    assert!(router.rows("system/scheduler").is_empty(), "{tool}");
    let back = json!({ "plan_id": plan["plan_id"], "reason": "test", "batch_pause_seconds": 0 });
    let job = soon(fleet.call("config_rollback_plan", back)).await.unwrap_or_else(|error| fail("rollback", error));
    assert_eq!(statuses(&job), ["success"], "{tool}: {job}");
    assert_eq!(sorted(&export(router)), sorted(&before), "{tool}: not as before");
    let again = soon(fleet.plan(tool, args)).await.unwrap_or_else(|error| fail("plan again", error));
    let job = soon(fleet.apply(&again)).await.unwrap_or_else(|error| fail("apply again", error));
    assert_eq!(statuses(&job), ["success"], "{tool}: {job}");
    plan
}

#[tokio::test]
async fn routes() {
    for profile in Profile::ALL {
        let fleet = Fleet::new(1, profile).await;
        let add =
            json!({ "dst_address": "10.1.0.0/16", "gateway": "192.168.88.254", "distance": 2, "comment": "site" });
        let plan = round(&fleet, "plan_add_static_route", add.clone()).await;
        let change = &plan["devices"][0]["changes"][0];
        assert_eq!((&change["topic"], &change["action"]), (&json!("routing"), &json!("add")));
        assert_eq!(
            change["description"],
            "Adds a route: comment site, distance 2, dst-address 10.1.0.0/16, gateway 192.168.88.254."
        );
        // It is so: there is nothing to plan.
        assert!(soon(fleet.plan("plan_add_static_route", add)).await.is_err());
        let to = json!({ "route": { "dst_address": "10.1.0.0/16" }, "gateway": "192.168.88.253" });
        let plan = round(&fleet, "plan_modify_static_route", to).await;
        assert_eq!(plan["devices"][0]["changes"][0]["old_value"], json!({ "gateway": "192.168.88.254" }));
        round(
            &fleet,
            "plan_remove_static_route",
            json!({ "route": { "dst_address": "10.1.0.0/16", "comment": "site" } }),
        )
        .await;
    }
}

#[tokio::test]
async fn firewall_rules_stand_where_they_are_put() {
    for profile in Profile::ALL {
        let fleet = Fleet::new(1, profile).await;
        let invalid = json!({ "chain": "forward", "comment": "defconf: drop invalid" });
        let rule = json!({ "chain": "forward", "action": "drop", "protocol": "tcp", "dst_port": "25", "comment": "no mail", "before": invalid });
        round(&fleet, "plan_add_firewall_rule", rule).await;
        let rules = fleet.routers[0].rows("ip/firewall/filter");
        let at = rules.iter().position(|rule| rule.get("comment") == "no mail").unwrap();
        assert_eq!(rules[at + 1].get("comment"), "defconf: drop invalid");
        // A field that was not there is taken away again.
        let to = json!({ "rule": { "comment": "no mail" }, "dst_address": "198.51.100.0/24", "dst_port": "25,587" });
        round(&fleet, "plan_modify_firewall_rule", to).await;
        let before: Vec<String> = rules.iter().map(|rule| rule.get("comment").to_owned()).collect();
        let plan =
            soon(fleet.plan("plan_remove_firewall_rule", json!({ "rule": { "comment": "no mail" } }))).await.unwrap();
        soon(fleet.apply(&plan)).await.unwrap();
        assert_eq!(fleet.routers[0].rows("ip/firewall/filter").len(), before.len() - 1);
        let back = json!({ "plan_id": plan["plan_id"], "reason": "test" });
        soon(fleet.call("config_rollback_plan", back)).await.unwrap();
        let after = fleet.routers[0].rows("ip/firewall/filter");
        let after: Vec<String> = after.iter().map(|rule| rule.get("comment").to_owned()).collect();
        assert_eq!(after, before, "it stands where it stood");
        round(&fleet, "plan_remove_firewall_rule", json!({ "rule": { "comment": "no mail" } })).await;
        let first = json!({ "chain": "input", "action": "accept", "src_address": "192.168.88.10", "place": "first" });
        round(&fleet, "plan_add_firewall_rule", first).await;
        assert_eq!(fleet.routers[0].rows("ip/firewall/filter")[0].get("src-address"), "192.168.88.10");
    }
}

#[tokio::test]
async fn a_rule_is_there_only_with_every_field_and_at_its_place() {
    let fleet = Fleet::new(1, Profile::V7_21).await;
    let before = fleet.routers[0].rows("ip/firewall/filter").len();
    // MikroTik's own rule drops what is invalid, and nothing else.
    let all = json!({ "chain": "forward", "action": "drop", "place": "last" });
    let plan = soon(fleet.plan("plan_add_firewall_rule", all.clone())).await.unwrap();
    soon(fleet.apply(&plan)).await.unwrap();
    assert_eq!(fleet.routers[0].rows("ip/firewall/filter").len(), before + 1);
    let error = soon(fleet.plan("plan_add_firewall_rule", all)).await.unwrap_err();
    assert!(error.message.contains("as wanted already"), "{error:?}");
    let first = json!({ "chain": "forward", "action": "drop", "place": "first" });
    let error = soon(fleet.plan("plan_add_firewall_rule", first)).await.unwrap_err();
    assert!(
        error.message.contains("already") && error.hint.as_ref().is_some_and(|hint| hint.contains("another place")),
        "{}",
        error.message
    );
    // Two rules that would be the same.
    let only_comment =
        json!({ "rule": { "comment": "defconf: drop invalid", "chain": "forward" }, "comment": "other" });
    assert!(
        soon(fleet.plan("plan_modify_firewall_rule", only_comment)).await.is_ok(),
        "a row with another comment is no duplicate"
    );
    for port in ["25", "26"] {
        let rule = json!({ "chain": "forward", "action": "drop", "protocol": "tcp", "dst_port": port, "comment": port, "place": "first" });
        let plan = soon(fleet.plan("plan_add_firewall_rule", rule)).await.unwrap();
        soon(fleet.apply(&plan)).await.unwrap();
    }
    let error = soon(fleet.plan("plan_modify_firewall_rule", json!({ "rule": { "comment": "25" }, "dst_port": "26" })))
        .await
        .unwrap_err();
    assert!(error.message.contains("another row"), "{error:?}");
}

#[tokio::test]
async fn bridges_and_dhcp() {
    for profile in Profile::ALL {
        let fleet = Fleet::new(1, profile).await;
        round(&fleet, "plan_modify_bridge_ports", json!({ "bridge_name": "bridge", "remove": ["ether5"] })).await;
        round(
            &fleet,
            "plan_create_bridge",
            json!({ "bridge_name": "lab", "interfaces": ["ether5"], "comment": "lab" }),
        )
        .await;
        let address = json!({ "device_id": "r01", "address": "192.168.50.1/24", "interface": "lab" });
        soon(fleet.call("add_secondary_ip_address", address)).await.unwrap();
        let pool = json!({ "pool_name": "lab", "address_range": "192.168.50.10-192.168.50.99", "interface": "lab", "dns_servers": ["192.168.50.1"] });
        let plan = round(&fleet, "plan_create_dhcp_pool", pool).await;
        assert_eq!(plan["devices"][0]["changes"].as_array().unwrap().len(), 3, "pool, network, server");
        let server = &fleet.routers[0].rows("ip/dhcp-server")[1];
        assert_eq!((server.get("address-pool"), server.get("interface"), server.is_enabled()), ("lab", "lab", true));
        let to = json!({ "address_range": "192.168.50.10-192.168.50.199", "gateway": "192.168.50.2" });
        round(&fleet, "plan_modify_dhcp_pool", json!({ "pool_name": "lab", "modifications": to })).await;
        let error = soon(fleet.plan("plan_remove_dhcp_pool", json!({ "pool_name": "lab" }))).await.unwrap_err();
        assert!(error.message.contains("the DHCP server lab uses the pool lab"), "{error:?}");
        round(&fleet, "plan_remove_dhcp_pool", json!({ "pool_name": "lab", "with_server": true })).await;
        assert_eq!((fleet.routers[0].rows("ip/pool").len(), fleet.routers[0].rows("ip/dhcp-server").len()), (1, 1));
    }
}

#[tokio::test]
async fn wireless_networks_of_the_old_and_the_new_package() {
    for profile in Profile::ALL {
        let fleet = Fleet::new(1, profile).await;
        let (menu, radio) =
            if profile.has_wireless() { ("interface/wireless", "wlan1") } else { ("interface/wifi", "wifi1") };
        round(&fleet, "plan_create_wireless_ssid", json!({ "ssid": "Guests", "interface": radio })).await;
        assert_eq!(fleet.routers[0].rows(menu)[1].get("master-interface"), radio);
        round(&fleet, "plan_modify_wireless_ssid", json!({ "current_ssid": "Guests", "ssid": "Visitors" })).await;
        round(&fleet, "plan_remove_wireless_ssid", json!({ "ssid": "Visitors" })).await;
        assert_eq!(fleet.routers[0].rows(menu).len(), 1);
        let (channel, band) = if profile.has_wireless() { ("2412", "2ghz-b/g/n") } else { ("5180", "5ghz-ac") };
        let to = json!({ "interface": radio, "channel": channel, "band": band, "tx_power": 12 });
        round(&fleet, "plan_wireless_rf_settings", to).await;
        // A network and its radio in one plan; then both, where the network is the radio's own.
        let (channel, other) = if profile.has_wireless() { ("2437", "2462") } else { ("5200", "5220") };
        let more = json!({ "ssid": "Things", "interface": radio, "channel": channel, "band": band });
        let plan = round(&fleet, "plan_create_wireless_ssid", more).await;
        assert!(plan["devices"][0]["changes"].to_string().contains(channel), "{plan}");
        let more = json!({ "current_ssid": "Things", "ssid": "Machines", "channel": other });
        round(&fleet, "plan_modify_wireless_ssid", more).await;
        let own = json!({ "current_ssid": "MikroTik", "ssid": "Home", "channel": channel });
        round(&fleet, "plan_modify_wireless_ssid", own).await;
        round(&fleet, "plan_modify_wireless_ssid", json!({ "current_ssid": "Home", "ssid": "MikroTik" })).await;
        let error = soon(fleet.plan("plan_remove_wireless_ssid", json!({ "ssid": "MikroTik" }))).await.unwrap_err();
        assert!(error.message.contains("is a radio"), "{error:?}");
        let open = json!({ "ssid": "Open", "interface": radio, "security_profile": "nowhere" });
        let error = soon(fleet.plan("plan_create_wireless_ssid", open)).await.unwrap_err();
        assert!(error.message.contains("no security profile nowhere"), "{error:?}");
    }
}

#[tokio::test]
async fn servers_and_lists_of_a_fleet() {
    for profile in Profile::ALL {
        let fleet = Fleet::new(1, profile).await;
        let servers = json!({ "dns_servers": ["1.1.1.1", "1.0.0.1"], "ntp_servers": ["time.example"], "description": "Cloudflare" });
        let plan = round(&fleet, "config_plan_dns_ntp_rollout", servers).await;
        assert_eq!((&plan["summary"], &plan["risk_level"]), (&json!("Cloudflare on 1 router"), &json!("low")));
        let change = &plan["devices"][0]["changes"][1];
        assert_eq!(change["old_value"], json!({ "enabled": "true", "servers": "0.pool.example,1.pool.example" }));
        let list = json!([{ "address": "10.0.1.100", "comment": "server" }, { "address": "10.0.1.0/24" }]);
        let sync = json!({ "list_name": "mcp-blocked", "addresses": list });
        let plan = round(&fleet, "config_plan_address_list_sync", sync).await;
        assert_eq!(plan["devices"][0]["changes"].as_array().unwrap().len(), 3, "one goes, two come");
    }
}

#[tokio::test]
async fn a_plan_and_its_snapshots_are_shown() {
    let fleet = Fleet::new(2, Profile::V7_21).await;
    let plan = soon(fleet.plan("config_plan_dns_ntp_rollout", json!({ "dns_servers": ["1.1.1.1"] }))).await.unwrap();
    let shown = soon(fleet.call("get_plan_details", json!({ "plan_id": plan["plan_id"] }))).await.unwrap();
    assert_eq!((&shown["status"], &shown["plan_hash"]), (&json!("draft"), &plan["plan_hash"]));
    soon(fleet.apply(&plan)).await.unwrap();
    let shown = soon(fleet.call("get_plan_details", json!({ "plan_id": plan["plan_id"] }))).await.unwrap();
    assert_eq!((&shown["status"], &shown["job"]["successful"]), (&json!("applied"), &json!(2)));
    for (kind, has) in [("before", false), ("after", true)] {
        let id = &shown["job"]["results"][1][format!("snapshot_{kind}")];
        let snapshot = soon(fleet.call("get_snapshot_content", json!({ "snapshot_id": id }))).await.unwrap();
        assert_eq!((&snapshot["kind"], &snapshot["device_id"]), (&json!(kind), &json!("r02")));
        let content = snapshot["content"].as_str().unwrap();
        assert_eq!(content.contains("servers=1.1.1.1"), has, "{content}");
        assert!(!content.contains("secret") && !content.contains("correct horse"), "{content}");
    }
    // Files of the state folder are the process's own.
    use std::os::unix::fs::PermissionsExt;
    for folder in ["plans", "jobs", "snapshots"] {
        for entry in std::fs::read_dir(fleet.folder.path().join(folder)).unwrap() {
            assert_eq!(entry.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
