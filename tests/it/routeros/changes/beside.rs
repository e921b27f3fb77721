//! What a plan does not need does not stop it: a routing table of the internet, menus that are denied or that hang.

use super::{Fleet, export, statuses};
use crate::support::served::soon;
use base::error::ErrorCode;
use routeros_simulator::{Fault, Profile};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A rule that has nothing to do with our way, and one that may have.
fn rule(chain: &str) -> Value {
    json!({ "chain": chain, "action": "drop", "src_address": "198.51.100.0/24", "comment": "ours", "place": "last" })
}

/// As a whole, the routing table is longer than what is kept of an answer (8 MiB).
#[tokio::test]
async fn a_routing_table_that_is_too_long_to_be_kept() {
    let fleet = Fleet::new(1, Profile::V7_21).await;
    let router = &fleet.routers[0];
    let learned = (0..3_000_u32).map(|at| {
        let network = format!("{}.{}.0.0/16", 20 + at / 256, at % 256);
        vec![("dst-address", network), ("gateway", "192.168.88.254".to_owned()), ("comment", "learned".repeat(500))]
    });
    router.add_dynamic_rows("ip/route", learned);
    let whole = soon(fleet.call("get_routing_summary", json!({ "device_id": "r01" }))).await.unwrap();
    assert_eq!((&whole["total_routes"], &whole["dynamic_routes"]), (&json!(3_003), &json!(3_001)));
    let before = export(router);
    let to = json!({ "dst_address": "10.9.0.0/16", "gateway": "192.168.88.253", "comment": "ours" });
    for (tool, mut args) in [("plan_add_static_route", to), ("plan_add_firewall_rule", rule("forward"))] {
        // The simulator, unoptimised, takes a while to look through so many rows.
        (args["device_ids"], args["timer_seconds"]) = (fleet.ids(), json!(120));
        let plan = soon(fleet.call(tool, args)).await.unwrap_or_else(|error| panic!("{tool}: {error:?}"));
        assert_eq!(statuses(&soon(fleet.apply(&plan)).await.unwrap()), ["success"], "{tool}");
    }
    assert_ne!(export(router), before);
}

#[tokio::test]
async fn a_denied_menu_of_the_way_stops_only_what_may_be_on_it() {
    for menu in ["user/active", "ip/arp", "interface/bridge/host"] {
        let fleet = Fleet::new(1, Profile::V7_21).await;
        fleet.routers[0].fault(Fault::Denies(menu.into()));
        let servers = json!({ "dns_servers": ["1.1.1.1"] });
        for (tool, args) in [("config_plan_dns_ntp_rollout", servers), ("plan_add_firewall_rule", rule("forward"))] {
            let plan = soon(fleet.plan(tool, args)).await.unwrap_or_else(|error| panic!("{menu} {tool}: {error:?}"));
            assert!(plan["devices"][0]["unread"].to_string().contains(menu), "{plan}");
            assert_eq!(statuses(&soon(fleet.apply(&plan)).await.unwrap()), ["success"], "{menu} {tool}");
        }
        let error = soon(fleet.plan("plan_add_firewall_rule", rule("input"))).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::FailedPrecondition, "{menu}: {error:?}");
        assert!(error.message.contains(menu) && error.message.contains("is not known"), "{menu}: {error:?}");
    }
}

#[tokio::test]
async fn a_menu_that_hangs_costs_its_own_time() {
    let fleet = Fleet::new(1, Profile::V7_21).await;
    fleet.routers[0].fault(Fault::Hangs("interface/bridge/host".into()));
    let begun = Instant::now();
    let plan = fleet.plan("plan_add_firewall_rule", rule("forward"));
    let plan = tokio::time::timeout(Duration::from_secs(60), plan).await.unwrap().unwrap();
    // The limit of a request is 15 s: nothing is asked twice.
    assert!(begun.elapsed() < Duration::from_secs(28), "{:?}", begun.elapsed());
    assert_eq!(plan["devices"][0]["dangers"], json!([]));
    let unread = plan["devices"][0]["unread"].to_string();
    assert!(unread.contains("interface/bridge/host: the router r01 does not answer"), "{unread}");
}

#[tokio::test]
async fn a_denied_side_menu_hides_nothing_else() {
    let fleet = Fleet::new(1, Profile::V7_21).await;
    let read = async |tool| soon(fleet.call(tool, json!({ "device_id": "r01" }))).await.unwrap();
    let (whole, health) = (read("get_system_overview").await, read("get_health_data").await);
    assert!(whole.get("unread").is_none() && health.get("unread").is_none(), "{whole}");
    for menu in ["system/health", "system/routerboard"] {
        fleet.routers[0].fault(Fault::Denies(menu.into()));
    }
    let (part, sick) = (read("get_system_overview").await, read("get_health_data").await);
    assert_eq!((&part["cpu"], &part["identity"], &part["health"]), (&whole["cpu"], &whole["identity"], &json!({})));
    let unread = part["unread"].to_string();
    assert!(unread.contains("system/health: ") && unread.contains("system/routerboard: "), "{part}");
    assert_eq!(sick["current_health"]["memory_usage_percent"], health["current_health"]["memory_usage_percent"]);
    assert!(sick["unread"][0].as_str().unwrap().contains("not enough permissions"), "{sick}");
}

#[tokio::test]
async fn an_empty_object_is_no_list_without_rows() {
    let fleet = Fleet::new(1, Profile::V7_21).await;
    fleet.routers[0].fault(Fault::EmptyObject("interface".into()));
    let error = soon(fleet.call("list_interfaces", json!({ "device_id": "r01" }))).await.unwrap_err();
    assert!(error.message.contains("an empty object"), "{error:?}");
}
