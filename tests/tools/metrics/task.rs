//! The sampler's own task: it looks by itself, sleeps in between, and is there only while there is a job.

use crate::support::{
    pi::Pi,
    served::{Door, PATIENCE, Wire, process::command, soon},
};
use serde_json::{Value, json};
use std::time::Duration;
use tempfile::TempDir;
use tokio::{process::Child, time::sleep};

/// Lets time run until the job has that many samples. While the store's thread works, time here runs ahead of it, so how
/// long that is may differ; that it ends may not.
async fn grows_to(pi: &Pi, job: usize, count: u64) {
    for _ in 0..1000 {
        sleep(Duration::from_secs(5)).await;
        let jobs = pi.call("metrics.list_sampling_jobs", json!({})).await.ok();
        if jobs["jobs"][job]["samples"].as_u64() >= Some(count) {
            return;
        }
    }
    panic!("nobody looks");
}

#[tokio::test(start_paused = true)]
async fn it_looks_by_itself_while_there_is_a_job() {
    let pi = Pi::like("pi-5");
    pi.call("metrics.start_sampling_job", json!({"interval_seconds": 5, "metrics": ["load_average_1m"]})).await.ok();
    grows_to(&pi, 0, 100).await;
    pi.call("metrics.stop_sampling_job", json!({"job_id": "job-1"})).await.ok();
    let ended = pi.call("metrics.list_sampling_jobs", json!({})).await.ok();
    sleep(Duration::from_secs(600)).await;
    assert_eq!(pi.call("metrics.list_sampling_jobs", json!({})).await.ok(), ended);
    pi.call("metrics.start_sampling_job", json!({"interval_seconds": 5, "job_id": "again"})).await.ok();
    grows_to(&pi, 1, 10).await;
}

#[tokio::test]
async fn a_new_job_wakes_a_task_that_sleeps_for_another() {
    let pi = Pi::like("pi-5");
    for n in [1, 2] {
        let args = json!({"interval_seconds": 3600, "metrics": ["load_average_1m"]});
        pi.call("metrics.start_sampling_job", args).await.ok();
        let began = std::time::Instant::now();
        while pi.call("metrics.list_sampling_jobs", json!({})).await.ok()["jobs"][n - 1]["samples"] != 1 {
            assert!(began.elapsed() < PATIENCE, "job {n} takes no first sample");
            tokio::task::yield_now().await;
        }
    }
}

/// A server of its own process, until its client hangs up.
async fn conversation(root: &TempDir, role: &str, enable: &str) -> (Child, Wire) {
    let mut command = command(root, &["serve", "--stdio", "--role", role]);
    let mut child = command.env("RASPI_MCP__TOOLS__ENABLE", enable).spawn().unwrap();
    let wire = Wire::lines(Door::Stdio, child.stdout.take().unwrap(), child.stdin.take().unwrap());
    (child, wire)
}

/// Waits, in real time, until the only job has that many samples.
async fn until(wire: &mut Wire, count: u64) -> Value {
    let began = std::time::Instant::now();
    loop {
        let jobs = wire.call("metrics.list_sampling_jobs", json!({})).await.ok().clone();
        if jobs["jobs"][0]["samples"].as_u64() >= Some(count) {
            return jobs["jobs"][0].clone();
        }
        assert!(began.elapsed() < PATIENCE, "{jobs:#}");
        // The server is another process: leave it the processor.
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_server_goes_on_with_its_jobs_after_a_restart() {
    let root = TempDir::new().unwrap();
    let (mut child, mut wire) = conversation(&root, "ops_rw", "metrics").await;
    let started = wire.call("metrics.start_sampling_job", json!({"interval_seconds": 3600, "job_id": "kept"})).await;
    assert_eq!((&started.ok()["status"], &started.meta()["changed"]), (&json!("running"), &json!(true)));
    let first = until(&mut wire, 1).await;
    drop(wire);
    assert!(soon(child.wait()).await.unwrap().success());

    let (mut child, mut wire) = conversation(&root, "read_only", "").await;
    let second = until(&mut wire, 2).await;
    assert_eq!((&second["job_id"], &second["created_at"]), (&json!("kept"), &first["created_at"]));
    assert_eq!(second["first_sample_at"], first["first_sample_at"]);
    let samples = wire.call("metrics.get_samples", json!({"job_id": "kept"})).await;
    assert!(samples.ok()["samples"][0]["memory_used_bytes"].as_u64().unwrap() > 0);
    drop(wire);
    assert!(soon(child.wait()).await.unwrap().success());
}

#[tokio::test]
async fn writes_are_for_operators_once_they_are_enabled() {
    for (role, enable) in [("read_only", "metrics"), ("ops_rw", "")] {
        let (_child, mut wire) = conversation(&TempDir::new().unwrap(), role, enable).await;
        for (tool, args) in [
            ("metrics.start_sampling_job", json!({"interval_seconds": 5})),
            ("metrics.start_sampling_job", json!({"interval_seconds": 5, "dry_run": true})),
            ("metrics.stop_sampling_job", json!({"job_id": "job-1"})),
        ] {
            wire.call(tool, args).await.failed("permission_denied");
        }
        assert_eq!(wire.call("metrics.list_sampling_jobs", json!({})).await.ok()["jobs"], json!([]));
    }
}
