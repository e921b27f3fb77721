//! Rows beside those of a plan: alike but for one field, hundreds of them, with other ids, and those that no plan is about.

use super::{Fleet, export, kills::ended_at, statuses};
use crate::support::served::soon;
use base::error::ErrorCode;
use raspi_mcp::routeros::plan::{fields, is_exactly};
use routeros_simulator::{Fault, PASSWORD, Profile, Request, Router};
use serde_json::{Value, json};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Somebody else adds a row.
pub(super) fn put(router: &Router, menu: &str, fields: &Value) {
    let (method, path) = ("PUT".into(), menu.into());
    let credentials = Some(("raspi".into(), PASSWORD.into()));
    let body = fields.as_object().unwrap().clone();
    let answer = router.answer(&Request { method, path, body, credentials, ..Request::default() });
    assert!((200..300).contains(&answer.status), "{menu} {fields}: {answer:?}");
}

/// The rows of a menu without what is counted.
fn rows(router: &Router, menu: &str) -> Vec<String> {
    router.rows(menu).iter().map(|row| row.shown().to_string()).collect()
}

#[test]
fn a_rule_that_differs_in_one_field_only_is_another_rule() {
    let rule = json!({
        ".id": "*1", "chain": "forward", "action": "drop", "src-address": "10.0.1.0/24", "dst-address": "10.0.2.0/24", "protocol": "tcp",
        "dst-port": "22", "in-interface": "ether2", "connection-state": "new", "src-address-list": "x", "comment": "ours",
        "disabled": "false", "dynamic": "false", "invalid": "false", "bytes": "0", "packets": "0",
    });
    let wanted: Vec<(&str, &str)> = rule
        .as_object()
        .unwrap()
        .iter()
        .filter(|(name, _)| ![".id", "disabled", "dynamic", "invalid", "bytes", "packets"].contains(&name.as_str()))
        .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
        .collect();
    let is_it = |row: &Value| is_exactly("ip/firewall/filter", row, &fields(&wanted));
    assert!(is_it(&rule));
    for (name, _) in &wanted {
        let mut other = rule.clone();
        other[*name] = json!("another");
        assert!(!is_it(&other), "{name} is another");
        other[*name] = json!("");
        assert!(!is_it(&other), "{name} has no value");
        other.as_object_mut().unwrap().remove(*name);
        assert!(!is_it(&other), "{name} is not there");
    }
    for (name, value) in [("out-interface", "ether1"), ("log", "yes"), ("disabled", "true"), ("tcp-flags", "syn")] {
        let mut other = rule.clone();
        other[name] = json!(value);
        assert!(!is_it(&other), "{name} as well");
    }
    // What the router counts is no part of it.
    let mut other = rule.clone();
    (other["bytes"], other[".id"]) = (json!("77"), json!("*2"));
    assert!(is_it(&other));
}

/// The requests of `apply` until its first change is written and read again: the version, the rows twice, the export, the two entries of the
/// scheduler and their listing, the rows, the change.
const UNTIL_WRITTEN: u64 = 10;

/// The process ends after the change was written; the router is started again with other ids, and takes it back by itself.
async fn is_taken_back(fleet: &Fleet, tool: &'static str, args: Value) {
    let router = fleet.routers[0].clone();
    router.fault(Fault::OtherIds);
    let before = export(&router);
    let plan = soon(fleet.plan(tool, args)).await.unwrap_or_else(|error| panic!("{tool}: {error:?}"));
    let apply = plan["next_tool"].as_str().unwrap().strip_prefix("routeros.").unwrap().to_owned();
    let call = (&*apply.leak(), json!({ "plan_id": plan["plan_id"], "batch_pause_seconds": 0 }));
    let until = router.requests() + UNTIL_WRITTEN;
    let (folder, judge) = (fleet.folder.path().to_owned(), Arc::clone(&fleet.judge));
    assert!(!soon(ended_at(fleet.configured(), folder, judge, call, router.clone(), until)).await, "{tool}");
    assert_ne!(export(&router), before, "{tool}: nothing was written yet");
    router.reboot();
    router.advance(Duration::from_secs(60));
    assert_eq!(export(&router), before, "{tool}");
}

/// Five hundred rules with one comment, each for another network.
fn alike(router: &Router) {
    for at in 0..500 {
        let network = format!("10.{}.{}.0/24", 100 + at / 256, at % 256);
        let rule = json!({ "chain": "forward", "action": "drop", "src-address": network, "comment": "blocked" });
        put(router, "ip/firewall/filter", &rule);
    }
}

#[tokio::test]
async fn of_five_hundred_rules_that_look_alike_one_is_changed() {
    let fleet = Fleet::new(1, Profile::V7_21).await;
    let router = fleet.routers[0].clone();
    alike(&router);
    let one = json!({ "comment": "blocked", "src_address": "10.100.250.0/24" });
    let error = soon(fleet.plan("plan_remove_firewall_rule", json!({ "rule": { "comment": "blocked" } }))).await;
    assert_eq!(error.unwrap_err().code, ErrorCode::Conflict, "500 rules are not one");
    let same = json!({ "rule": one, "src_address": "10.100.251.0/24" });
    let error = soon(fleet.plan("plan_modify_firewall_rule", same)).await.unwrap_err();
    assert!(error.message.contains("another row"), "{error:?}");
    let to = json!({ "rule": one, "src_address": "10.250.0.0/24" });
    is_taken_back(&fleet, "plan_modify_firewall_rule", to.clone()).await;
    let before = rows(&router, "ip/firewall/filter");
    let began = Instant::now();
    let plan = soon(fleet.plan("plan_modify_firewall_rule", to)).await.unwrap();
    assert_eq!(statuses(&soon(fleet.apply(&plan)).await.unwrap()), ["success"]);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let after = rows(&router, "ip/firewall/filter");
    let changed: Vec<(&String, &String)> = before.iter().zip(&after).filter(|(was, is)| was != is).collect();
    assert!(after.len() == before.len() && changed.len() == 1, "{changed:?}");
    assert!(changed[0].1.contains("10.250.0.0/24") && changed[0].1.contains("blocked"), "{changed:?}");
}

