//! A router is open for plans once its way back was seen to work with its version.

use super::Fleet;
use crate::support::served::soon;
use base::error::ErrorCode;
use contract::meta::Environment;
use raspi_mcp::routeros::{plans, routers::Standing};
use routeros_simulator::{Fault, Profile};
use serde_json::json;
use std::{collections::BTreeMap, time::Duration};

fn open() -> Standing {
    Standing { environment: Environment::Lab, tags: BTreeMap::new(), allow_advanced: true, allow_professional: true }
}

#[tokio::test]
async fn only_a_router_that_took_a_change_back_by_itself_is_planned_for() {
    for profile in Profile::ALL {
        let mut fleet = Fleet::with(1, profile, open()).await;
        let dns = json!({ "dns_servers": ["1.1.1.1"] });
        let error = soon(fleet.plan("config_plan_dns_ntp_rollout", dns.clone())).await.unwrap_err();
        assert_eq!((error.code, fleet.writes()), (ErrorCode::FailedPrecondition, vec![0]), "{error:?}");
        assert!(error.hint.as_ref().unwrap().contains("raspi-mcp routeros test r01"), "{error:?}");

        let before = super::export(&fleet.routers[0]);
        fleet.listeners[0].follow_the_clock();
        let tested = tokio::time::timeout(Duration::from_secs(40), plans::test(&fleet.service, "r01")).await.unwrap();
        assert_eq!(tested.unwrap(), profile.version());
        assert_eq!((super::export(&fleet.routers[0]), fleet.routers[0].rows("system/scheduler").len()), (before, 0));
        let plan = soon(fleet.plan("config_plan_dns_ntp_rollout", dns)).await;
        assert!(plan.is_ok(), "{plan:?}");
    }
}

#[tokio::test]
async fn a_scheduler_that_does_not_run_is_found_and_nothing_is_left() {
    let fleet = Fleet::with(1, Profile::V7_21, open()).await;
    let before = super::export(&fleet.routers[0]);
    // Its time stands still.
    let tested = tokio::time::timeout(Duration::from_secs(40), plans::test(&fleet.service, "r01")).await.unwrap();
    let error = tested.unwrap_err();
    assert!(error.message.contains("did not take a change back by itself"), "{error:?}");
    assert_eq!((super::export(&fleet.routers[0]), fleet.routers[0].rows("system/scheduler").len()), (before, 0));
    let plan = soon(fleet.plan("config_plan_dns_ntp_rollout", json!({ "dns_servers": ["1.1.1.1"] }))).await;
    assert!(plan.is_err());
}

#[tokio::test]
async fn another_version_is_tested_again() {
    let fleet = Fleet::with(1, Profile::V7_21, open()).await;
    fleet.service.work.files.keep_test("r01", Profile::V7_16.version()).unwrap();
    let error =
        soon(fleet.plan("config_plan_dns_ntp_rollout", json!({ "dns_servers": ["1.1.1.1"] }))).await.unwrap_err();
    assert!(error.message.contains("tested with RouterOS 7.16.2"), "{error:?}");
    fleet.routers[0].fault(Fault::DiskFull);
    assert!(plans::test(&fleet.service, "r01").await.is_err());
}
