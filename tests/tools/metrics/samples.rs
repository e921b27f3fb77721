//! `metrics.get_samples`: what a sample holds, and pages of many.

use super::{Scene, at};
use serde_json::{Value, json};

#[tokio::test(start_paused = true)]
async fn a_sample_holds_what_the_machine_says() {
    let scene = Scene::new().await;
    scene.job(json!({"interval_seconds": 5})).await;
    scene
        .tree
        .write("proc/stat", "cpu  0 0 0 0 0 0 0 0 0 0\n")
        .write("proc/net/dev", "eth0: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
    scene.tree.write("proc/diskstats", "179 0 mmcblk0 0 0 0 0 0 0 0 0 0 0 0\n");
    scene.run(1, 5).await;
    scene.tree.write("proc/stat", "cpu  125 0 0 375 0 0 0 0 0 0\n");
    scene.tree.write("proc/net/dev", "eth0: 5000 9 0 0 0 0 0 0 2500 9 0 0 0 0 0 0\n");
    scene.tree.write("proc/diskstats", "179 0 mmcblk0 0 0 100 0 0 0 200 0 0 0 0\n");
    scene.tree.write("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 250 kB\nSwapTotal: 100 kB\nSwapFree: 60 kB\n");
    scene.tree.write("proc/loadavg", "0.25 0.1 0.1 1/2 3\n");
    scene.celsius(61.26);
    scene.run(1, 5).await;
    let samples = scene.samples(json!({})).await;
    let sample = samples.last().unwrap();
    for (field, value) in [
        ("job_id", json!("job-1")),
        ("timestamp", json!(at(10))),
        ("cpu_usage_percent", json!(25.0)),
        ("memory_used_bytes", json!(750 * 1024)),
        ("memory_used_percent", json!(75.0)),
        ("swap_used_bytes", json!(40 * 1024)),
        ("cpu_temperature_celsius", json!(61.3)),
        ("load_average_1m", json!(0.25)),
        ("network_sent_bytes_per_sec", json!(500)),
        ("network_received_bytes_per_sec", json!(1000)),
        ("disk_read_bytes_per_sec", json!(10_240)),
        ("disk_write_bytes_per_sec", json!(20_480)),
    ] {
        assert_eq!(sample[field], value, "{field} of {sample:#}");
    }
    assert!(sample.get("under_voltage").is_none(), "a Raspberry Pi 5 without vcgencmd does not tell");
    assert!(sample["disk_used_bytes"].as_u64().unwrap() > 0);
}

#[tokio::test(start_paused = true)]
async fn the_first_sample_is_a_short_measurement_and_a_reset_counter_is_still() {
    let scene = Scene::new().await;
    scene.tree.write("proc/stat", "cpu  100 0 0 900 0 0 0 0 0 0\n");
    tokio::time::advance(std::time::Duration::from_secs(61)).await;
    let began = tokio::time::Instant::now();
    scene.job(json!({"interval_seconds": 5})).await;
    assert_eq!(began.elapsed().as_millis(), 250, "it waited for something to compare with");
    let first = &scene.samples(json!({})).await[0];
    assert_eq!(first["cpu_usage_percent"], 0.0, "nothing moved in these files: {first}");
    assert!(first.get("network_sent_bytes_per_sec").is_some());

    scene
        .tree
        .write("proc/stat", "cpu  0 0 0 10 0 0 0 0 0 0\n")
        .write("proc/net/dev", "eth0: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n");
    scene.run(1, 5).await;
    let second = &scene.samples(json!({})).await[1];
    assert_eq!((&second["network_sent_bytes_per_sec"], &second["cpu_usage_percent"]), (&json!(0), &json!(0.0)));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_measured_is_absent_and_the_rest_is_there() {
    let scene = Scene::new().await;
    scene.job(json!({"interval_seconds": 5})).await;
    for gone in ["proc/stat", "proc/meminfo", "proc/loadavg", "sys/class/thermal", "sys/class/hwmon"] {
        scene.tree.without(gone);
    }
    scene.tree.write("proc/net/dev", "no numbers\n");
    scene.run(1, 5).await;
    let sample = &scene.samples(json!({})).await[1];
    let fields: Vec<_> = sample.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["job_id", "timestamp", "disk_used_bytes", "disk_used_percent", "cpu_frequency_hz"]);
}

#[tokio::test(start_paused = true)]
async fn pages_cut_the_list_and_nothing_else() {
    let scene = Scene::new().await;
    scene.job(json!({"interval_seconds": 5, "metrics": ["cpu_temperature_celsius"]})).await;
    for n in 0..200 {
        scene.celsius(40.0 + f64::from(n) / 10.0);
        scene.run(1, 5).await;
    }
    let all = scene.samples(json!({"limit": 1000})).await;
    assert_eq!(all.len(), 201, "from three blocks and from memory");
    let mut paged: Vec<Value> = Vec::new();
    loop {
        let page = scene.call("get_samples", json!({"limit": 37, "offset": paged.len()})).await.ok();
        paged.extend(page["samples"].as_array().unwrap().clone());
        assert_eq!(page["pagination"]["total_count"], 201);
        if page["pagination"]["has_more"] == false {
            break;
        }
    }
    assert_eq!(paged, all);
    assert_eq!((&all[57]["cpu_temperature_celsius"], &all[57]["timestamp"]), (&json!(45.6), &json!(at(285))));
    assert_eq!(scene.samples(json!({})).await.len(), 100, "unless told");
    assert_eq!(scene.samples(json!({"limit": null, "job_id": null, "since": null})).await.len(), 100);
    assert_eq!(scene.samples(json!({"offset": u32::MAX})).await.len(), 0);

    let some = scene.samples(json!({"since": at(295), "until": at(310)})).await;
    let times: Vec<_> = some.iter().map(|sample| sample["timestamp"].clone()).collect();
    assert_eq!(times, [at(295), at(300), at(305)], "since counts, until does not, and the border of a block is none");
    let offset = scene.samples(json!({"since": "2026-01-15T16:04:55+02:00", "until": at(310)})).await;
    assert_eq!(offset, some);
    assert_eq!(scene.samples(json!({"since": at(5000)})).await.len(), 0);
}
