//! An answer without samples says why.

use super::{Scene, at};
use serde_json::{Value, json};

async fn note(scene: &Scene, tool: &str, args: Value) -> String {
    let answer = scene.call(tool, args).await.ok();
    answer["note"].as_str().unwrap_or_else(|| panic!("no note: {answer:#}")).to_owned()
}

fn history(from: i64, to: i64, metric: &str) -> Value {
    json!({"metric_names": [metric], "start_time": at(from), "end_time": at(to), "resolution": "1m"})
}

#[tokio::test(start_paused = true)]
async fn no_job() {
    let scene = Scene::new().await;
    for (tool, args) in [
        ("get_samples", json!({})),
        ("list_sampling_jobs", json!({})),
        ("query_history", history(-3600, 0, "cpu_percent")),
    ] {
        assert!(note(&scene, tool, args).await.contains("metrics.start_sampling_job"), "{tool}");
    }
}

#[tokio::test(start_paused = true)]
async fn not_then_and_not_that() {
    let scene = Scene::new().await;
    scene.job(json!({"interval_seconds": 60, "metrics": ["load_average_1m"], "job_id": "a"})).await;
    scene.run(10, 60).await;
    for (tool, args, words) in [
        ("query_history", history(-7200, -3600, "load_average_1m"), format!("nothing was sampled before {}", at(0))),
        ("query_history", history(3600, 7200, "load_average_1m"), format!("the newest sample is of {}", at(600))),
        ("query_history", history(0, 600, "cpu_percent"), "no sampling job takes that".to_owned()),
        ("get_samples", json!({"until": at(-60)}), format!("nothing was sampled before {}", at(0))),
        ("get_samples", json!({"since": at(61), "until": at(62)}), "no sample of that time".to_owned()),
        ("get_samples", json!({"job_id": "a", "offset": 500}), "past the last of 11".to_owned()),
        ("list_sampling_jobs", json!({"offset": 5}), "past the last of 1".to_owned()),
    ] {
        let note = note(&scene, tool, args.clone()).await;
        assert!(note.contains(&words), "{tool} {args}: {note}");
    }
    for (tool, args) in [
        ("query_history", history(0, 600, "load_average_1m")),
        ("get_samples", json!({})),
        ("list_sampling_jobs", json!({})),
    ] {
        assert!(scene.call(tool, args).await.ok().get("note").is_none(), "{tool} has something to show");
    }
    let both = json!({"metric_names": ["load_average_1m", "cpu_percent"], "start_time": at(0), "end_time": at(600)});
    assert!(note(&scene, "query_history", both).await.starts_with("nothing of cpu_percent: "));
}
