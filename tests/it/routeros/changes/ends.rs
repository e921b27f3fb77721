//! Every kind of plan, ended at each of its requests, then its timer, a start of the router, or another process: the router ends as before, or as
//! planned. Beside the rows of a plan are some that differ in one field only, and at each start of the router ids are other rows'.

use super::{Fleet, export, kills::ended_at, plans::sorted};
use crate::support::served::soon;
use raspi_mcp::routeros::plans::{Step, resume};
use routeros_simulator::{Fault, PASSWORD, Profile, Request, Router};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// What comes after the end of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The router's timer, and no other process.
    Timer,
    /// A start of the router before its timer, and no other process.
    Start,
    /// Another process at once.
    Process,
    /// A start of the router, then another process.
    StartAndProcess,
}

const ENDS: [End; 4] = [End::Timer, End::Start, End::Process, End::StartAndProcess];

/// Somebody else writes.
fn put(router: &Router, menu: &str, fields: &Value) {
    let (method, path) = ("PUT".into(), menu.into());
    let credentials = Some(("raspi".into(), PASSWORD.into()));
    let body = fields.as_object().unwrap().clone();
    let answer = router.answer(&Request { method, path, body, credentials, ..Request::default() });
    assert!((200..300).contains(&answer.status), "{menu} {fields}: {answer:?}");
}

/// Rows that look alike.
fn neighbours(router: &Router) {
    let rule = |fields: Value| put(router, "ip/firewall/filter", &fields);
    rule(json!({ "chain": "forward", "action": "accept", "src-address": "10.0.1.0/24", "comment": "A" }));
    rule(
        json!({ "chain": "forward", "action": "drop", "src-address": "10.0.2.0/24", "protocol": "tcp", "dst-port": "22", "comment": "B" }),
    );
    for list in ["x", "y"] {
        rule(json!({ "chain": "forward", "action": "drop", "src-address-list": list, "comment": "alike" }));
    }
    rule(json!({ "chain": "forward", "action": "drop", "dst-address": "203.0.113.0/24" }));
    rule(json!({ "chain": "forward", "action": "drop", "dst-address": "203.0.113.0/24", "log": "yes" }));
    for (gateway, distance, comment) in [("192.168.88.254", "2", "first"), ("192.168.88.253", "3", "second")] {
        put(
            router,
            "ip/route",
            &json!({ "dst-address": "10.9.0.0/16", "gateway": gateway, "distance": distance, "comment": comment }),
        );
    }
    put(router, "interface/bridge", &json!({ "name": "lab" }));
    put(router, "ip/address", &json!({ "address": "192.168.50.1/24", "interface": "lab" }));
    put(
        router,
        "ip/pool",
        &json!({ "name": "old", "ranges": "192.168.50.200-192.168.50.210", "comment": "of before" }),
    );
    put(router, "ip/dhcp-server/network", &json!({ "address": "192.168.50.0/24", "gateway": "192.168.50.1" }));
    put(
        router,
        "ip/dhcp-server",
        &json!({ "name": "old", "interface": "lab", "address-pool": "old", "disabled": "no" }),
    );
    for address in ["10.0.1.100", "10.0.1.101"] {
        put(
            router,
            "ip/firewall/address-list",
            &json!({ "list": "mcp-blocked", "address": address, "comment": "kept" }),
        );
    }
}

