//! `metrics.query_history`: buckets and their borders.

use super::{START, Scene, at};
use serde_json::{Value, json};

async fn history(scene: &Scene, args: Value) -> Value {
    scene.call("query_history", args).await.ok()
}

#[tokio::test(start_paused = true)]
async fn means_least_and_most_by_the_names_that_were_asked_for() {
    let scene = Scene::new().await;
    scene.job(json!({"interval_seconds": 5})).await;
    for n in 1..=36 {
        scene.celsius(f64::from(n));
        scene.run(1, 5).await;
    }
    let args = json!({
        "metric_names": ["cpu_temperature_celsius", "memory_percent", "memory_percent"],
        "start_time": at(60), "end_time": at(180), "resolution": "1m",
    });
    let answer = history(&scene, args).await;
    // The sample at 5 s says 1 degree, so minute one has 12 to 23 and minute two 24 to 35.
    assert_eq!(
        answer["metrics"]["cpu_temperature_celsius"],
        json!([
            {"timestamp": at(60), "value": 17.5, "min": 12.0, "max": 23.0},
            {"timestamp": at(120), "value": 29.5, "min": 24.0, "max": 35.0},
        ])
    );
    assert_eq!(
        answer["metrics"].as_object().unwrap().keys().collect::<Vec<_>>(),
        ["cpu_temperature_celsius", "memory_percent"]
    );
    assert_eq!((&answer["data_points"], &answer["resolution"]), (&json!(2), &json!("1m")));
    assert_eq!((&answer["start_time"], &answer["end_time"]), (&json!(at(60)), &json!(at(180))));
}

#[tokio::test(start_paused = true)]
async fn a_bucket_begins_at_a_whole_multiple_and_takes_only_what_was_asked_for() {
    let scene = Scene::new().await;
    scene.job(json!({"interval_seconds": 10, "metrics": ["cpu_temperature_celsius"]})).await;
    for n in 1..=20 {
        scene.celsius(f64::from(n * 10));
        scene.run(1, 10).await;
    }
    let points = |start: i64, end: i64, resolution: &str| {
        let args = json!({"metric_names": ["cpu_temperature_celsius"], "start_time": at(start), "end_time": at(end), "resolution": resolution});
        let scene = &scene;
        async move { history(scene, args).await["metrics"]["cpu_temperature_celsius"].clone() }
    };
    let point = |second: i64, value: f64, min: f64, max: f64| json!({"timestamp": at(second), "value": value, "min": min, "max": max});
    assert_eq!(points(30, 91, "1m").await, json!([point(0, 40.0, 30.0, 50.0), point(60, 75.0, 60.0, 90.0)]));
    assert_eq!(points(60, 61, "1s").await, json!([point(60, 60.0, 60.0, 60.0)]), "a single sample");
    assert_eq!(points(61, 70, "1s").await, json!([]), "an empty bucket is no bucket");
    assert_eq!(points(60, 70, "10s").await, json!([point(60, 60.0, 60.0, 60.0)]), "the end is outside");
    // A day of UTC, whatever the zone or its summer time.
    let day = points(0, 200, "1d").await;
    assert_eq!(day[0]["timestamp"], "2026-01-15T00:00:00.000Z");
}

#[tokio::test(start_paused = true)]
async fn gaps_are_gaps_and_flags_are_shares() {
    let mut scene = Scene::new().await;
    let name = "sys/devices/platform/soc/soc:firmware/get_throttled";
    scene.tree.write(name, "1\n");
    scene.restart().await;
    scene.job(json!({"interval_seconds": 15, "metrics": ["under_voltage"]})).await;
    scene.tree.write(name, "10000\n");
    scene.run(3, 15).await;
    scene.restart().await;
    tokio::time::advance(std::time::Duration::from_secs(195)).await;
    scene.run(2, 1).await;
    let answer =
        history(&scene, json!({"metric_names": ["under_voltage"], "start_time": at(0), "resolution": "1m"})).await;
    let point =
        |second: i64, value: f64, max: f64| json!({"timestamp": at(second), "value": value, "min": 0.0, "max": max});
    assert_eq!(answer["metrics"]["under_voltage"], json!([point(0, 0.25, 1.0), point(240, 0.0, 0.0)]));
    assert_eq!(answer["data_points"], 2);
    assert_eq!(scene.samples(json!({})).await[0]["under_voltage"], true);
}

#[tokio::test(start_paused = true)]
async fn jobs_together_or_one_alone() {
    let scene = Scene::new().await;
    scene.celsius(40.0);
    scene.job(json!({"interval_seconds": 5, "job_id": "a", "metrics": ["cpu_temperature_celsius"]})).await;
    scene.run(1, 1).await;
    scene.celsius(60.0);
    scene
        .job(json!({"interval_seconds": 3600, "job_id": "b", "metrics": ["cpu_temperature_celsius", "cpu_percent"]}))
        .await;
    let ask = |job: Value| json!({"metric_names": ["cpu_temperature_celsius"], "start_time": at(0), "end_time": at(60), "resolution": "1h", "job_id": job});
    let value = |answer: Value| answer["metrics"]["cpu_temperature_celsius"][0]["value"].clone();
    assert_eq!(value(history(&scene, ask(Value::Null)).await), 50.0);
    assert_eq!(value(history(&scene, ask(json!("b"))).await), 60.0);
    let none = json!({"metric_names": ["cpu_percent"], "start_time": at(0), "end_time": at(60), "job_id": "a"});
    let none = history(&scene, none).await;
    assert_eq!(
        (&none["metrics"], &none["data_points"]),
        (&json!({"cpu_percent": []}), &json!(0)),
        "a does not sample it"
    );
    let unknown = scene.call("query_history", ask(json!("c"))).await.refused();
    assert_eq!(unknown["error_code"], "not_found");
}

#[tokio::test(start_paused = true)]
async fn without_a_resolution_there_are_at_most_120_buckets() {
    let scene = Scene::new().await;
    let ask = |start: i64| {
        let scene = &scene;
        async move {
            history(scene, json!({"metric_names": ["cpu_percent"], "start_time": at(start), "end_time": at(0)})).await["resolution"].clone()
        }
    };
    assert_eq!(ask(-600).await, "10s");
    assert_eq!(ask(-3600).await, "1m");
    assert_eq!(ask(-86_400).await, "15m");
    assert_eq!(ask(-604_800).await, "3h");
    assert_eq!(ask(-START / 1000).await, "7d", "since 1970");
}
