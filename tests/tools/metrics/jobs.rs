//! Jobs: begun, listed, ended, kept.

use super::{Scene, at};
use serde_json::json;

#[tokio::test(start_paused = true)]
async fn a_job_is_begun_samples_and_ends() {
    let scene = Scene::new().await;
    let answer = scene.call("start_sampling_job", json!({"interval_seconds": 5})).await;
    assert!(answer.changed);
    let job = answer.ok();
    assert_eq!(
        (&job["job_id"], &job["status"], &job["retention_hours"]),
        (&json!("job-1"), &json!("running"), &json!(24))
    );
    assert_eq!((&job["samples"], &job["created_at"]), (&json!(0), &json!(at(0))));
    assert_eq!(job["metrics"].as_array().unwrap().len(), 17);

    scene.pi.services.sampling.round(&scene.pi.services.machine).await;
    scene.run(12, 5).await;
    let job = scene.only_job().await;
    assert_eq!((&job["samples"], &job["stored_bytes"]), (&json!(13), &json!(0)), "none is on the card yet");
    assert_eq!((&job["first_sample_at"], &job["last_sample_at"]), (&json!(at(0)), &json!(at(60))));

    let answer = scene.call("stop_sampling_job", json!({"job_id": "job-1"})).await;
    assert!(answer.changed);
    let job = answer.ok();
    assert_eq!((&job["status"], &job["samples"], &job["stopped_at"]), (&json!("stopped"), &json!(13), &json!(at(60))));
    assert!(job["stored_bytes"].as_u64().unwrap() > 0, "a stop brings the rest to the card");
    scene.run(5, 5).await;
    assert_eq!(scene.only_job().await["samples"], 13, "it rests");

    let again = scene.call("stop_sampling_job", json!({"job_id": "job-1"})).await;
    assert!(!again.changed);
    assert_eq!(again.ok()["stopped_at"], at(60));
}

