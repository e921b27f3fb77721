//! Many routers: the first failure ends it, a cancellation ends it between two, and a plan for a hundred is quick.

use super::{Fleet, call, export, id, statuses};
use crate::support::served::soon;
use base::error::ErrorCode;
use routeros_simulator::{Fault, Profile};
use serde_json::{Value, json};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

fn dns() -> Value {
    json!({ "dns_servers": ["1.1.1.1", "1.0.0.1"] })
}

#[tokio::test]
async fn of_twenty_the_third_fails_and_seventeen_are_untouched() {
    let fleet = Fleet::new(20, Profile::V7_21).await;
    let before = export(&fleet.routers[2]);
    let plan = soon(fleet.plan("config_plan_dns_ntp_rollout", dns())).await.unwrap();
    assert_eq!(plan["total_devices"], 20);
    fleet.routers[2].fault(Fault::DiskFull);
    let job = soon(fleet.apply(&plan)).await.unwrap();
    let mut expected = vec!["success", "success", "failed"];
    expected.resize(20, "untouched");
    assert_eq!(statuses(&job), expected);
    assert_eq!((&job["successful"], &job["failed"], &job["untouched"]), (&json!(2), &json!(1), &json!(17)));
    assert_eq!(export(&fleet.routers[2]), before);
    assert!(fleet.writes()[2..].iter().all(|writes| *writes == 0), "{:?}", fleet.writes());
    assert!(fleet.routers[..2].iter().all(|router| export(router) != before), "two are confirmed");
    // And two are taken back, if that is wanted.
    fleet.routers[2].mend();
    let back = json!({ "plan_id": plan["plan_id"], "reason": "the third failed" });
    let job = soon(fleet.call("config_rollback_plan", back)).await.unwrap();
    assert_eq!(statuses(&job), ["success", "success"]);
    assert!(fleet.routers.iter().all(|router| export(router) == before));
}

#[tokio::test]
async fn a_cancelled_job_ends_between_two_routers_and_says_how_far_it_came() {
    let fleet = Fleet::new(4, Profile::V7_21).await;
    let plan = soon(fleet.plan("config_plan_dns_ntp_rollout", dns())).await.unwrap();
    // A pause after each router, which the cancellation ends.
    let args = json!({ "plan_id": plan["plan_id"], "batch_size": 1, "batch_pause_seconds": 600 });
    let mut apply = call("config_apply_dns_ntp_rollout", args);
    let (cancel, said) = (apply.cancel.clone(), Arc::new(std::sync::Mutex::new(Vec::new())));
    let heard = Arc::clone(&said);
    apply.progress = Arc::new(move |done, total, device| {
        heard.lock().unwrap().push((done, total, device.to_owned()));
        cancel.cancel();
    });
    let job = soon(fleet.service.call(apply)).await.unwrap();
    assert_eq!(statuses(&job), ["success", "untouched", "untouched", "untouched"]);
    assert_eq!((&job["status"], said.lock().unwrap()[..].to_vec()), (&json!("cancelled"), vec![(1, 4, id(0))]));
}

#[tokio::test]
async fn a_router_that_was_changed_meanwhile_stops_all_of_them() {
    let fleet = Fleet::new(3, Profile::V7_21).await;
    let plan = soon(fleet.plan("config_plan_dns_ntp_rollout", dns())).await.unwrap();
    let other = json!({ "device_id": "r02", "dns_servers": ["9.9.9.9"] });
    soon(fleet.call("update_dns_servers", other)).await.unwrap();
    let before = fleet.writes();
    let asked = fleet.judge.asked.lock().unwrap().len();
    let error = soon(fleet.apply(&plan)).await.unwrap_err();
    assert_eq!((error.code, &error.details["device_id"]), (ErrorCode::Conflict, &json!("r02")), "{error:?}");
    assert_eq!((fleet.writes(), fleet.judge.asked.lock().unwrap().len()), (before, asked));
}

#[tokio::test]
async fn every_router_that_cannot_be_planned_is_named() {
    let fleet = Fleet::new(4, Profile::V7_21).await;
    for at in [1, 3] {
        fleet.routers[at].reboot();
        fleet.routers[at].advance(Duration::from_secs(21));
        fleet.routers[at].fault(Fault::OtherCertificate);
    }
    let error = soon(fleet.plan("config_plan_dns_ntp_rollout", dns())).await.unwrap_err();
    let named: Vec<&Value> = error.details["devices"].as_array().unwrap().iter().map(|one| &one["device_id"]).collect();
    assert_eq!(named, [&json!("r02"), &json!("r04")], "{error:?}");
}

#[tokio::test]
async fn connections_that_break_after_every_write_do_no_harm() {
    let fleet = Fleet::new(2, Profile::V7_16).await;
    let before = export(&fleet.routers[0]);
    let plan = soon(fleet.plan("config_plan_dns_ntp_rollout", dns())).await.unwrap();
    let router = fleet.routers[0].clone();
    let cuts = async {
        loop {
            router.fault(Fault::CutAfterWrite);
            router.has_heard(router.requests() + 2).await;
        }
    };
    let job = soon(async {
        tokio::select! { job = fleet.apply(&plan) => job.unwrap(), () = cuts => unreachable!() }
    });
    let job = job.await;
    let status = statuses(&job)[0].to_owned();
    assert_eq!(export(&fleet.routers[0]) == before, status != "success", "{job}");
    assert_ne!(status, "unknown", "{job}");
}

/// `cargo test --release --test it -- --ignored --nocapture a_plan_for_a_hundred`
#[tokio::test]
#[ignore = "a measurement"]
async fn a_plan_for_a_hundred_routers_takes_less_than_ten_seconds() {
    let fleet = Fleet::new(100, Profile::V7_21).await;
    for router in &fleet.routers {
        router.fault(Fault::Slow(Duration::from_millis(20)));
    }
    let begun = Instant::now();
    let plan = fleet.plan("config_plan_dns_ntp_rollout", dns()).await.unwrap();
    let cold = begun.elapsed();
    assert_eq!(plan["total_devices"], 100);
    fleet.plan("config_plan_dns_ntp_rollout", dns()).await.unwrap();
    println!("a plan for 100 routers of 20 ms: {cold:?}, {:?} once more", begun.elapsed() - cold);
    assert!(cold < Duration::from_secs(10), "{cold:?}");
}
