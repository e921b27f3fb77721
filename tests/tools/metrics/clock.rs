//! Clocks that jump, machines that sleep, samples that age.

use super::{Scene, at};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::advance;

async fn times(scene: &Scene) -> Vec<String> {
    let samples = scene.samples(json!({"limit": 1000})).await;
    samples.iter().map(|sample| sample["timestamp"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_back_repeats_times_and_loses_nothing() {
    let scene = Scene::new().await;
    scene.job(json!({"interval_seconds": 60, "metrics": ["load_average_1m"]})).await;
    scene.run(7, 60).await;
    scene.set_clock(-180);
    scene.run(7, 60).await;
    let expected: Vec<String> = (0..=7).chain(5..=11).map(|minute| at(minute * 60)).collect();
    assert_eq!(times(&scene).await, expected, "the interval goes on, by a clock that nobody sets");
    let args =
        json!({"metric_names": ["load_average_1m"], "start_time": at(0), "end_time": at(720), "resolution": "1m"});
    let history = scene.call("query_history", args).await.ok();
    assert_eq!(history["data_points"], 12, "each minute once");
    assert_eq!(scene.samples(json!({"since": at(300), "until": at(420)})).await.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_ahead_or_a_machine_that_slept_leaves_a_gap() {
    let scene = Scene::new().await;
    scene.job(json!({"interval_seconds": 5, "metrics": ["load_average_1m"]})).await;
    scene.run(2, 5).await;
    scene.set_clock(3600);
    scene.run(2, 5).await;
    assert_eq!(times(&scene).await, [0, 5, 10, 3615, 3620].map(at));
    // A machine too busy to look for a while looks once, not twelve times.
    advance(Duration::from_secs(62)).await;
    scene.run(1, 0).await;
    scene.run(1, 3).await;
    assert_eq!(times(&scene).await[5..], [3682, 3685].map(at));
}

#[tokio::test(start_paused = true)]
async fn samples_age_out_on_time_and_their_space_with_them() {
    let scene = Scene::new().await;
    scene.job(json!({"interval_seconds": 60, "retention_hours": 1, "metrics": ["load_average_1m"]})).await;
    scene.run(60 * 3, 60).await;
    let all = times(&scene).await;
    assert_eq!(
        (all.first(), all.last(), all.len()),
        (Some(&at(7200)), Some(&at(10_800)), 61),
        "an hour, to the minute"
    );
    let kept = scene.only_job().await["samples"].as_u64().unwrap();
    assert!((61..=61 + 65).contains(&kept), "what nobody sees any more is deleted every hour: {kept}");

    scene.call("stop_sampling_job", json!({"job_id": "job-1"})).await.ok();
    advance(Duration::from_secs(3599)).await;
    assert_eq!(times(&scene).await.len(), 1);
    advance(Duration::from_secs(3600)).await;
    assert_eq!(
        scene.call("list_sampling_jobs", json!({})).await.ok()["jobs"],
        json!([]),
        "it has gone with its last sample"
    );
}

#[tokio::test(start_paused = true)]
async fn samples_of_a_clock_that_ran_ahead_do_not_stay_for_years() {
    let scene = Scene::new().await;
    scene.set_clock(10 * 365 * 86_400);
    scene.job(json!({"interval_seconds": 3600, "retention_hours": 1, "metrics": ["load_average_1m"]})).await;
    scene.run(3, 3600).await;
    scene.set_clock(-10 * 365 * 86_400);
    // An hour of them is shown as it was taken, until there are more than fit its retention.
    assert_eq!(times(&scene).await.len(), 2);
    scene.run(740, 3600).await;
    let newest = times(&scene).await;
    assert!(newest.iter().all(|time| time.starts_with("2026")), "{newest:?}");
    assert!(scene.only_job().await["samples"].as_u64().unwrap() < 730);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_was_never_set_samples_all_the_same() {
    let scene = Scene::new().await;
    scene.set_clock(-super::START / 1000);
    scene.job(json!({"interval_seconds": 5, "metrics": ["load_average_1m"]})).await;
    scene.run(1, 5).await;
    assert_eq!(times(&scene).await, ["1970-01-01T00:00:00.000Z", "1970-01-01T00:00:05.000Z"]);
    scene.set_clock(super::START / 1000);
    scene.run(1, 5).await;
    let samples: Vec<Value> = scene.samples(json!({})).await;
    assert_eq!((samples.len(), &samples[0]["timestamp"]), (1, &json!(at(10))), "what is from 1970 is old now");
}
