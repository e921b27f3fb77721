//! Plans that cut this machine off: refused at first, planned when the caller says so, and taken back by the router.

use super::{Fleet, export, statuses};
use crate::support::served::soon;
use base::error::ErrorCode;
use routeros_simulator::{Fault, PASSWORD, Profile, Request, Router, management::CLIENT_NAME};
use serde_json::{Value, json};
use std::time::Duration;

/// Within the timer of 5 s and 5 s more, and what the machine itself needs.
const BACK: Duration = Duration::from_secs(30);

/// One plan of each kind that cuts us off, and what is said of it.
fn cuts() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        (
            "plan_add_firewall_rule",
            json!({ "chain": "input", "action": "drop", "src_address": "192.168.88.0/24", "place": "first" }),
            "may drop the packets of this machine",
        ),
        (
            "plan_modify_firewall_rule",
            json!({ "rule": { "comment": "defconf: accept ICMP" }, "action": "drop", "protocol": "tcp" }),
            "may drop the packets of this machine",
        ),
        (
            "plan_add_static_route",
            json!({ "dst_address": "192.168.88.10", "gateway": "203.0.113.1" }),
            "decides how the router answers this machine",
        ),
        (
            "plan_modify_bridge_ports",
            json!({ "bridge_name": "bridge", "remove": ["ether2"] }),
            "reaches the router by ether2",
        ),
        (
            // With the list of `lets_a_name_in`, only a server that resolves the name lets us in.
            "config_plan_dns_ntp_rollout",
            json!({ "dns_servers": ["192.0.2.53"], "check_reachable": false }),
            "use the list mcp-admins with the name pi.example",
        ),
    ]
}

/// As a careful owner does it: whoever is not in a list is kept out, and the list has this machine's name.
fn lets_a_name_in(router: &Router) {
    let name = [("list", "mcp-admins"), ("address", CLIENT_NAME)];
    let rule = [("chain", "input"), ("action", "drop"), ("protocol", "tcp"), ("src-address-list", "!mcp-admins")];
    put(router, "ip/firewall/address-list", &name);
    put(router, "ip/firewall/filter", &rule);
    let last = router.rows("ip/firewall/filter").pop().unwrap().id.to_string();
    let first = router.rows("ip/firewall/filter")[0].id.to_string();
    write(router, "POST", "ip/firewall/filter/move", &[("numbers", &last), ("destination", &first)]);
}

fn put(router: &Router, menu: &str, fields: &[(&str, &str)]) {
    write(router, "PUT", menu, fields);
}

/// Somebody else writes.
fn write(router: &Router, method: &str, path: &str, fields: &[(&str, &str)]) {
    let body = fields.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    let (method, path, credentials) = (method.into(), path.into(), Some(("raspi".into(), PASSWORD.into())));
    let answer = router.answer(&Request { method, path, body, credentials, ..Request::default() });
    assert!((200..300).contains(&answer.status), "{answer:?}");
}

#[tokio::test]
async fn what_cuts_us_off_is_said_and_taken_back() {
    let tries = cuts().into_iter().map(|(tool, args, words)| async move {
        let mut fleet = Fleet::new(1, Profile::V7_21).await;
        lets_a_name_in(&fleet.routers[0]);
        assert!(fleet.routers[0].admits(true));
        let before = export(&fleet.routers[0]);
        let error = soon(fleet.plan(tool, args.clone())).await.expect_err(tool);
        assert_eq!(
            (error.code, &error.details["mcp_error_code"]),
            (ErrorCode::FailedPrecondition, &json!("UNSAFE_OPERATION"))
        );
        assert!(error.message.contains(words), "{tool}: {error:?}");
        let mut args = args;
        args["may_cut_off"] = json!(true);
        let plan = soon(fleet.plan(tool, args)).await.unwrap();
        assert_eq!(plan["risk_level"], "high", "{tool}");
        assert!(plan["devices"][0]["dangers"][0].as_str().unwrap().contains(words), "{tool}");
        fleet.listeners[0].follow_the_clock();
        let job = tokio::time::timeout(BACK, fleet.apply(&plan)).await.unwrap().unwrap();
        assert_eq!(statuses(&job), ["taken_back"], "{tool}: {job}");
        assert_eq!((export(&fleet.routers[0]), job["status"].as_str()), (before, Some("halted")), "{tool}");
        assert!(fleet.routers[0].admits(true) && fleet.routers[0].rows("system/scheduler").is_empty(), "{tool}");
    });
    futures::future::join_all(tries).await;
}

#[tokio::test]
async fn a_router_of_which_nothing_was_known_is_looked_at_when_its_plan_is_shown() {
    let fleet = Fleet::new(1, Profile::V7_21).await;
    let (tool, mut args, _) = cuts().remove(0);
    args["may_cut_off"] = json!(true);
    let plan = soon(fleet.plan(tool, args)).await.unwrap();
    // Its scheduler does not run, and so it is not back in time.
    let job = tokio::time::timeout(BACK, fleet.apply(&plan)).await.unwrap().unwrap();
    assert_eq!(statuses(&job), ["unknown"], "{job}");
    let now = async || {
        let shown = fleet.call("get_plan_details", json!({ "plan_id": plan["plan_id"] })).await.unwrap();
        shown["job"]["results"][0]["now"].clone()
    };
    assert_eq!(soon(now()).await, "unreachable");
    fleet.routers[0].advance(Duration::from_secs(6));
    assert_eq!(soon(now()).await, "as_before");
}

