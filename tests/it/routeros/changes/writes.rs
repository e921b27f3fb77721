//! The tools that change one router at once, on every version.

use super::Fleet;
use crate::support::served::soon;
use base::error::ErrorCode;
use contract::meta::Environment;
use routeros_simulator::{Fault, Profile};
use serde_json::{Value, json};

/// Each tool with arguments that fit a new router, what its result holds, and what a dry run changes: nothing.
fn good() -> Vec<(&'static str, Value, Value)> {
    vec![
        (
            "set_system_identity",
            json!({ "identity": "attic" }),
            json!({ "old_identity": "MikroTik", "new_identity": "attic" }),
        ),
        (
            "update_interface_comment",
            json!({ "interface_id": "ether3", "comment": "porch \"$x\"; [" }),
            json!({ "interface_name": "ether3", "old_comment": "", "new_comment": "porch \"$x\"; [" }),
        ),
        (
            "add_secondary_ip_address",
            json!({ "address": "192.0.2.1/24", "interface": "bridge", "comment": "second" }),
            json!({ "address": "192.0.2.1/24", "interface": "bridge" }),
        ),
        (
            "remove_secondary_ip_address",
            json!({ "address_id": "192.0.2.1/24" }),
            json!({ "removed_address": "192.0.2.1/24" }),
        ),
        (
            "update_firewall_address_list",
            json!({ "action": "add", "list_name": "mcp-hosts", "address": "10.0.1.200", "comment": "new", "timeout": "7d" }),
            json!({ "action": "add", "list_name": "mcp-hosts", "address": "10.0.1.200" }),
        ),
        (
            "update_firewall_address_list",
            json!({ "action": "remove", "list_name": "mcp-hosts", "address": "10.0.1.200" }),
            json!({ "action": "remove", "address": "10.0.1.200" }),
        ),
        (
            "update_dns_servers",
            json!({ "dns_servers": ["1.1.1.1", "1.0.0.1"] }),
            json!({ "old_servers": [], "new_servers": ["1.1.1.1", "1.0.0.1"] }),
        ),
        (
            "update_ntp_servers",
            json!({ "ntp_servers": ["time.example"] }),
            json!({ "old_servers": ["0.pool.example", "1.pool.example"], "new_servers": ["time.example"] }),
        ),
    ]
}

#[tokio::test]
async fn every_write_has_a_true_diff_and_is_read_back_on_every_version() {
    for profile in Profile::ALL {
        let fleet = Fleet::new(1, profile).await;
        let (mut writes, mut authorized) = (0, 0);
        for (tool, mut args, says) in good() {
            args["device_id"] = json!("r01");
            args["dry_run"] = json!(true);
            let planned =
                soon(fleet.call(tool, args.clone())).await.unwrap_or_else(|error| panic!("{tool}: {error:?}"));
            assert_eq!((&planned["changed"], &planned["dry_run"]), (&json!(false), &json!(true)), "{tool}");
            assert_eq!(fleet.routers[0].writes(), writes, "{tool} wrote in a dry run");
            args["dry_run"] = json!(false);
            let done = soon(fleet.call(tool, args.clone())).await.unwrap_or_else(|error| panic!("{tool}: {error:?}"));
            authorized += 1;
            // Addresses are guarded by two entries of the scheduler, which come and go. A new one gets its comment at the end, an old one is off first.
            writes += match tool {
                "add_secondary_ip_address" | "remove_secondary_ip_address" => 6,
                _ => 1,
            };
            assert_eq!((&done["changed"], fleet.routers[0].writes()), (&json!(true), writes), "{tool}: {done}");
            assert_eq!(done["changes"], planned["changes"], "{tool}: the diff of the dry run was another one");
            for (name, value) in says.as_object().unwrap() {
                assert_eq!(&done[name], value, "{tool}: {name}");
            }
            let asked = fleet.judge.asked.lock().unwrap().len() as u64;
            assert_eq!(asked, authorized, "{tool}: each write is authorized, no dry run is");
        }
        // What is so already is not written again.
        let again = json!({ "device_id": "r01", "identity": "attic" });
        let again = soon(fleet.call("set_system_identity", again)).await.unwrap();
        assert_eq!((&again["changed"], fleet.routers[0].writes()), (&json!(false), writes));
        let flushed = soon(fleet.call("flush_dns_cache", json!({ "device_id": "r01" }))).await.unwrap();
        assert_eq!((&flushed["entries_flushed"], fleet.routers[0].rows("ip/dns/cache").len()), (&json!(3), 0));
    }
}

