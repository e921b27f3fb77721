//! The process ends between any two requests of a job for several routers, and goes on when it is started again.

use super::{Fleet, Judge, call, export, id, process};
use crate::support::served::soon;
use raspi_mcp::routeros::{
    Device,
    plans::{Step, resume},
    routers::Standing,
};
use routeros_simulator::{Profile, Router};
use serde_json::{Value, json};
use std::{path::PathBuf, sync::Arc, time::Duration};

/// Runs a call in a process of its own, as far as tasks go, which ends when `router` has heard so many requests. Whether the
/// call came to its end before.
pub(super) async fn ended_at(
    devices: Vec<(Device, Standing)>,
    folder: PathBuf,
    judge: Arc<Judge>,
    (tool, args): (&'static str, Value),
    router: Router,
    requests: u64,
) -> bool {
    let (tell, told) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let is_done = runtime.block_on(async {
            let service = process(&devices, &folder, judge);
            tokio::select! {
                biased;
                () = router.has_heard(requests) => false,
                done = service.call(call(tool, args)) => { done.unwrap(); true }
            }
        });
        // All its tasks end here, wherever they are.
        drop(runtime);
        let _ = tell.send(is_done);
    });
    told.await.unwrap()
}

/// What was done before the end is read, never done again. What is taken back is a script, and the scheduler's entries are others.
fn never_written_twice(router: &Router, at: u64) {
    let written = router.written();
    let of_the_plan =
        || written.iter().filter(|line| !line.contains(" system/scheduler") && !line.contains(" execute "));
    for line in of_the_plan() {
        let times = of_the_plan().filter(|other| *other == line).count();
        assert_eq!(times, 1, "after {at} requests, {line} was written {times} times");
    }
    for kind in ["timer", "start"] {
        let armed = written
            .iter()
            .filter(|line| line.starts_with("PUT system/scheduler ") && line.contains(&format!("-{kind}\"")))
            .count();
        assert!(armed <= 1, "after {at} requests the way back was armed {armed} times");
    }
}

/// The job ends at every request of the router `victim` in turn.
async fn killed_everywhere(victim: usize, plan: (&str, Value), apply: &'static str) {
    let (mut at, mut kept, mut back) = (1, 0, 0);
    loop {
        let mut fleet = Fleet::new(3, Profile::V7_21).await;
        let before: Vec<String> = fleet.routers.iter().map(export).collect();
        let plan = soon(fleet.plan(plan.0, plan.1.clone())).await.unwrap();
        let until = fleet.routers[victim].requests() + at;
        let args = json!({ "plan_id": plan["plan_id"], "batch_pause_seconds": 0 });
        let ended = ended_at(
            fleet.configured(),
            fleet.folder.path().to_owned(),
            Arc::clone(&fleet.judge),
            (apply, args),
            fleet.routers[victim].clone(),
            until,
        );
        if soon(ended).await {
            break;
        }
        // Once the router takes it back before the process is there again, once after a power cut, once not at all.
        match at % 3 {
            0 => fleet.routers.iter().for_each(|router| router.advance(Duration::from_secs(6))),
            1 => {
                fleet.routers[victim].reboot();
                fleet.routers[victim].advance(Duration::from_secs(21));
            }
            _ => {}
        }
        fleet.restart();
        let jobs = soon(resume(&fleet.service)).await.unwrap();
        for job in &jobs {
            assert_ne!(job.state, "running", "after {at} requests");
            for (n, device) in job.devices.iter().enumerate() {
                let is_as_before = export(&fleet.routers[n]) == before[n];
                assert_eq!(is_as_before, device.status != Step::Success, "after {at} requests: {job:?}");
                assert!(
                    !matches!(device.status, Step::Waiting | Step::Writing | Step::Unknown),
                    "after {at} requests: {job:?}"
                );
            }
            let untouched = job.devices.iter().skip_while(|device| device.status == Step::Success).skip(1);
            assert!(untouched.clone().all(|device| device.status == Step::Untouched), "after {at} requests: {job:?}");
            if job.state == "done" { kept += 1 } else { back += 1 }
        }
        if jobs.is_empty() {
            // Before its first step, or after its last one.
            let is_one = |n: usize| export(&fleet.routers[n]) == before[n];
            assert!((0..3).all(is_one) || (0..3).all(|n| !is_one(n)), "after {at} requests");
        }
        for router in &fleet.routers {
            never_written_twice(router, at);
            assert!(router.rows("system/scheduler").is_empty(), "after {at} requests");
            router.advance(Duration::from_secs(10));
        }
        assert!(soon(resume(&fleet.service)).await.unwrap().is_empty(), "it is resumed once");
        at += 1;
    }
    assert!(at > 10 && kept > 0 && back > 0, "{at} requests, {kept} went on, {back} went back");
}

#[tokio::test]
async fn a_rollout_is_resumed_at_its_first_router() {
    let plan = ("config_plan_dns_ntp_rollout", json!({ "dns_servers": ["1.1.1.1"], "ntp_servers": ["time.example"] }));
    killed_everywhere(0, plan, "config_apply_dns_ntp_rollout").await;
}

#[tokio::test]
async fn a_list_with_removals_is_resumed_at_its_second_router() {
    let list = json!({ "list_name": "mcp-blocked", "addresses": [{ "address": "10.0.1.100" }] });
    killed_everywhere(1, ("config_plan_address_list_sync", list), "config_apply_address_list_sync").await;
}

#[tokio::test]
async fn a_router_that_is_gone_ends_a_resumed_job() {
    let mut fleet = Fleet::new(3, Profile::V7_21).await;
    let plan = soon(fleet.plan("config_plan_dns_ntp_rollout", json!({ "dns_servers": ["1.1.1.1"] }))).await.unwrap();
    let args = json!({ "plan_id": plan["plan_id"] });
    let heard = fleet.routers[0].requests() + 7;
    let tool = ("config_apply_dns_ntp_rollout", args);
    let folder = fleet.folder.path().to_owned();
    assert!(
        !soon(ended_at(fleet.configured(), folder, Arc::clone(&fleet.judge), tool, fleet.routers[0].clone(), heard))
            .await
    );
    let mut standing = fleet.configured()[0].1.clone();
    standing.allow_professional = false;
    fleet.with_standing(standing);
    let jobs = soon(resume(&fleet.service)).await.unwrap();
    assert_eq!(jobs[0].devices[0].status, Step::Unknown, "{jobs:?}");
    assert_eq!((jobs[0].devices[1].status, jobs[0].devices[1].device_id.as_str()), (Step::Untouched, id(1).as_str()));
}
