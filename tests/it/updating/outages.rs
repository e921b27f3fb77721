//! The network is away while a release is tried, or waits for its restart.

use super::{rounds::late_lines, *};
use serde_json::{Value, json};
use update::health::Baseline;

/// A device whose release waits for the window at 02:00, and the server's record of what works.
async fn waits_for_its_window() -> Device {
    let mut device = Device::at(0, late_lines);
    device.web.release("1.1.0", 11, "the second system\n");
    device.serve();
    device.job_begins().await;
    device.job_stops().await;
    device
}

fn baseline(device: &Device) -> Baseline {
    Baseline::load(&device.folder().join("baseline.json")).unwrap().expect("a baseline")
}

/// Changes a field of the record of what worked.
fn worked_before(device: &Device, field: &str, value: &Value) {
    let file = device.folder().join("baseline.json");
    let mut before: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    before[field] = value.clone();
    std::fs::write(&file, before.to_string()).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_trial_in_an_outage_does_not_count_and_waits_for_the_network_through_cuts_of_the_power() {
    let mut device = waits_for_its_window().await;
    device.restarted(1).await;
    device.channel(false);
    device.restarted(2).await;
    sleep(5 * MINUTE).await;
    let status = device.status().await;
    assert!(status.waits_for == ["the network"] && status.armed().is_some(), "{status:?}");
    assert!(status.last_attempt.unwrap().reason.contains("once there is a network"));
    for _ in 0..5 {
        device.power_cut().await;
        device.serve();
        sleep(7 * HOUR).await;
        let status = device.status().await;
        assert_eq!((device.restarts(), status.waits_for.len(), status.blocked.len()), (0, 1, 0), "{status:?}");
    }
    device.channel(true);
    let back = device.now();
    device.restarted(1).await;
    // It is looked at each quarter of an hour, and the restart keeps to the window.
    let hour = device.now().rem_euclid(24.0);
    assert!((2.0..4.1).contains(&hour) && device.now() - back < 24.5, "{hour}");
    sleep(5 * MINUTE).await;
    let status = device.status().await;
    assert_eq!(runs(&status), (Some("1.1.0"), Some(Phase::Committed)), "{status:?}");
    assert!(status.waits_for.is_empty() && status.blocked.is_empty(), "{status:?}");
}

#[tokio::test(start_paused = true)]
async fn an_outage_that_ends_with_the_trial_does_not_block_the_release() {
    let device = waits_for_its_window().await;
    device.restarted(1).await;
    device.channel(false);
    device.restarted(2).await;
    // The old system has the network again before it is looked at.
    device.channel(true);
    device.restarted(3).await;
    sleep(5 * MINUTE).await;
    let status = device.status().await;
    assert_eq!(runs(&status), (Some("1.1.0"), Some(Phase::Committed)), "{status:?}");
    assert!(status.blocked.is_empty(), "{status:?}");
}

#[tokio::test(start_paused = true)]
async fn a_channel_that_a_trial_reached_counts_for_the_dead_mans_switch() {
    let mut device = Device::at(0, |update| {
        late_lines(update);
        update.dead_man_hours = 24;
    });
    device.web.release("1.1.0", 11, "the second system\n");
    device.serve();
    device.job_begins().await;
    device.job_stops().await;
    device.restarted(1).await;
    sleep(MINUTE).await;
    let status = device.status().await;
    assert_eq!(runs(&status), (Some("1.1.0"), Some(Phase::Committed)), "{status:?}");
    assert!(status.channel_reached, "{status:?}");
    device.channel(false);
    sleep(100 * HOUR).await;
    assert_eq!((device.told(), device.restarts()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_person_who_marks_the_old_system_good_in_an_outage_blocks_nothing() {
    let device = waits_for_its_window().await;
    device.restarted(1).await;
    device.channel(false);
    device.restarted(2).await;
    // Before the server has reported how the old system is doing.
    let services = Arc::clone(&device.server.as_ref().unwrap().0);
    let error = device.updates().attest(&services.machine).await.unwrap_err();
    assert!(error.message.contains("the update channel"), "{error}");
    let status = device.status().await;
    assert!(status.waits_for == ["the network"] && status.blocked.is_empty(), "{status:?}");
}

#[tokio::test(start_paused = true)]
async fn what_another_version_recorded_months_ago_says_nothing_about_this_one() {
    for (version, restarts) in [("1.1.0", 4), ("0.9.0", 2)] {
        let mut device = waits_for_its_window().await;
        device.restarted(1).await;
        sleep(5 * MINUTE).await;
        device.web.release("1.2.0", 12, "the third system\n");
        device.job_begins().await;
        device.job_stops().await;
        device.restarted(2).await;
        worked_before(&device, "interfaces", &json!(["wlan7"]));
        worked_before(&device, "version", &json!(version));
        sleep(3 * MINUTE).await;
        assert_eq!(device.restarts(), restarts, "{version}: {:?}", device.status().await);
    }
}

#[tokio::test(start_paused = true)]
async fn the_record_of_what_works_is_kept_fresh_while_a_release_is_armed_and_no_outage_gets_into_it() {
    let device = waits_for_its_window().await;
    let at = |device: &Device| device.hours(baseline(device).taken_ms);
    let first = at(&device);
    sleep(3 * HOUR).await;
    assert!(at(&device) > first + 1.9, "{} {first}", at(&device));
    device.channel(false);
    let last = at(&device);
    sleep(3 * HOUR).await;
    assert!(baseline(&device).channel && (at(&device) - last).abs() < 0.01, "{} {last}", at(&device));
}

#[tokio::test(start_paused = true)]
async fn a_trial_asks_for_the_index_once() {
    let device = waits_for_its_window().await;
    device.restarted(1).await;
    sleep(Duration::from_secs(2)).await;
    // The first of its two checks has had its answer.
    device.channel(false);
    sleep(MINUTE).await;
    assert_eq!((runs(&device.status().await), device.restarts()), ((Some("1.1.0"), Some(Phase::Committed)), 1));
}

#[tokio::test(start_paused = true)]
async fn a_data_partition_that_takes_nothing_is_not_an_unreachable_channel() {
    let mut device = Device::at(0, |update| {
        late_lines(update);
        update.dead_man_hours = 24;
    });
    device.web.release("1.1.0", 11, "the second system\n");
    device.serve();
    device.job_begins().await;
    device.job_stops().await;
    device.restarted(1).await;
    // Where the server remembers what it saw of a channel, there is no room any more: a folder is in the file's place.
    let seen = device.folder().join("channel-stable.json");
    std::fs::remove_file(&seen).unwrap();
    std::fs::create_dir_all(seen.join("full")).unwrap();
    sleep(5 * MINUTE).await;
    let status = device.status().await;
    assert_eq!((runs(&status), device.restarts()), ((Some("1.1.0"), Some(Phase::Committed)), 1), "{status:?}");
    // Nor does the dead man's switch take it for one.
    sleep(100 * HOUR).await;
    assert_eq!((device.told(), device.restarts()), (0, 1));
    assert!(device.status().await.channel_reached);
}
