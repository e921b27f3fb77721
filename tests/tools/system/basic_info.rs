//! `system.get_basic_info`

use crate::support::{
    pi::Pi,
    trees::{Copied, machine, tree},
};
use serde_json::json;

const TOOL: &str = "system.get_basic_info";

#[tokio::test]
async fn every_captured_raspberry_pi_says_what_it_is() {
    for (name, model, cores, memory, os, kernel, uptime, serial, revision) in [
        (
            "pi-zero-2-w",
            "Raspberry Pi Zero 2 W Rev 1.0",
            4,
            437_796_u64,
            "12 (bookworm)",
            "6.6.20+rpt-rpi-v8",
            350_735,
            "00000000a1b2c3d4",
            "902120",
        ),
        (
            "pi-3b",
            "Raspberry Pi 3 Model B Rev 1.2",
            4,
            948_304,
            "10 (buster)",
            "4.19.97-v7+",
            4_689,
            "00000000b5c6d7e8",
            "a02082",
        ),
        (
            "pi-4b",
            "Raspberry Pi 4 Model B Rev 1.1",
            4,
            3_882_988,
            "12 (bookworm)",
            "6.6.62+rpt-rpi-v8",
            3_812,
            "10000000c1d2e3f4",
            "c03111",
        ),
        (
            "pi-5",
            "Raspberry Pi 5 Model B Rev 1.0",
            4,
            8_255_888,
            "13 (trixie)",
            "6.18.60+rpt-rpi-2712",
            5_449,
            "f1d2c3b4a5968778",
            "d04170",
        ),
    ] {
        let answer = Pi::like(name).call(TOOL, json!({})).await;
        assert!(!answer.simulated, "{name}");
        let info = answer.ok();
        assert_eq!(info["model"], model);
        assert_eq!((&info["cpu_cores"], &info["memory_total_bytes"]), (&json!(cores), &json!(memory * 1024)));
        assert_eq!((&info["os_version"], &info["kernel_version"]), (&json!(os), &json!(kernel)));
        assert_eq!((&info["uptime_seconds"], &info["serial"]), (&json!(uptime), &json!(serial)));
        assert_eq!(info["board_revision"], revision);
    }
}

#[tokio::test]
async fn a_pc_has_a_simulated_board_and_a_real_system() {
    let answer = Pi::like("pc").call(TOOL, json!({})).await;
    assert!(answer.simulated, "the board is, and the answer says so");
    let info = answer.ok();
    assert_eq!(
        (&info["hostname"], &info["cpu_arch"], &info["cpu_cores"]),
        (&json!("desk"), &json!("x86_64"), &json!(2))
    );
    assert_eq!(info["memory_total_bytes"], 16_125_140_u64 * 1024);
}

#[tokio::test]
async fn what_changes_is_read_anew_and_what_cannot_is_not() {
    let copy = Copied::of("pi-4b");
    let pi = Pi::on(machine(copy.root()));
    pi.call(TOOL, json!({})).await.ok();
    copy.write("proc/uptime", "9999.5 1.0\n")
        .write("proc/sys/kernel/hostname", "kitchen\n")
        .write("proc/meminfo", "MemTotal: 1 kB\nMemAvailable: 1 kB\n");
    let info = pi.call(TOOL, json!({})).await.ok();
    assert_eq!((&info["uptime_seconds"], &info["hostname"]), (&json!(9999), &json!("kitchen")));
    assert_eq!(info["memory_total_bytes"], 3_882_988_u64 * 1024);
}

#[tokio::test]
async fn a_source_that_is_missing_is_named_and_asked_again_later() {
    let copy = Copied::of("pi-4b");
    copy.without("proc/meminfo");
    let pi = Pi::on(machine(copy.root()));
    let refusal = pi.call(TOOL, json!({})).await.refused();
    assert_eq!(refusal["error_code"], "capability_missing");
    assert!(refusal["message"].as_str().unwrap().contains("/proc/meminfo"), "{refusal}");
    assert!(refusal["hint"].as_str().unwrap().contains("/proc"), "{refusal}");
    copy.write("proc/meminfo", "MemTotal: lots");
    assert_eq!(pi.call(TOOL, json!({})).await.refused()["error_code"], "unavailable");
    copy.write("proc/meminfo", "MemTotal: 5 kB\nMemAvailable: 1 kB\n");
    assert_eq!(pi.call(TOOL, json!({})).await.ok()["memory_total_bytes"], 5120);
}

#[tokio::test]
async fn it_takes_no_parameters() {
    let refusal = Pi::like("pi-4b").call(TOOL, json!({"verbose": true})).await.refused();
    assert_eq!(
        (&refusal["error_code"], &refusal["details"]["parameter"]),
        (&json!("invalid_argument"), &json!("verbose"))
    );
}

#[tokio::test]
async fn a_thousand_calls_open_no_files() {
    let pi = Pi::on(machine(tree("pi-4b")));
    pi.call(TOOL, json!({})).await.ok();
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = open();
    for _ in 0..1000 {
        pi.call(TOOL, json!({})).await.ok();
    }
    // Other tests run beside this one and open files of their own.
    assert!(open() < before + 500, "{before} files before, {} after", open());
}