/// One of each kind.
fn kinds() -> Vec<(&'static str, Value)> {
    vec![
        (
            "plan_add_static_route",
            json!({ "dst_address": "10.9.0.0/16", "gateway": "192.168.88.252", "distance": 4, "comment": "second" }),
        ),
        (
            "plan_modify_static_route",
            json!({ "route": { "dst_address": "10.9.0.0/16", "comment": "first" }, "gateway": "192.168.88.253" }),
        ),
        ("plan_remove_static_route", json!({ "route": { "dst_address": "10.9.0.0/16", "comment": "second" } })),
        // Only narrower rules are there.
        ("plan_add_firewall_rule", json!({ "chain": "forward", "action": "drop", "place": "last" })),
        (
            "plan_add_firewall_rule",
            json!({
                "chain": "forward", "action": "accept", "protocol": "6", "src_address": "10.0.0.5-10.0.0.5", "dst_port": "80,443",
                "before": { "comment": "B" },
            }),
        ),
        ("plan_modify_firewall_rule", json!({ "rule": { "comment": "A" }, "src_address": "10.0.2.0/24" })),
        ("plan_modify_firewall_rule", json!({ "rule": { "comment": "B" }, "protocol": "udp", "comment": "A" })),
        ("plan_remove_firewall_rule", json!({ "rule": { "comment": "A" } })),
        (
            "plan_create_dhcp_pool",
            json!({ "pool_name": "new", "address_range": "192.168.51.10-192.168.51.19", "interface": "lab2" }),
        ),
        (
            "plan_modify_dhcp_pool",
            json!({
                "pool_name": "old", "modifications": { "address_range": "192.168.50.100-192.168.50.110", "dns_servers": ["192.168.50.1"] },
            }),
        ),
        ("plan_remove_dhcp_pool", json!({ "pool_name": "old", "with_server": true })),
        ("plan_create_bridge", json!({ "bridge_name": "third", "interfaces": ["ether5"], "comment": "lab" })),
        ("plan_modify_bridge_ports", json!({ "bridge_name": "lab", "add": ["ether4"] })),
        ("plan_modify_bridge_ports", json!({ "bridge_name": "bridge", "remove": ["ether4", "ether5"] })),
        ("plan_create_wireless_ssid", json!({ "ssid": "Guests", "interface": "wifi1", "channel": "5200" })),
        ("plan_modify_wireless_ssid", json!({ "current_ssid": "MikroTik", "ssid": "Home" })),
        ("plan_wireless_rf_settings", json!({ "interface": "wifi1", "channel": "5180", "tx_power": 12 })),
        (
            "config_plan_dns_ntp_rollout",
            json!({ "dns_servers": ["2001:DB8::1", "1.1.1.1"], "ntp_servers": ["time.example"] }),
        ),
        (
            "config_plan_address_list_sync",
            json!({
                "list_name": "mcp-blocked", "addresses": [{ "address": "10.0.1.100", "comment": "now" }, { "address": "10.0.1.128-10.0.1.159" }],
            }),
        ),
    ]
}

async fn prepared(tool: &str, args: &Value) -> Fleet {
    let fleet = Fleet::new(1, Profile::V7_21).await;
    let router = &fleet.routers[0];
    neighbours(router);
    if tool == "plan_create_dhcp_pool" {
        put(router, "interface/bridge", &json!({ "name": "lab2" }));
        put(router, "ip/address", &json!({ "address": "192.168.51.1/24", "interface": "lab2" }));
    }
    // What becomes a port of another bridge is one of none.
    for name in ["add", "interfaces"].iter().filter_map(|name| args[name][0].as_str()) {
        let port = router.rows("interface/bridge/port").into_iter().find(|row| row.get("interface") == name).unwrap();
        let (path, credentials) =
            (format!("interface/bridge/port/{}", port.id), Some(("raspi".into(), PASSWORD.into())));
        router.answer(&Request { method: "DELETE".into(), path, credentials, ..Request::default() });
    }
    router.fault(Fault::OtherIds);
    fleet
}

