//! `system.get_uptime`

use crate::{
    pi::Pi,
    trees::{Copied, machine},
};
use serde_json::json;

const TOOL: &str = "system.get_uptime";

#[tokio::test]
async fn seconds_since_boot_and_the_boot_time_of_the_clock() {
    let pi = Pi::like("pi-zero-2-w");
    let answer = pi.call(TOOL, json!({})).await.ok();
    assert_eq!(answer["uptime_seconds"], 350_735);
    assert_eq!(answer["boot_time"].as_str().unwrap().len(), "2026-01-15T14:30:00.000Z".len());
    assert_eq!(pi.call(TOOL, json!({"unit": "days"})).await.refused()["error_code"], "invalid_argument");
}

#[tokio::test]
async fn an_uptime_longer_than_time_is_refused() {
    let copy = Copied::of("pi-4b");
    copy.write("proc/uptime", "9000000000000000000.0 0.0\n");
    let refusal = Pi::on(machine(copy.root())).call(TOOL, json!({})).await.refused();
    assert_eq!(refusal["error_code"], "unavailable");
    assert!(refusal["message"].as_str().unwrap().contains("/proc/uptime"), "{refusal}");
}
