//! `system.get_clock`

use crate::support::{
    pi::Pi,
    trees::{Copied, machine},
};
use serde_json::json;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

const TOOL: &str = "system.get_clock";

#[tokio::test]
async fn a_raspberry_pi_in_utc() {
    let answer = Pi::like("pi-zero-2-w").call(TOOL, json!({})).await;
    assert!(!answer.simulated);
    let clock = answer.ok();
    assert_eq!(
        (&clock["timezone"], &clock["utc_offset_seconds"], &clock["timezone_abbreviation"]),
        (&json!("Etc/UTC"), &json!(0), &json!("UTC"))
    );
    assert_eq!((&clock["ntp_synchronized"], &clock["uptime_seconds"]), (&json!(true), &json!(350_735)));
    assert_eq!(clock["boot_id"], "0b6d7b2e-0d53-4c53-8d0c-4fb0d6d2c0f1");
    let moment = |field: &str| OffsetDateTime::parse(clock[field].as_str().unwrap(), &Rfc3339).unwrap();
    let up = moment("time") - moment("boot_time");
    assert!((up.as_seconds_f64() - 350_735.47).abs() <= 1.0, "{up}");
}

#[tokio::test]
async fn not_synchronised_and_unknown_are_two_things() {
    let told = Pi::like("pi-3b").call(TOOL, json!({})).await.ok();
    assert_eq!(told["ntp_synchronized"], false);
    let unknown = Pi::like("pc").call(TOOL, json!({})).await;
    assert!(!unknown.simulated, "the clock is this machine's own, whatever the board is");
    assert_eq!(unknown.ok().get("ntp_synchronized"), None);
}

#[tokio::test]
async fn a_broken_zone_is_a_fault_with_its_file() {
    let copy = Copied::of("pi-4b");
    copy.write("etc/localtime", "noon");
    let refusal = Pi::on(machine(copy.root())).call(TOOL, json!({})).await.refused();
    assert_eq!(refusal["error_code"], "unavailable");
    assert!(refusal["message"].as_str().unwrap().contains("/etc/localtime"), "{refusal}");
}

#[tokio::test]
async fn a_zone_whose_rules_are_not_there_is_utc_and_a_note_says_so() {
    let copy = Copied::of("pi-4b");
    let localtime = copy.root().path("etc/localtime");
    for (target, name) in
        [("../usr/share/zoneinfo/Mars/Olympus", "Mars/Olympus"), ("/usr/share/zoneinfo/posix/Nowhere", "posix/Nowhere")]
    {
        let _ = std::fs::remove_file(&localtime);
        std::os::unix::fs::symlink(target, &localtime).unwrap();
        let clock = Pi::on(machine(copy.root())).call(TOOL, json!({})).await.ok();
        assert_eq!(
            (&clock["timezone"], &clock["utc_offset_seconds"], &clock["timezone_abbreviation"]),
            (&json!(name), &json!(0), &json!("UTC"))
        );
        assert!(clock["time"].is_string() && clock["uptime_seconds"].is_u64(), "{clock}");
        let note = clock["note"].as_str().unwrap();
        assert!(note.contains(&format!("/usr/share/zoneinfo/{name}")) && note.contains("UTC"), "{note}");
    }
    let well = Pi::like("pi-4b").call(TOOL, json!({})).await.ok();
    assert_eq!(well.get("note"), None);
}

#[tokio::test]
async fn an_uptime_longer_than_time_is_refused() {
    let copy = Copied::of("pi-4b");
    copy.write("proc/uptime", "9000000000000000000.0 0.0\n");
    let refusal = Pi::on(machine(copy.root())).call(TOOL, json!({})).await.refused();
    assert_eq!(refusal["error_code"], "unavailable");
    assert!(refusal["message"].as_str().unwrap().contains("/proc/uptime"), "{refusal}");
}