#[tokio::test]
async fn routes_by_their_comments_and_ports_of_a_bridge() {
    let fleet = Fleet::new(1, Profile::V7_21).await;
    let router = &fleet.routers[0];
    for (at, comment) in ["uplink", "uplink 2", "Uplink", "uplink"].into_iter().enumerate() {
        let network = format!("10.{}.0.0/16", 20 + at);
        put(router, "ip/route", &json!({ "dst-address": network, "gateway": "192.168.88.254", "comment": comment }));
    }
    let by = |network: &str, comment: &str| json!({ "dst_address": network, "comment": comment });
    for (network, comment) in [("10.20.0.0/16", "Uplink"), ("10.20.0.0/16", "uplink 2"), ("10.21.0.0/16", "uplink")] {
        let error = soon(fleet.plan("plan_remove_static_route", json!({ "route": by(network, comment) }))).await;
        assert_eq!(error.unwrap_err().code, ErrorCode::NotFound, "{network} {comment}");
    }
    let to = json!({ "route": by("10.20.0.0/16", "uplink"), "comment": "uplink 2", "distance": 7 });
    is_taken_back(&fleet, "plan_modify_static_route", to).await;
    is_taken_back(&fleet, "plan_remove_static_route", json!({ "route": by("10.23.0.0/16", "uplink") })).await;
    // Ports of one bridge, which differ in the interface only.
    is_taken_back(&fleet, "plan_modify_bridge_ports", json!({ "bridge_name": "bridge", "remove": ["ether4"] })).await;
    let before = rows(router, "interface/bridge/port");
    let plan = json!({ "bridge_name": "bridge", "remove": ["ether4"] });
    let plan = soon(fleet.plan("plan_modify_bridge_ports", plan)).await.unwrap();
    assert_eq!(statuses(&soon(fleet.apply(&plan)).await.unwrap()), ["success"]);
    let after = rows(router, "interface/bridge/port");
    let gone: Vec<&String> = before.iter().filter(|row| !after.contains(row)).collect();
    assert!(gone.len() == 1 && after.len() + 1 == before.len() && gone[0].contains("ether4"), "{gone:?}");
}

/// Rules, routes, pools and lists of IPv6 are in menus of their own, which plans do not change.
#[tokio::test]
async fn what_is_of_ipv6_is_refused_before_anything_is_asked_of_the_router() {
    let fleet = Fleet::new(1, Profile::V7_21).await;
    let rule =
        |field: &str, address: &str| json!({ "chain": "forward", "action": "drop", "place": "last", field: address });
    let lists = json!({ "list_name": "mcp-blocked", "addresses": [{ "address": "2001:db8::1" }] });
    for (tool, args, parameter) in [
        ("plan_add_firewall_rule", rule("src_address", "2001:db8::/32"), "src_address"),
        ("plan_add_firewall_rule", rule("dst_address", "!2001:db8::1"), "dst_address"),
        ("plan_add_firewall_rule", rule("dst_address", "2001:db8::1-2001:db8::9"), "dst_address"),
        (
            "plan_modify_firewall_rule",
            json!({ "rule": { "comment": "defconf: drop invalid", "chain": "forward" }, "src_address": "fe80::/10" }),
            "src_address",
        ),
        ("plan_add_static_route", json!({ "dst_address": "2001:db8::/32", "gateway": "ether1" }), "dst_address"),
        ("plan_remove_static_route", json!({ "route": { "dst_address": "::/0" } }), "dst_address"),
        (
            "plan_modify_dhcp_pool",
            json!({ "pool_name": "default-dhcp", "modifications": { "address_range": "2001:db8::1-2001:db8::9" } }),
            "modifications",
        ),
        (
            "plan_create_dhcp_pool",
            json!({ "pool_name": "six", "address_range": "2001:db8::1-2001:db8::9", "interface": "bridge" }),
            "address_range",
        ),
        ("config_plan_address_list_sync", lists, "address"),
    ] {
        let error = soon(fleet.plan(tool, args.clone())).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{tool} {args}: {error:?}");
        assert!(error.message.contains("IPv6"), "{tool} {args}: {error:?}");
        assert_eq!(error.details["parameter"], parameter, "{tool} {args}: {error:?}");
    }
    let entry = json!({ "device_id": "r01", "action": "add", "list_name": "mcp-blocked", "address": "2001:db8::1" });
    let error = soon(fleet.call("update_firewall_address_list", entry)).await.unwrap_err();
    assert!(error.code == ErrorCode::InvalidArgument && error.message.contains("IPv6"), "{error:?}");
    let address = json!({ "device_id": "r01", "address": "2001:db8::1/64", "interface": "bridge" });
    let error = soon(fleet.call("add_secondary_ip_address", address)).await.unwrap_err();
    assert!(error.code == ErrorCode::InvalidArgument && error.message.contains("IPv6"), "{error:?}");
    assert_eq!(fleet.writes(), [0]);
}
