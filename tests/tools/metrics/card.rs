//! What happens to samples on the card: power cuts, damage, no room.

use super::{Scene, at};
use serde_json::{Value, json};

#[tokio::test(start_paused = true)]
async fn a_power_cut_takes_what_was_in_memory_and_nothing_else() {
    let mut scene = Scene::new().await;
    scene.job(json!({"interval_seconds": 5})).await;
    scene.run(75, 5).await;
    let before = scene.samples(json!({"limit": 1000})).await;
    assert_eq!(before.len(), 76);
    scene.power_cut().await;
    let after = scene.samples(json!({"limit": 1000})).await;
    assert_eq!(after, before[..61], "what was flushed after five minutes is there, to the letter");
    assert_eq!(scene.only_job().await["status"], "running");
    scene.run(1, 5).await;
    assert_eq!(scene.samples(json!({"limit": 1000})).await.len(), 62, "and it goes on");
}

#[tokio::test(start_paused = true)]
async fn a_stop_in_order_loses_nothing() {
    let mut scene = Scene::new().await;
    scene.job(json!({"interval_seconds": 5})).await;
    scene.run(75, 5).await;
    let before = scene.samples(json!({"limit": 1000})).await;
    scene.restart().await;
    assert_eq!(scene.samples(json!({"limit": 1000})).await, before);
}

#[tokio::test(start_paused = true)]
async fn a_slow_job_does_not_wait_for_its_next_look_to_reach_the_card() {
    let mut scene = Scene::new().await;
    scene.job(json!({"interval_seconds": 3600, "metrics": ["load_average_1m"]})).await;
    scene.power_cut().await;
    assert_eq!(scene.samples(json!({})).await.len(), 1);
}