#[tokio::test]
async fn what_is_unsafe_is_refused_and_nothing_is_written() {
    let fleet = Fleet::new(1, Profile::V7_21).await;
    let add = |address: &str, interface: &str| json!({ "address": address, "interface": interface });
    let list = |list: &str, address: &str| json!({ "action": "add", "list_name": list, "address": address });
    for (tool, mut args, code) in [
        ("set_system_identity", json!({ "identity": "" }), ErrorCode::InvalidArgument),
        ("set_system_identity", json!({ "identity": "a\nb" }), ErrorCode::InvalidArgument),
        ("update_interface_comment", json!({ "interface_id": "ether9", "comment": "x" }), ErrorCode::NotFound),
        ("add_secondary_ip_address", add("192.168.88.2/24", "bridge"), ErrorCode::FailedPrecondition),
        ("add_secondary_ip_address", add("192.168.88.0/22", "ether1"), ErrorCode::InvalidArgument),
        ("add_secondary_ip_address", add("192.0.2.1/24", "ether2"), ErrorCode::FailedPrecondition),
        ("add_secondary_ip_address", add("192.0.2.1/24", "nowhere"), ErrorCode::FailedPrecondition),
        ("add_secondary_ip_address", add("192.0.2.1/33", "bridge"), ErrorCode::InvalidArgument),
        // The one that is asked, the only one, and one that the router has of itself.
        ("remove_secondary_ip_address", json!({ "address_id": "192.168.88.1/24" }), ErrorCode::FailedPrecondition),
        ("remove_secondary_ip_address", json!({ "address_id": "203.0.113.20/24" }), ErrorCode::FailedPrecondition),
        ("remove_secondary_ip_address", json!({ "address_id": "*FF" }), ErrorCode::NotFound),
        ("update_firewall_address_list", list("admins", "10.0.0.1"), ErrorCode::InvalidArgument),
        ("update_firewall_address_list", list("mcp-x", "10.0.0.1/8"), ErrorCode::InvalidArgument),
        ("update_firewall_address_list", list("mcp-x", "a b"), ErrorCode::InvalidArgument),
        ("update_dns_servers", json!({ "dns_servers": ["dns.example"] }), ErrorCode::InvalidArgument),
        ("update_dns_servers", json!({ "dns_servers": ["1.1.1.1", "1.1.1.1"] }), ErrorCode::InvalidArgument),
        ("update_dns_servers", json!({ "dns_servers": ["192.0.2.53"] }), ErrorCode::FailedPrecondition),
        ("update_ntp_servers", json!({ "ntp_servers": ["time.invalid"] }), ErrorCode::FailedPrecondition),
        ("update_ntp_servers", json!({ "ntp_servers": [] }), ErrorCode::InvalidArgument),
    ] {
        args["device_id"] = json!("r01");
        let error = soon(fleet.call(tool, args.clone())).await.expect_err(tool);
        assert_eq!(error.code, code, "{tool} {args}: {error:?}");
    }
    assert_eq!(fleet.writes(), [0]);
    assert!(fleet.judge.asked.lock().unwrap().is_empty(), "nobody is asked about what is refused");
}

#[tokio::test]
async fn the_last_but_one_address_goes_and_ours_stays() {
    let fleet = Fleet::new(1, Profile::V7_16).await;
    let add = json!({ "device_id": "r01", "address": "192.0.2.1/24", "interface": "bridge" });
    let added = soon(fleet.call("add_secondary_ip_address", add)).await.unwrap();
    let ours = fleet.routers[0].rows("ip/address")[0].id.to_string();
    let error =
        soon(fleet.call("remove_secondary_ip_address", json!({ "device_id": "r01", "address_id": ours }))).await;
    let error = error.unwrap_err();
    assert_eq!(error.details["mcp_error_code"], "UNSAFE_OPERATION", "{error:?}");
    assert!(error.message.contains("192.168.88.1 is the router's address that this machine uses"), "{error:?}");
    let gone = json!({ "device_id": "r01", "address_id": added["address_id"] });
    soon(fleet.call("remove_secondary_ip_address", gone)).await.unwrap();
    assert_eq!(fleet.routers[0].rows("ip/address").len(), 2);
}

#[tokio::test]
async fn a_list_that_rules_for_us_name_is_refused() {
    let fleet = Fleet::new(1, Profile::V7_21).await;
    let rule = json!({ "chain": "input", "action": "drop", "place": "last", "comment": "blocked" });
    // Of another protocol than ours, so that only its list matters.
    let plan = soon(fleet.plan(
        "plan_add_firewall_rule",
        json!({ "protocol": "icmp", "chain": "input", "action": "drop", "place": "last" }),
    ))
    .await;
    assert!(plan.is_ok(), "{plan:?}");
    let refused = soon(fleet.plan("plan_add_firewall_rule", rule)).await.unwrap_err();
    assert!(refused.message.contains("may drop the packets of this machine"), "{refused:?}");
}

#[tokio::test]
async fn production_and_closed_routers_are_left_alone() {
    let mut fleet = Fleet::in_environment(1, Profile::V7_21, Environment::Prod).await;
    let dns = json!({ "device_id": "r01", "dns_servers": ["1.1.1.1"] });
    let error = soon(fleet.call("update_dns_servers", dns)).await.unwrap_err();
    assert!(error.hint.as_ref().unwrap().contains("config_plan_dns_ntp_rollout"), "{error:?}");
    let mut standing = fleet.configured()[0].1.clone();
    standing.allow_advanced = false;
    fleet.with_standing(standing);
    let name = json!({ "device_id": "r01", "identity": "attic" });
    let error = soon(fleet.call("set_system_identity", name.clone())).await.unwrap_err();
    assert_eq!((error.code, &error.details["mcp_error_code"]), (ErrorCode::FailedPrecondition, &json!("FORBIDDEN")));
    assert_eq!(fleet.writes(), [0]);
}

#[tokio::test]
async fn a_write_without_leave_is_not_done() {
    let fleet = Fleet::new(1, Profile::V7_21).await;
    *fleet.judge.refuses.lock().unwrap() = Some(base::error::ToolError::denied("no"));
    for (tool, args) in [
        ("set_system_identity", json!({ "device_id": "r01", "identity": "attic" })),
        ("flush_dns_cache", json!({ "device_id": "r01" })),
    ] {
        let error = soon(fleet.call(tool, args)).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::PermissionDenied, "{tool}");
    }
    assert_eq!(fleet.writes(), [0]);
}

#[tokio::test]
async fn a_connection_that_breaks_after_the_write_is_looked_at() {
    let fleet = Fleet::new(1, Profile::V7_21).await;
    fleet.routers[0].fault(Fault::CutAfterWrite);
    let name = json!({ "device_id": "r01", "identity": "attic" });
    let done = soon(fleet.call("set_system_identity", name)).await.unwrap();
    assert_eq!((&done["changed"], fleet.writes()), (&json!(true), vec![1]));
}
