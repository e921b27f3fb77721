//! `metrics.get_realtime_metrics`

use crate::support::pi::Pi;
use serde_json::json;

#[tokio::test(start_paused = true)]
async fn health_and_each_metric_by_its_name() {
    let answer = Pi::like("pi-zero-2-w").call("metrics.get_realtime_metrics", json!({})).await;
    assert!(!answer.simulated);
    let now = answer.ok();
    assert_eq!(now["cpu_temperature_celsius"], 42.9);
    assert_eq!(now["throttling_flags"]["under_voltage_occurred"], true);
    let metrics = &now["metrics"];
    assert_eq!((&metrics["cpu_temperature_celsius"], &metrics["under_voltage"]), (&json!(42.9), &json!(false)));
    assert_eq!(metrics["memory_used_bytes"], now["memory_used_bytes"]);
    assert_eq!(metrics["cpu_usage_percent"], now["cpu_usage_percent"]);
    assert_eq!((&metrics["load_average_1m"], &metrics["cpu_frequency_hz"]), (&json!(0.03), &json!(600_000_000)));
}

#[tokio::test(start_paused = true)]
async fn a_simulated_board_says_so_and_a_caller_who_leaves_does_not_wait() {
    let pi = Pi::like("pc");
    assert!(pi.call("metrics.get_realtime_metrics", json!({})).await.simulated);
    pi.cancel.cancel();
    assert_eq!(pi.call("metrics.get_realtime_metrics", json!({})).await.refused()["error_code"], "cancelled");
}
