//! What is not planned, and what is not applied.

use super::{Fleet, call, export};
use crate::support::served::soon;
use base::error::{ErrorCode, ToolError};
use routeros_simulator::Profile;
use serde_json::{Value, json};

#[tokio::test]
async fn bad_plans_name_what_is_bad() {
    let fleet = Fleet::new(1, Profile::V7_21).await;
    let rule = |more: Value| {
        let mut rule = json!({ "chain": "forward", "action": "drop", "place": "last" });
        rule.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        rule
    };
    let pool =
        |range: &str, interface: &str| json!({ "pool_name": "x", "address_range": range, "interface": interface });
    for (tool, args, parameter) in [
        ("plan_add_static_route", json!({ "dst_address": "10.1.2.3/16", "gateway": "192.168.88.2" }), "dst_address"),
        ("plan_add_static_route", json!({ "dst_address": "10.1.0.0/16", "gateway": "10.9.9.9" }), "gateway"),
        ("plan_add_static_route", json!({ "dst_address": "10.1.0.0/16", "gateway": "192.168.88.1" }), "gateway"),
        ("plan_add_static_route", json!({ "dst_address": "10.1.0.0-10.1.0.9", "gateway": "ether1" }), "dst_address"),
        ("plan_modify_static_route", json!({ "route": { "dst_address": "10.1.0.0/16" } }), ""),
        ("plan_remove_static_route", json!({ "route": { "dst_address": "10.1.0.0/16" } }), ""),
        ("plan_add_firewall_rule", json!({ "chain": "forward", "action": "drop" }), "before"),
        ("plan_add_firewall_rule", rule(json!({ "before": { "chain": "forward" } })), "before"),
        (
            "plan_add_firewall_rule",
            json!({ "chain": "forward", "action": "drop", "before": { "chain": "forward" } }),
            "before",
        ),
        ("plan_add_firewall_rule", rule(json!({ "dst_port": "25" })), "dst_port"),
        ("plan_add_firewall_rule", rule(json!({ "src_address": "10.0.0.1/8" })), "src_address"),
        (
            "plan_modify_firewall_rule",
            json!({ "rule": { "comment": "defconf: accept ICMP" }, "dst_port": "25" }),
            "dst_port",
        ),
        ("plan_modify_firewall_rule", json!({ "rule": { "chain": "input" }, "comment": "x" }), ""),
        ("plan_remove_firewall_rule", json!({ "rule": { "comment": "nowhere" } }), ""),
        ("plan_create_dhcp_pool", pool("10.0.0.1-10.0.0.9", "bridge"), "address_range"),
        ("plan_create_dhcp_pool", pool("192.168.88.9", "nowhere"), "interface"),
        ("plan_create_dhcp_pool", pool("192.168.88.250-192.168.88.2", "bridge"), "address_range"),
        ("plan_create_dhcp_pool", pool("192.168.88.20-192.168.88.30", "bridge"), "address_range"),
        ("plan_create_dhcp_pool", pool("192.168.88.2-192.168.88.9", "bridge"), "interface"),
        (
            "plan_modify_dhcp_pool",
            json!({ "pool_name": "nowhere", "modifications": { "gateway": "192.168.88.1" } }),
            "pool_name",
        ),
        ("plan_modify_dhcp_pool", json!({ "pool_name": "default-dhcp", "modifications": {} }), "modifications"),
        ("plan_remove_dhcp_pool", json!({ "pool_name": "default-dhcp" }), "with_server"),
        ("plan_create_bridge", json!({ "bridge_name": "lab", "interfaces": ["ether3"] }), "interfaces"),
        ("plan_create_bridge", json!({ "bridge_name": "lab", "interfaces": ["ether1"] }), "interfaces"),
        ("plan_modify_bridge_ports", json!({ "bridge_name": "nowhere", "add": ["ether5"] }), "bridge_name"),
        ("plan_modify_bridge_ports", json!({ "bridge_name": "bridge" }), ""),
        (
            "plan_modify_bridge_ports",
            json!({ "bridge_name": "bridge", "add": ["ether5"], "remove": ["ether5"] }),
            "add",
        ),
        ("plan_create_wireless_ssid", json!({ "ssid": "x", "interface": "ether1" }), "interface"),
        ("plan_modify_wireless_ssid", json!({ "current_ssid": "nowhere", "ssid": "x" }), "current_ssid"),
        ("plan_wireless_rf_settings", json!({ "interface": "wifi9", "channel": "5180" }), "interface"),
        ("plan_wireless_rf_settings", json!({ "interface": "wifi1" }), ""),
        ("config_plan_dns_ntp_rollout", json!({}), ""),
        ("config_plan_dns_ntp_rollout", json!({ "dns_servers": ["a.example"] }), "dns_servers"),
        (
            "config_plan_address_list_sync",
            json!({ "list_name": "mcp-x", "addresses": [{ "address": "!10.0.0.1" }] }),
            "address",
        ),
    ] {
        let error = soon(fleet.plan(tool, args.clone())).await.expect_err(tool);
        let named = error.details.get("parameter").and_then(Value::as_str).unwrap_or_default();
        assert_eq!(named, parameter, "{tool} {args}: {error:?}");
        let known =
            [ErrorCode::InvalidArgument, ErrorCode::FailedPrecondition, ErrorCode::NotFound, ErrorCode::Conflict];
        assert!(known.contains(&error.code), "{tool} {args}: {error:?}");
    }
    assert_eq!(fleet.writes(), [0]);
    assert!(fleet.judge.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_plan_is_applied_once_by_its_own_tool_and_within_a_day() {
    let fleet = Fleet::new(1, Profile::V7_21).await;
    let dns = json!({ "dns_servers": ["1.1.1.1"] });
    let plan = soon(fleet.plan("config_plan_dns_ntp_rollout", dns.clone())).await.unwrap();
    let by = |tool: &'static str, more: Value| {
        let mut args = json!({ "plan_id": plan["plan_id"] });
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        fleet.call(tool, args)
    };
    let error = soon(by("apply_routing_plan", json!({}))).await.unwrap_err();
    assert!(error.hint.as_ref().unwrap().contains("config_apply_dns_ntp_rollout"), "{error:?}");
    let error = soon(by("config_apply_dns_ntp_rollout", json!({ "approval_token": "yes" }))).await.unwrap_err();
    assert_eq!((error.code, &error.details["parameter"]), (ErrorCode::InvalidArgument, &json!("approval_token")));
    assert!(error.hint.as_ref().unwrap().contains("a person"), "{error:?}");
    let error = soon(by("config_rollback_plan", json!({ "reason": "x" }))).await.unwrap_err();
    assert!(error.message.contains("was not applied"), "{error:?}");
    assert_eq!(fleet.writes(), [0]);
    soon(fleet.apply(&plan)).await.unwrap();
    let error = soon(fleet.apply(&plan)).await.unwrap_err();
    assert!(error.message.contains("is applied already"), "{error:?}");

    let old = soon(fleet.plan("config_plan_dns_ntp_rollout", json!({ "dns_servers": ["9.9.9.9"] }))).await.unwrap();
    let path = fleet.folder.path().join(format!("plans/{}.json", old["plan_id"].as_str().unwrap()));
    let mut kept: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    kept["created_ms"] = json!(kept["created_ms"].as_i64().unwrap() - 25 * 3_600_000);
    std::fs::write(&path, kept.to_string()).unwrap();
    let error = soon(fleet.apply(&old)).await.unwrap_err();
    assert_eq!(error.details["mcp_error_code"], "PLAN_EXPIRED", "{error:?}");
}

#[tokio::test]
async fn what_a_person_approves_is_just_what_is_done() {
    let fleet = Fleet::new(2, Profile::V7_21).await;
    let plan = soon(fleet.plan("config_plan_dns_ntp_rollout", json!({ "dns_servers": ["1.1.1.1"] }))).await.unwrap();
    let apply = call("config_apply_dns_ntp_rollout", json!({ "plan_id": plan["plan_id"] }));
    let subject = soon(fleet.service.subject(&apply)).await.unwrap();
    assert_eq!(subject["plan_hash"], plan["plan_hash"]);
    let device = &subject["devices"][1];
    assert_eq!(device["device_id"], "r02");
    assert_eq!(device["changes"], json!(["Changes the DNS settings: servers from nothing to 1.1.1.1."]));
    // A refusal comes before the first write, and the plan stays.
    *fleet.judge.refuses.lock().unwrap() = Some(ToolError::denied("nobody approved"));
    let error = soon(fleet.apply(&plan)).await.unwrap_err();
    assert_eq!((error.code, fleet.writes()), (ErrorCode::PermissionDenied, vec![0, 0]));
    *fleet.judge.refuses.lock().unwrap() = None;
    soon(fleet.apply(&plan)).await.unwrap();
    let asked = fleet.judge.asked.lock().unwrap().clone();
    assert_eq!(asked.last().unwrap(), &("routeros.config_apply_dns_ntp_rollout".to_owned(), subject));
    // Another change has another hash.
    let other = Fleet::new(2, Profile::V7_21).await;
    let plan = soon(other.plan("config_plan_dns_ntp_rollout", json!({ "dns_servers": ["1.1.1.2"] }))).await.unwrap();
    assert_ne!(plan["plan_hash"], asked.last().unwrap().1["plan_hash"]);
}

#[tokio::test]
async fn a_credential_for_one_router_does_not_apply_a_plan_for_two() {
    let fleet = Fleet::new(2, Profile::V7_21).await;
    let plan = soon(fleet.plan("config_plan_dns_ntp_rollout", json!({ "dns_servers": ["1.1.1.1"] }))).await.unwrap();
    let mut apply = call("config_apply_dns_ntp_rollout", json!({ "plan_id": plan["plan_id"] }));
    apply.device_scope = Some(vec!["r01".into()]);
    let error = soon(fleet.service.call(apply)).await.unwrap_err();
    assert_eq!((error.code, fleet.writes()), (ErrorCode::PermissionDenied, vec![0, 0]));
    let mut show = call("get_plan_details", json!({ "plan_id": plan["plan_id"] }));
    show.device_scope = Some(vec!["r01".into()]);
    let shown = soon(fleet.service.call(show)).await.unwrap();
    assert_eq!(shown["devices"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn two_calls_do_not_write_to_one_router_at_once() {
    let fleet = Fleet::new(1, Profile::V7_21).await;
    let before = export(&fleet.routers[0]);
    let _claim = fleet.service.work.claim(["r01".to_owned()]).unwrap();
    let error =
        soon(fleet.call("set_system_identity", json!({ "device_id": "r01", "identity": "x" }))).await.unwrap_err();
    assert_eq!((error.code, export(&fleet.routers[0])), (ErrorCode::Conflict, before));
}
