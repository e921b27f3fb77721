//! Sensors in sampling jobs: kept as other metrics are, a gap where one is gone, and a threshold.

use super::{START, Scene, at};
use base::clock::Stamp;
use serde_json::{Value, json};

const INPUT: &str = "sys/class/hwmon/hwmon7/temp1_input";
const SENSOR: &str = "sensor:garden/temp1";

async fn scene(millidegrees: &str) -> Scene {
    let scene = Scene::new().await;
    scene.tree.write("sys/class/hwmon/hwmon7/name", "garden\n").write(INPUT, millidegrees);
    scene
}

fn measured(samples: &[Value]) -> Vec<Value> {
    samples.iter().map(|sample| sample["sensors"]["garden/temp1"].clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn one_that_vanishes_leaves_a_gap_and_the_job_lives_on() {
    let mut scene = scene("-12500\n").await;
    let job = scene.job(json!({"interval_seconds": 60, "metrics": ["load_average_1m", SENSOR, SENSOR]})).await;
    assert_eq!(job["metrics"], json!(["load_average_1m", SENSOR]));
    scene.tree.without(INPUT);
    scene.run(1, 60).await;
    // Another number after it is plugged in again: the same sensor.
    scene.tree.without("sys/class/hwmon/hwmon7");
    scene.tree.write("sys/class/hwmon/hwmon9/name", "garden\n").write("sys/class/hwmon/hwmon9/temp1_input", "21062\n");
    scene.run(1, 60).await;
    let samples = scene.samples(json!({})).await;
    assert_eq!(measured(&samples), [json!(-12.5), Value::Null, json!(21.062)]);
    assert!(samples[1].get("sensors").is_none() && samples[1].get("load_average_1m").is_some(), "{samples:#?}");

    let history = json!({"metric_names": [SENSOR, "load_average_1m"], "start_time": at(0), "end_time": at(600), "resolution": "1m"});
    let points = |answer: &Value| {
        answer["metrics"][SENSOR].as_array().unwrap().iter().map(|point| point["value"].clone()).collect::<Vec<_>>()
    };
    let answer = scene.call("query_history", history.clone()).await.ok();
    assert_eq!(points(&answer), [-12.5, 21.062]);

    scene.restart().await;
    assert_eq!(measured(&scene.samples(json!({})).await), [json!(-12.5), Value::Null, json!(21.062)], "from the store");
    let answer = scene.call("query_history", history).await.ok();
    assert_eq!(points(&answer), [-12.5, 21.062]);
    assert_eq!(scene.only_job().await["metrics"], json!(["load_average_1m", SENSOR]));
    scene.run(1, 60).await;
    assert_eq!(measured(&scene.samples(json!({})).await).last().unwrap(), &json!(21.062));
}

#[tokio::test(start_paused = true)]
async fn each_job_has_its_own_and_queries_find_them_by_name() {
    let scene = scene("1000\n").await;
    for n in 0..9 {
        scene.tree.write(&format!("sys/class/hwmon/hwmon7/temp{}_input", n + 2), format!("{}\n", 2000 + n));
    }
    let name = |n: u32| format!("sensor:garden/temp{n}");
    let many: Vec<String> = (1..=9).map(name).collect();
    let refused = scene.call("start_sampling_job", json!({"interval_seconds": 60, "metrics": many})).await.refused();
    assert_eq!(
        (&refused["error_code"], &refused["details"]["parameter"]),
        (&json!("invalid_argument"), &json!("metrics"))
    );
    scene.job(json!({"interval_seconds": 60, "metrics": many[..8], "job_id": "a"})).await;
    scene.job(json!({"interval_seconds": 60, "metrics": [name(9), name(2)], "job_id": "b"})).await;
    let of = |job: &'static str| json!({"job_id": job});
    assert_eq!(scene.samples(of("b")).await[0]["sensors"], json!({"garden/temp9": 2.007, "garden/temp2": 2.0}));
    assert_eq!(scene.samples(of("a")).await[0]["sensors"].as_object().unwrap().len(), 8);
    let asked = json!({"metric_names": [name(2), name(9), name(10)], "start_time": at(-1), "end_time": at(600), "resolution": "1h"});
    let answer = scene.call("query_history", asked).await.ok();
    assert_eq!(answer["metrics"][name(2)][0]["value"], 2.0);
    assert_eq!(answer["metrics"][name(9)][0]["value"], 2.007);
    assert_eq!(answer["metrics"][name(10)], json!([]));
    assert!(answer["note"].as_str().unwrap().contains("no sampling job takes that"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_sensor_must_be_there_when_its_job_begins() {
    let scene = scene("1000\n").await;
    let start = |metrics: Value| json!({"interval_seconds": 60, "metrics": metrics});
    let refused = scene.call("start_sampling_job", start(json!(["sensor:garden/temp2"]))).await.refused();
    assert_eq!(refused["error_code"], "not_found");
    assert!(refused["hint"].as_str().unwrap().contains("garden/temp1"), "{refused}");
    for bad in [json!(["sensor:"]), json!(["garden/temp1"])] {
        assert_eq!(scene.call("start_sampling_job", start(bad)).await.refused()["error_code"], "invalid_argument");
    }
}

#[tokio::test(start_paused = true)]
async fn a_threshold_is_crossed_and_over() {
    let mut scene = scene("29000\n").await;
    let threshold = json!({"metric": SENSOR, "when": "above", "limit": 30.0, "hysteresis": 2.0});
    let args = json!({"interval_seconds": 60, "metrics": [SENSOR], "threshold": threshold});
    let job = scene.job(args).await;
    assert_eq!((&job["threshold"]["crossed"], &job["threshold"]["metric"]), (&json!(false), &json!(SENSOR)));
    for (millidegrees, crossed, since) in [
        ("30000", false, None),
        ("30001", true, Some(120)),
        ("28500", true, Some(120)),
        ("none", true, Some(120)),
        ("28000", false, None),
    ] {
        scene.tree.write(INPUT, millidegrees);
        scene.run(1, 60).await;
        let now = scene.only_job().await["threshold"].clone();
        assert_eq!(now["crossed"], crossed, "{millidegrees}: {now}");
        assert_eq!(now["since"], since.map_or(Value::Null, |seconds| json!(Stamp(START + seconds * 1000).to_string())));
    }
    scene.restart().await;
    let kept = scene.only_job().await["threshold"].clone();
    assert_eq!((&kept["limit"], &kept["hysteresis"], &kept["when"]), (&json!(30.0), &json!(2.0), &json!("above")));

    let not_sampled = json!({"interval_seconds": 60, "metrics": ["load_average_1m"], "threshold": threshold});
    let refused = scene.call("start_sampling_job", not_sampled).await.refused();
    assert_eq!(refused["details"]["path"], "/threshold/metric", "{refused}");
    for (field, bad) in
        [("limit", json!(1e16)), ("hysteresis", json!(-1)), ("when", json!("near")), ("metric", json!(""))]
    {
        let mut wrong = threshold.clone();
        wrong[field] = bad;
        let args = json!({"interval_seconds": 60, "metrics": [SENSOR], "threshold": wrong});
        let refused = scene.call("start_sampling_job", args).await.refused();
        assert_eq!(refused["details"]["path"], format!("/threshold/{field}"), "{refused}");
    }
}