/// Ended at request after request, each with one of the ends. Returns how often the router ended as planned, and as before.
async fn judged(tool: &'static str, args: &Value, end: End) -> (usize, usize) {
    let (mut at, mut kept, mut back) = (1, 0, 0);
    // What a run without an end makes of it.
    let whole = prepared(tool, args).await;
    let plan = soon(whole.plan(tool, args.clone())).await.unwrap_or_else(|error| panic!("{tool} {args}: {error:?}"));
    let job = soon(whole.apply(&plan)).await.unwrap_or_else(|error| panic!("{tool} {args}: {error:?}"));
    assert_eq!(super::statuses(&job), ["success"], "{tool} {args}: {job}");
    let planned = sorted(&export(&whole.routers[0]));
    assert!(!planned.iter().any(|line| line.contains("raspi-mcp-")), "{tool}: {planned:#?}");
    loop {
        let mut fleet = prepared(tool, args).await;
        let router = fleet.routers[0].clone();
        let before = sorted(&export(&router));
        let plan = soon(fleet.plan(tool, args.clone())).await.unwrap();
        let apply = plan["next_tool"].as_str().unwrap().strip_prefix("routeros.").unwrap().to_owned();
        let call = (&*apply.leak(), json!({ "plan_id": plan["plan_id"], "batch_pause_seconds": 0 }));
        let until = router.requests() + at;
        let ended = ended_at(
            fleet.configured(),
            fleet.folder.path().to_owned(),
            Arc::clone(&fleet.judge),
            call,
            router.clone(),
            until,
        );
        if soon(ended).await {
            break;
        }
        match end {
            End::Timer => router.advance(Duration::from_secs(6)),
            // Down for 20 s. Of the way back, its timer alone may be left.
            End::Start => {
                router.reboot();
                router.advance(Duration::from_secs(31));
            }
            End::StartAndProcess => {
                router.reboot();
                router.advance(Duration::from_secs(21));
            }
            End::Process => {}
        }
        let mut jobs = Vec::new();
        if matches!(end, End::Process | End::StartAndProcess) {
            fleet.restart();
            jobs = soon(resume(&fleet.service)).await.unwrap();
        }
        let now = sorted(&export(&router));
        let what = format!("{tool} {args}: {end:?} after {at} requests: {jobs:?}");
        // Without another process, rows keep their marks when the way back was taken away.
        let is_confirmed = router.rows("system/scheduler").iter().all(|row| row.is("disabled"));
        if now == before {
            back += 1;
        } else if now == planned {
            kept += 1;
        } else {
            assert!(
                jobs.is_empty() && matches!(end, End::Timer | End::Start) && is_confirmed,
                "{what}: {}",
                difference(&before, &now)
            );
            assert!(now.iter().any(|line| line.contains("raspi-mcp-plan-")), "{what}: {}", difference(&before, &now));
            fleet.restart();
            soon(resume(&fleet.service)).await.unwrap();
            assert_eq!(sorted(&export(&router)), planned, "{what}");
            kept += 1;
        }
        for job in &jobs {
            let step = job.devices[0].status;
            assert_eq!(step == Step::Success, now == planned && now != before, "{what}");
            assert!(matches!(step, Step::Success | Step::TakenBack), "{what}");
        }
        at += 1;
    }
    (kept, back)
}

fn difference(before: &[String], now: &[String]) -> String {
    let only = |these: &[String], those: &[String], mark: &str| {
        these
            .iter()
            .filter(|line| !those.contains(line))
            .fold(String::new(), |text, line| format!("{text}\n{mark} {line}"))
    };
    only(before, now, "-") + &only(now, before, "+")
}

/// Kind number `at` with the ends of its turn: all of them where the environment says `RASPI_MCP_ENDS=all`, which takes minutes.
async fn some(is_mine: impl Fn(usize) -> bool) {
    let is_all = std::env::var("RASPI_MCP_ENDS").is_ok_and(|value| value == "all");
    for (at, (tool, args)) in kinds().into_iter().enumerate().filter(|(at, _)| is_mine(*at)) {
        for (n, end) in ENDS.into_iter().enumerate() {
            if is_all || n == at % ENDS.len() {
                let (kept, back) = judged(tool, &args, end).await;
                assert!(kept > 0 && back > 5, "{tool} {args}: {end:?}: {kept} kept, {back} back");
            }
        }
    }
}

#[tokio::test]
async fn plans_of_even_places_end_as_before_or_as_planned() {
    some(|at| at % 2 == 0).await;
}

#[tokio::test]
async fn plans_of_odd_places_end_as_before_or_as_planned() {
    some(|at| at % 2 == 1).await;
}
