//! The job that runs by the configuration, not for a caller.

use super::{Scene, at};
use crate::support::served::{
    Door, PATIENCE, Wire,
    process::{Process, command},
    soon,
};
use raspi_mcp::sampling::DefaultJob;
use serde_json::{Value, json};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};

async fn settle(scene: &Scene, wanted: DefaultJob) {
    scene.pi.services.sampling.settle_default(wanted).await.unwrap();
}

async fn jobs(scene: &Scene) -> Vec<Value> {
    scene.call("list_sampling_jobs", json!({})).await.ok()["jobs"].as_array().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn it_is_there_once_and_goes_on_after_a_restart() {
    let mut scene = Scene::new().await;
    settle(&scene, DefaultJob::Leave).await;
    assert_eq!(jobs(&scene).await.len(), 0);
    settle(&scene, DefaultJob::Run).await;
    settle(&scene, DefaultJob::Run).await;
    let job = scene.only_job().await;
    assert_eq!(
        (&job["job_id"], &job["default"], &job["status"], &job["interval_seconds"], &job["retention_hours"]),
        (&json!("default"), &json!(true), &json!("running"), &json!(60), &json!(48))
    );
    assert_eq!(job["metrics"].as_array().unwrap().len(), 17);
    assert_eq!(job["written_per_day_bytes"], 288 * (8_500 + 5 * 160));
    scene.run(1, 0).await;
    scene.run(10, 60).await;
    scene.restart().await;
    settle(&scene, DefaultJob::Run).await;
    let again = scene.only_job().await;
    assert_eq!((&again["samples"], &again["created_at"]), (&json!(11), &json!(at(0))));
    scene.run(1, 60).await;
    assert_eq!(scene.only_job().await["samples"], 12);
}

#[tokio::test(start_paused = true)]
async fn two_days_of_it_are_all_it_keeps() {
    let scene = Scene::new().await;
    settle(&scene, DefaultJob::Run).await;
    scene.run(50 * 60, 60).await;
    let job = scene.only_job().await;
    let (samples, bytes) = (job["samples"].as_u64().unwrap(), job["stored_bytes"].as_u64().unwrap());
    assert!((2870..=2960).contains(&samples), "48 hours, and what is due to go within the hour: {job:#}");
    assert!((50_000..400_000).contains(&bytes), "{job:#}");
}

#[tokio::test(start_paused = true)]
async fn no_caller_ends_it_and_it_takes_nobodys_place() {
    let scene = Scene::new().await;
    settle(&scene, DefaultJob::Run).await;
    scene.run(5, 60).await;
    for args in [json!({}), json!({"discard_samples": true}), json!({"dry_run": true})] {
        let mut args = args;
        args["job_id"] = json!("default");
        let refusal = scene.call("stop_sampling_job", args).await.refused();
        assert_eq!(refusal["error_code"], "failed_precondition");
        assert!(refusal["hint"].as_str().unwrap().contains("default_job = false"), "{refusal}");
    }
    assert_eq!((&scene.only_job().await["status"], &scene.only_job().await["samples"]), (&json!("running"), &json!(5)));
    for n in 1..=8 {
        assert_eq!(scene.job(json!({"interval_seconds": 60})).await["job_id"], format!("job-{n}"));
    }
    let refusal = scene.call("start_sampling_job", json!({"interval_seconds": 60})).await.refused();
    assert_eq!(refusal["error_code"], "resource_exhausted");
    let refusal =
        scene.call("start_sampling_job", json!({"interval_seconds": 60, "job_id": "default"})).await.refused();
    assert_eq!(refusal["error_code"], "conflict");
    assert!(jobs(&scene).await[1].get("default").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_job_of_that_name_stays_its_callers() {
    let mut scene = Scene::new().await;
    scene.job(json!({"interval_seconds": 5, "job_id": "default"})).await;
    settle(&scene, DefaultJob::Run).await;
    let names = |jobs: Vec<Value>| jobs.iter().map(|job| job["job_id"].clone()).collect::<Vec<_>>();
    assert_eq!(names(jobs(&scene).await), ["default-2", "default"]);
    scene.restart().await;
    settle(&scene, DefaultJob::Run).await;
    assert_eq!(names(jobs(&scene).await), ["default-2", "default"]);
    let stopped = scene.call("stop_sampling_job", json!({"job_id": "default"})).await.ok();
    assert_eq!((&stopped["status"], stopped.get("default")), (&json!("stopped"), None));
}

#[tokio::test(start_paused = true)]
async fn switched_off_it_ends_and_its_samples_stay_until_they_are_old() {
    let mut scene = Scene::new().await;
    settle(&scene, DefaultJob::Run).await;
    scene.run(1, 0).await;
    scene.run(9, 60).await;
    scene.restart().await;
    settle(&scene, DefaultJob::End).await;
    let job = scene.only_job().await;
    assert_eq!((&job["status"], &job["samples"], &job["stopped_at"]), (&json!("stopped"), &json!(10), &json!(at(540))));
    assert!(job.get("written_per_day_bytes").is_none());
    scene.run(5, 60).await;
    assert_eq!(scene.only_job().await["samples"], 10, "it rests");
    scene.restart().await;
    settle(&scene, DefaultJob::Leave).await;
    assert_eq!(scene.only_job().await["status"], "stopped");

    settle(&scene, DefaultJob::Run).await;
    scene.run(2, 60).await;
    let job = scene.only_job().await;
    assert_eq!((&job["status"], &job["samples"], job.get("stopped_at")), (&json!("running"), &json!(12), None));
    settle(&scene, DefaultJob::End).await;
    let gone = scene.call("stop_sampling_job", json!({"job_id": "default", "discard_samples": true})).await.ok();
    assert_eq!(gone["samples"], 0, "ended it is a job like others");
    assert_eq!(jobs(&scene).await.len(), 0);
}

/// The real program before a board that is no simulated one, until it is dropped.
async fn service(root: &TempDir, default_job: &str) -> (tokio::process::Child, Wire) {
    let mut command = command(root, &["serve", "--http", "127.0.0.1:0"]);
    command.env("RASPI_MCP__BOARD", "linux").env("RASPI_MCP__AGENT", "socket");
    let mut child = command.env("RASPI_MCP__METRICS__DEFAULT_JOB", default_job).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let url = loop {
        let line = soon(lines.next_line()).await.unwrap().expect("it listens");
        if let Some((_, found)) = line.split_once("listening on http") {
            break format!("http{}", found.split_whitespace().next().unwrap());
        }
    };
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    let mut wire = Wire::http(Door::Http, url);
    wire.initialize("2025-11-25", "a client").await.result();
    (child, wire)
}

#[tokio::test]
async fn the_service_on_a_real_board_has_it_and_no_other_server() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let root = TempDir::new().unwrap();
    let (child, mut wire) = service(&root, "true").await;
    let began = std::time::Instant::now();
    loop {
        let list = wire.call("metrics.list_sampling_jobs", json!({})).await.ok().clone();
        if list["jobs"][0]["samples"].as_u64() >= Some(1) {
            assert_eq!((&list["jobs"][0]["job_id"], &list["jobs"][0]["default"]), (&json!("default"), &json!(true)));
            break;
        }
        assert!(began.elapsed() < PATIENCE, "it takes no first sample: {list:#}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    drop((child, wire));

    let root = TempDir::new().unwrap();
    let (child, mut wire) = service(&root, "false").await;
    let list = wire.call("metrics.list_sampling_jobs", json!({})).await.ok().clone();
    assert_eq!(list["jobs"], json!([]));
    assert!(list["note"].as_str().unwrap().contains("metrics.start_sampling_job"), "{list}");
    drop((child, wire));

    let (mut stdio, mut wire) = Process::stdio(&[]);
    assert_eq!(wire.call("metrics.list_sampling_jobs", json!({})).await.ok()["jobs"], json!([]));
    drop(wire);
    assert_eq!(stdio.ended().await, Some(0));
}
