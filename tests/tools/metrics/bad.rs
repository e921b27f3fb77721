//! What is wrong is refused, says where, and changes nothing.

use super::{Scene, at};
use serde_json::{Value, json};

#[tokio::test(start_paused = true)]
async fn every_field_of_every_tool() {
    let scene = Scene::new().await;
    scene.job(json!({"interval_seconds": 60})).await;
    let before = scene.only_job().await;
    let start = |field: &str, value: Value| {
        let mut args = json!({"interval_seconds": 60});
        args[field] = value;
        ("start_sampling_job", field.to_owned(), args)
    };
    let query = |field: &str, value: Value| {
        let mut args = json!({"metric_names": ["cpu_percent"], "start_time": at(0)});
        args[field] = value;
        ("query_history", field.to_owned(), args)
    };
    let alone = |tool: &'static str, field: &str, value: Value| (tool, field.to_owned(), json!({field: value}));
    let mut cases = Vec::new();
    for bad in
        [json!(4), json!(3601), json!(0), json!(-5), json!(5.5), json!("5"), json!(null), json!(u64::MAX), json!([5])]
    {
        cases.push(start("interval_seconds", bad));
    }
    for bad in [json!(0), json!(169), json!("24"), json!(-1), json!(1.5), json!([null])] {
        cases.push(start("retention_hours", bad));
    }
    let names = ["", "../x", "a b", "-a", "a\0", "a/b", "ü", "a\n", "; DROP TABLE samples; --", &"x".repeat(65)];
    for bad in names {
        cases.push(start("job_id", json!(bad)));
        cases.push(alone("stop_sampling_job", "job_id", json!(bad)));
        cases.push(alone("get_samples", "job_id", json!(bad)));
        cases.push(query("job_id", json!(bad)));
    }
    for bad in [
        json!([]),
        json!("cpu_percent"),
        json!([1]),
        json!([""]),
        json!(vec!["cpu_percent"; 33]),
        json!({}),
        json!(["x".repeat(104)]),
    ] {
        cases.push(start("metrics", bad.clone()));
        cases.push(query("metric_names", bad));
    }
    for bad in ["", "1", "m", "0m", "01m", "1w", "1 m", "-1m", "1.5h", "1M", "100000s", "1m\0", "∞"] {
        cases.push(query("resolution", json!(bad)));
    }
    for bad in ["", "now", "2026-01-15", "2026-01-15 14:00:00Z", "2026-13-01T00:00:00Z", "1768485600"] {
        cases.push(query("start_time", json!(bad)));
        cases.push(query("end_time", json!(bad)));
        cases.push(alone("get_samples", "since", json!(bad)));
        cases.push(alone("get_samples", "until", json!(bad)));
    }
    for bad in [json!(0), json!(1001), json!(-1), json!("10"), json!(1.5)] {
        cases.push(alone("get_samples", "limit", bad.clone()));
        cases.push(alone("list_sampling_jobs", "limit", bad));
    }
    for (tool, field, args) in cases {
        let refusal = scene.call(tool, args.clone()).await.refused();
        assert_eq!(refusal["error_code"], "invalid_argument", "{tool} {args}");
        let path = refusal["details"]["path"].as_str().unwrap_or_default();
        assert!(path.starts_with(&format!("/{field}")), "{tool} {args}: {refusal}");
    }
    assert_eq!(scene.only_job().await, before);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_metric_names_the_nearest() {
    let scene = Scene::new().await;
    for (tool, args, parameter) in [
        ("query_history", json!({"metric_names": ["throttled", "cpu_precent"], "start_time": at(-60)}), "metric_names"),
        ("start_sampling_job", json!({"interval_seconds": 5, "metrics": ["cpu_precent"]}), "metrics"),
    ] {
        let refusal = scene.call(tool, args).await.refused();
        assert_eq!(refusal["error_code"], "invalid_argument");
        assert_eq!(refusal["hint"], "did you mean 'cpu_percent'?");
        assert_eq!(
            (&refusal["details"]["parameter"], &refusal["details"]["provided_value"]),
            (&json!(parameter), &json!("cpu_precent"))
        );
        assert_eq!(refusal["details"]["metrics"].as_array().unwrap().len(), 17);
    }
    assert_eq!(scene.call("list_sampling_jobs", json!({})).await.ok()["jobs"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn a_start_that_is_no_start() {
    let scene = Scene::new().await;
    for (start, end) in [(at(10), json!(at(10))), (at(11), json!(at(10))), (at(60), Value::Null)] {
        let args = json!({"metric_names": ["cpu_percent"], "start_time": start, "end_time": end});
        let refusal = scene.call("query_history", args).await.refused();
        assert_eq!(
            (&refusal["error_code"], &refusal["details"]["parameter"]),
            (&json!("invalid_argument"), &json!("start_time"))
        );
    }
    let refusal = scene.call("get_samples", json!({"since": at(1), "until": at(0)})).await.refused();
    assert_eq!(
        (&refusal["error_code"], &refusal["details"]["parameter"]),
        (&json!("invalid_argument"), &json!("since"))
    );
}

#[tokio::test(start_paused = true)]
async fn more_buckets_than_an_answer_may_have() {
    let scene = Scene::new().await;
    let ask = |seconds: i64, names: Value| json!({"metric_names": names, "start_time": at(0), "end_time": at(seconds), "resolution": "1s"});
    scene.call("query_history", ask(20_160, json!(["cpu_percent"]))).await.ok();
    for args in [
        ask(20_161, json!(["cpu_percent"])),
        ask(10_081, json!(["cpu_percent", "throttled"])),
        json!({"metric_names": ["cpu_percent"], "start_time": "0000-01-01T00:00:00Z", "end_time": "9999-12-31T23:59:59Z", "resolution": "1s"}),
    ] {
        let refusal = scene.call("query_history", args).await.refused();
        assert_eq!(
            (&refusal["error_code"], &refusal["details"]["parameter"]),
            (&json!("invalid_argument"), &json!("resolution"))
        );
    }
}