#[tokio::test]
async fn nor_does_a_reboot_or_a_clock_that_jumps_keep_it_away() {
    for fault in [None, Some(Fault::ClockJump(0)), Some(Fault::ClockJump(4_000_000_000))] {
        let mut fleet = Fleet::new(1, Profile::V7_16).await;
        let before = export(&fleet.routers[0]);
        let (tool, mut args, _) = cuts().remove(0);
        args["may_cut_off"] = json!(true);
        let plan = soon(fleet.plan(tool, args)).await.unwrap();
        fleet.listeners[0].follow_the_clock();
        let router = fleet.routers[0].clone();
        let happens = async {
            router.is_cut_off().await;
            match fault.clone() {
                Some(fault) => router.fault(fault),
                None => {
                    router.reboot();
                    router.advance(Duration::from_secs(21));
                }
            }
        };
        let (job, ()) = tokio::time::timeout(BACK, async { tokio::join!(fleet.apply(&plan), happens) }).await.unwrap();
        let job = job.unwrap();
        assert_eq!(statuses(&job), ["taken_back"], "{fault:?}: {job}");
        assert_eq!(export(&fleet.routers[0]), before, "{fault:?}");
    }
}

#[tokio::test]
async fn a_certificate_that_changes_meanwhile_ends_it_and_the_router_takes_it_back() {
    let mut fleet = Fleet::new(2, Profile::V7_21).await;
    let before = export(&fleet.routers[0]);
    let plan = soon(fleet.plan("config_plan_dns_ntp_rollout", json!({ "dns_servers": ["1.1.1.1"] }))).await.unwrap();
    fleet.listeners[0].follow_the_clock();
    let router = fleet.routers[0].clone();
    let asked = fleet.judge.clone();
    let changes = async {
        while asked.asked.lock().unwrap().is_empty() {
            router.has_heard(router.requests() + 1).await;
        }
        // From the next connection on.
        router.fault(Fault::OtherCertificate);
    };
    let (job, ()) = tokio::time::timeout(BACK, async { tokio::join!(fleet.apply(&plan), changes) }).await.unwrap();
    let job = job.unwrap();
    let seen = statuses(&job);
    assert!(matches!(seen[0], "unknown" | "failed") && seen[1] == "untouched", "{job}");
    fleet.routers[0].advance(Duration::from_secs(6));
    assert_eq!((export(&fleet.routers[0]), fleet.writes()[1]), (before, 0), "{job}");
    // And before anything is written: nothing is, at any router.
    let mut fleet = Fleet::new(2, Profile::V7_21).await;
    let plan = soon(fleet.plan("config_plan_dns_ntp_rollout", json!({ "dns_servers": ["1.1.1.1"] }))).await.unwrap();
    // Other connections.
    fleet.restart();
    fleet.routers[1].fault(Fault::OtherCertificate);
    let error = soon(fleet.apply(&plan)).await.unwrap_err();
    assert_eq!((error.code, fleet.writes()), (ErrorCode::VerificationFailed, vec![0, 0]), "{error:?}");
}

#[tokio::test]
async fn the_address_that_we_use_is_back_after_half_a_minute() {
    for profile in Profile::ALL {
        let fleet = Fleet::new(1, profile).await;
        let router = &fleet.routers[0];
        put(router, "ip/address", &[("address", "198.51.100.1/24"), ("interface", "bridge")]);
        let before = export(router);
        let mut args = json!({ "device_id": "r01", "address_id": "192.168.88.1/24" });
        let error = soon(fleet.call("remove_secondary_ip_address", args.clone())).await.unwrap_err();
        assert!(error.hint.as_ref().unwrap().starts_with("may_cut_off = true"), "{error:?}");
        args["may_cut_off"] = json!(true);
        let back = async {
            router.is_cut_off().await;
            router.advance(Duration::from_secs(31));
        };
        let removed = fleet.call("remove_secondary_ip_address", args);
        let (error, ()) = tokio::time::timeout(BACK, async { tokio::join!(removed, back) }).await.unwrap();
        let error = error.unwrap_err();
        assert!(error.message.starts_with("the router r01 took the change back"), "{error:?}");
        assert_eq!((export(router), error.details["changed"].clone()), (before, json!(false)));
        assert!(router.admits(true) && router.rows("system/scheduler").is_empty());
    }
}

#[tokio::test]
async fn which_of_two_addresses_is_ours_is_not_guessed() {
    let fleet = Fleet::new(1, Profile::V7_21).await;
    let router = &fleet.routers[0];
    put(router, "ip/address", &[("address", "192.168.88.2/24"), ("interface", "bridge")]);
    for address in ["192.168.88.1/24", "192.168.88.2/24"] {
        let args = json!({ "device_id": "r01", "address_id": address });
        let error = soon(fleet.call("remove_secondary_ip_address", args)).await.unwrap_err();
        assert_eq!(error.details["mcp_error_code"], "UNSAFE_OPERATION", "{address}: {error:?}");
    }
}

#[tokio::test]
async fn servers_that_do_not_answer_the_router_are_not_planned() {
    let fleet = Fleet::new(2, Profile::V7_21).await;
    for (servers, parameter) in [
        (json!({ "dns_servers": ["192.0.2.53", "192.0.2.54"] }), "dns_servers"),
        (json!({ "dns_servers": ["1.1.1.1"], "ntp_servers": ["time.invalid"] }), "ntp_servers"),
    ] {
        let error = soon(fleet.plan("config_plan_dns_ntp_rollout", servers.clone())).await.unwrap_err();
        assert_eq!((error.code, &error.details["parameter"]), (ErrorCode::FailedPrecondition, &json!(parameter)));
        let mut args = servers;
        args["check_reachable"] = json!(false);
        soon(fleet.plan("config_plan_dns_ntp_rollout", args)).await.unwrap();
    }
}
