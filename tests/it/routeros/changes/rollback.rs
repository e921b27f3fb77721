//! Taking an applied plan back.

use super::{Fleet, call, export, statuses};
use crate::support::served::soon;
use routeros_simulator::{Fault, Profile};
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn it_has_an_approval_of_its_own_and_is_done_once() {
    let fleet = Fleet::new(2, Profile::V7_21).await;
    let before = export(&fleet.routers[1]);
    let plan = soon(fleet.plan("config_plan_dns_ntp_rollout", json!({ "dns_servers": ["1.1.1.1"] }))).await.unwrap();
    soon(fleet.apply(&plan)).await.unwrap();
    let args = json!({ "plan_id": plan["plan_id"], "reason": "slow", "batch_pause_seconds": 0 });
    let subject = soon(fleet.service.subject(&call("config_rollback_plan", args.clone()))).await.unwrap();
    assert_ne!(subject["plan_hash"], plan["plan_hash"]);
    assert!(!subject.to_string().contains("slow"), "the reason is the caller's: {subject}");
    assert_eq!(subject["devices"][0]["changes"], json!(["Changes the DNS settings: servers from 1.1.1.1 to nothing."]));
    let job = soon(fleet.call("config_rollback_plan", args.clone())).await.unwrap();
    assert_eq!((statuses(&job), export(&fleet.routers[1])), (vec!["success", "success"], before));
    assert_eq!(fleet.judge.asked.lock().unwrap().last().unwrap().1, subject);
    let shown = soon(fleet.call("get_plan_details", json!({ "plan_id": plan["plan_id"] }))).await.unwrap();
    assert_eq!(shown["status"], "rolled_back");
    let error = soon(fleet.call("config_rollback_plan", args)).await.unwrap_err();
    assert!(error.message.contains("taken back already"), "{error:?}");
}

#[tokio::test]
async fn what_somebody_changed_since_is_not_overwritten() {
    let fleet = Fleet::new(1, Profile::V7_21).await;
    let route = json!({ "dst_address": "10.1.0.0/16", "gateway": "192.168.88.254" });
    let plan = soon(fleet.plan("plan_add_static_route", route)).await.unwrap();
    soon(fleet.apply(&plan)).await.unwrap();
    let to = json!({ "route": { "dst_address": "10.1.0.0/16" }, "gateway": "192.168.88.253" });
    let other = soon(fleet.plan("plan_modify_static_route", to)).await.unwrap();
    soon(fleet.apply(&other)).await.unwrap();
    let (before, writes) = (export(&fleet.routers[0]), fleet.writes());
    let args = json!({ "plan_id": plan["plan_id"], "reason": "test" });
    let error = soon(fleet.call("config_rollback_plan", args)).await.unwrap_err();
    assert!(error.message.contains("has no row"), "{error:?}");
    assert_eq!((export(&fleet.routers[0]), fleet.writes()), (before, writes));
}

/// Order matters among rules, and ids are other rows' after a start of the router.
#[tokio::test]
async fn a_removed_rule_comes_back_where_it_was_after_the_router_was_restarted() {
    let fleet = Fleet::new(1, Profile::V7_21).await;
    let router = &fleet.routers[0];
    let before = export(router);
    let rule = json!({ "rule": { "comment": "defconf: drop invalid", "chain": "forward" } });
    let plan = soon(fleet.plan("plan_remove_firewall_rule", rule)).await.unwrap();
    assert_eq!(statuses(&soon(fleet.apply(&plan)).await.unwrap()), ["success"]);
    assert_ne!(export(router), before);
    router.fault(Fault::OtherIds);
    router.reboot();
    router.advance(Duration::from_secs(60));
    let args = json!({ "plan_id": plan["plan_id"], "reason": "test", "batch_pause_seconds": 0 });
    let subject = soon(fleet.service.subject(&call("config_rollback_plan", args.clone()))).await.unwrap();
    let said = subject["devices"][0]["changes"][0].as_str().unwrap();
    assert!(said.contains("before the one with") && !said.contains(".id"), "a person is told the place: {said}");
    let job = soon(fleet.call("config_rollback_plan", args)).await.unwrap();
    assert_eq!((statuses(&job), export(router)), (vec!["success"], before));
}