#[tokio::test(start_paused = true)]
async fn each_job_has_its_own_interval_and_metrics_and_they_look_together() {
    let scene = Scene::new().await;
    scene.job(json!({"interval_seconds": 5, "job_id": "fast", "metrics": ["cpu_percent"]})).await;
    scene.run(1, 3).await;
    scene
        .job(json!({"interval_seconds": 10, "job_id": "slow", "metrics": ["memory_percent", "disk_used_bytes"]}))
        .await;
    scene.run(40, 1).await;
    let times = |samples: &[serde_json::Value]| -> Vec<String> {
        samples.iter().map(|sample| sample["timestamp"].as_str().unwrap().to_owned()).collect()
    };
    let fast = scene.samples(json!({"job_id": "fast"})).await;
    assert_eq!(times(&fast), [0, 5, 10, 15, 20, 25, 30, 35, 40].map(at));
    let slow = scene.samples(json!({"job_id": "slow"})).await;
    assert_eq!(times(&slow), [3, 10, 20, 30, 40].map(at), "one at once, then on the whole intervals of all");
    let fields: Vec<_> = slow[1].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["job_id", "timestamp", "memory_used_percent", "disk_used_bytes"]);
    assert_eq!(fast[1].as_object().unwrap().keys().collect::<Vec<_>>(), ["job_id", "timestamp", "cpu_usage_percent"]);
    let all = scene.samples(json!({})).await;
    assert_eq!(all, [fast, slow].concat(), "one job after the other");
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_says_it_and_does_nothing() {
    let scene = Scene::new().await;
    let dry = scene.call("start_sampling_job", json!({"interval_seconds": 60, "dry_run": true})).await;
    assert!(!dry.changed);
    let dry = dry.ok();
    assert_eq!((&dry["status"], &dry["job_id"]), (&json!("created"), &json!("job-1")));
    assert_eq!(scene.call("list_sampling_jobs", json!({})).await.ok()["pagination"]["total_count"], 0);

    scene.job(json!({"interval_seconds": 60})).await;
    for discard in [false, true] {
        let args = json!({"job_id": "job-1", "dry_run": true, "discard_samples": discard});
        let dry = scene.call("stop_sampling_job", args).await;
        assert!(!dry.changed);
        assert_eq!(dry.ok()["status"], "stopped");
        assert_eq!(scene.only_job().await["status"], "running");
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_is_taken_once_and_free_again_when_the_job_is_forgotten() {
    let scene = Scene::new().await;
    scene.job(json!({"interval_seconds": 5, "job_id": "heat.1"})).await;
    for dry_run in [true, false] {
        let twice =
            scene.call("start_sampling_job", json!({"interval_seconds": 9, "job_id": "heat.1", "dry_run": dry_run}));
        let refusal = twice.await.refused();
        assert_eq!((&refusal["error_code"], &refusal["details"]["parameter"]), (&json!("conflict"), &json!("job_id")));
    }
    let refusal = scene.call("stop_sampling_job", json!({"job_id": "haet.1"})).await.refused();
    assert_eq!((&refusal["error_code"], &refusal["hint"]), (&json!("not_found"), &json!("did you mean 'heat.1'?")));

    scene.run(70, 5).await;
    let gone = scene.call("stop_sampling_job", json!({"job_id": "heat.1", "discard_samples": true})).await;
    assert!(gone.changed);
    let gone = gone.ok();
    assert_eq!((&gone["status"], &gone["samples"], &gone["stored_bytes"]), (&json!("stopped"), &json!(0), &json!(0)));
    assert_eq!(scene.samples(json!({})).await.len(), 0);
    scene.job(json!({"interval_seconds": 5, "job_id": "heat.1"})).await;
    assert_eq!(scene.samples(json!({"job_id": "heat.1"})).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn there_are_eight_at_once_and_no_more() {
    let scene = Scene::new().await;
    for n in 1..=8 {
        assert_eq!(scene.job(json!({"interval_seconds": 60})).await["job_id"], format!("job-{n}"));
    }
    let refusal = scene.call("start_sampling_job", json!({"interval_seconds": 60})).await.refused();
    assert_eq!((&refusal["error_code"], &refusal["details"]["limit"]), (&json!("resource_exhausted"), &json!(8)));
    let page = scene.call("list_sampling_jobs", json!({"limit": 3, "offset": 6})).await.ok();
    assert_eq!((&page["jobs"][1]["job_id"], &page["pagination"]["total_count"]), (&json!("job-8"), &json!(8)));
    scene.call("stop_sampling_job", json!({"job_id": "job-3"})).await.ok();
    assert_eq!(scene.job(json!({"interval_seconds": 60})).await["job_id"], "job-9");
}

#[tokio::test(start_paused = true)]
async fn a_job_survives_a_restart_and_what_has_ended_stays_ended() {
    let mut scene = Scene::new().await;
    scene.job(json!({"interval_seconds": 5, "retention_hours": 2, "metrics": ["cpu_percent", "throttled"], "job_id": "on"})).await;
    scene.job(json!({"interval_seconds": 60, "job_id": "off"})).await;
    scene.run(3, 5).await;
    scene.call("stop_sampling_job", json!({"job_id": "off"})).await.ok();
    scene.restart().await;
    tokio::time::advance(std::time::Duration::from_secs(95)).await;
    let jobs = scene.call("list_sampling_jobs", json!({})).await.ok();
    let shown = |n: usize| {
        let job = &jobs["jobs"][n];
        (job["job_id"].clone(), job["status"].clone(), job["samples"].clone(), job["interval_seconds"].clone())
    };
    assert_eq!(shown(0), (json!("on"), json!("running"), json!(4), json!(5)));
    assert_eq!(shown(1), (json!("off"), json!("stopped"), json!(1), json!(60)));
    assert_eq!(jobs["jobs"][0]["metrics"], json!(["cpu_usage_percent", "throttled"]));
    assert_eq!(jobs["jobs"][0]["created_at"], at(0));

    scene.run(2, 5).await;
    let samples = scene.samples(json!({"job_id": "on", "since": at(20)})).await;
    let times: Vec<_> = samples.iter().map(|sample| sample["timestamp"].clone()).collect();
    let after = at(115);
    assert_eq!(times.len(), 2, "{times:?}");
    assert!(times[0].as_str().unwrap() >= after.as_str(), "the time between is a gap: {times:?}");
    assert_eq!(scene.samples(json!({"job_id": "off"})).await.len(), 1);
}