async fn sql(scene: &Scene, sql: &'static str) {
    scene.pi.services.store.run(move |connection| connection.execute_batch(sql)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_damaged_block_is_told_and_stepped_over() {
    let scene = Scene::new().await;
    scene.job(json!({"interval_seconds": 5, "metrics": ["load_average_1m"]})).await;
    scene.run(200, 5).await;
    let all = scene.samples(json!({"limit": 1000})).await;
    // The second of three blocks: one byte in the middle of it.
    sql(
        &scene,
        "UPDATE samples SET block = CAST(substr(block, 1, 9) || x'a5' || substr(block, 11) AS BLOB) WHERE key & 0xffffffff = 1",
    )
    .await;
    let answer = scene.call("get_samples", json!({"limit": 1000})).await.ok();
    assert_eq!(answer["damaged_blocks"], 1);
    let left = answer["samples"].as_array().unwrap();
    assert_eq!(*left, [&all[..61], &all[122..]].concat());
    assert_eq!(answer["pagination"]["total_count"], left.len());
    let page = scene.samples(json!({"limit": 10, "offset": 55})).await;
    assert_eq!(page, left[55..65], "pages lead over the gap");
    let args =
        json!({"metric_names": ["load_average_1m"], "start_time": at(0), "end_time": at(1010), "resolution": "1m"});
    let history = scene.call("query_history", args).await.ok();
    assert_eq!(history["damaged_blocks"], 1);
    assert!(history["data_points"].as_u64().unwrap() >= 10);

    sql(&scene, "UPDATE samples SET block = x'' WHERE key & 0xffffffff = 0").await;
    assert_eq!(scene.call("get_samples", json!({})).await.ok()["damaged_blocks"], 2);
}

#[tokio::test(start_paused = true)]
async fn a_full_card_is_told_everywhere_and_samples_wait() {
    let scene = Scene::new().await;
    scene.job(json!({"interval_seconds": 5})).await;
    scene.run(61, 5).await;
    sql(&scene, "PRAGMA max_page_count = 1").await;
    // What room there is on its pages it may still use.
    let mut steps = 61;
    while scene.only_job().await.get("fault").is_none() {
        assert!(steps < 5000, "it is never full");
        scene.run(61, 5).await;
        steps += 61;
    }
    let job = scene.only_job().await;
    assert_eq!((&job["samples"], &job["status"]), (&json!(steps + 1), &json!("running")), "none is lost yet");
    let fault = job["fault"].as_str().unwrap();
    assert!(fault.contains("full") && fault.contains("free some space"), "{fault}");
    let health = scene.pi.call("system.get_health_snapshot", json!({})).await.ok();
    assert_eq!(health["sampling_fault"], fault);

    // An hour of them waits, then the oldest go.
    scene.run(900, 5).await;
    let job = scene.only_job().await;
    let (samples, lost) = (job["samples"].as_u64().unwrap(), job["lost_samples"].as_u64().unwrap());
    assert!(samples + lost == steps + 901 && lost > 180, "{job:#}");
    let (stored, shown) = (job["stored_bytes"].clone(), scene.samples(json!({"limit": 1000})).await.len() as u64);
    assert_eq!(shown, samples.min(1000), "those in memory too");

    sql(&scene, "PRAGMA max_page_count = 1073741823").await;
    scene.run(61, 5).await;
    let job = scene.only_job().await;
    assert!(job.get("fault").is_none() && job["stored_bytes"].as_u64() > stored.as_u64(), "{job:#}");
    assert!(scene.pi.call("system.get_health_snapshot", json!({})).await.ok().get("sampling_fault").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_job_can_be_ended_while_the_card_takes_nothing() {
    let scene = Scene::new().await;
    scene.job(json!({"interval_seconds": 5})).await;
    scene.run(3, 5).await;
    sql(&scene, "PRAGMA query_only = 1").await;
    let ended = scene.call("stop_sampling_job", json!({"job_id": "job-1"})).await.ok();
    assert_eq!(ended["status"], "stopped");
    assert!(ended["fault"].as_str().unwrap().contains("readonly"), "{ended:#}");
    scene.run(3, 5).await;
    let jobs = scene.call("list_sampling_jobs", json!({})).await.ok();
    assert_eq!((&jobs["jobs"][0]["status"], &jobs["jobs"][0]["samples"]), (&json!("stopped"), &json!(4)));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_cannot_be_opened_is_an_answer_and_no_hang() {
    let tree = crate::support::trees::Copied::of("pi-5");
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("store.db")).unwrap();
    let wall = base::clock::Wall::of(|| super::START);
    let pi = crate::support::pi::Pi::living_in(crate::support::trees::machine(tree.root()), home.path(), wall);
    for (tool, args) in [
        ("metrics.start_sampling_job", json!({"interval_seconds": 5})),
        ("metrics.stop_sampling_job", json!({"job_id": "a"})),
        ("metrics.list_sampling_jobs", json!({})),
        ("metrics.get_samples", json!({})),
        ("metrics.query_history", json!({"metric_names": ["cpu_percent"], "start_time": at(-60)})),
    ] {
        assert_eq!(pi.call(tool, args).await.refused()["error_code"], "unavailable", "{tool}");
    }
    let now: Value = pi.call("metrics.get_realtime_metrics", json!({})).await.ok();
    assert!(now["metrics"]["memory_used_bytes"].as_u64().unwrap() > 0, "reads of the machine go on");
}

#[tokio::test(start_paused = true)]
async fn samples_take_no_more_than_they_may() {
    let mut scene = Scene::new().await;
    let store = scene.pi.services.store.clone();
    let wall = base::clock::Wall::of(|| super::START);
    let services = std::sync::Arc::get_mut(&mut scene.pi.services).unwrap();
    services.sampling = raspi_mcp::sampling::Sampling::new(store, 4000, wall);
    scene.pi.services.sampling.close().await.unwrap();
    scene.job(json!({"interval_seconds": 5})).await;
    scene.run(2000, 5).await;
    let job = scene.only_job().await;
    let bytes = job["stored_bytes"].as_u64().unwrap();
    assert!((1000..=4000).contains(&bytes) && job["samples"].as_u64().unwrap() < 2001, "{job:#}");
}
