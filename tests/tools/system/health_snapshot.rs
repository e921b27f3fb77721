//! `system.get_health_snapshot`

use crate::support::{
    pi::Pi,
    trees::{Copied, machine, machine_as, tree},
};
use base::clock::Wall;
use hw::board::{BoardPart, Choice};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};
use tokio::time::advance;

const TOOL: &str = "system.get_health_snapshot";

fn net(wlan_received: u64, wlan_sent: u64, packets: u64, errors: u64) -> String {
    format!(
        "a | b\n c | d\n lo: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0\n \
         wlan0: {wlan_received} {packets} {errors} 0 0 0 0 0 {wlan_sent} {packets} 0 0 0 0 0 0\n \
         eth0: {wlan_received} {packets} 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n \
         usb0: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
    )
}

fn disk(reads: u64, sectors_read: u64, writes: u64, sectors_written: u64, busy: u64) -> String {
    format!("179 0 mmcblk0 {reads} 0 {sectors_read} 0 {writes} 0 {sectors_written} 0 3 {busy} 0\n")
}

#[tokio::test(start_paused = true)]
async fn a_zero_2_w_that_has_seen_low_voltage() {
    let answer = Pi::like("pi-zero-2-w").call(TOOL, json!({})).await;
    assert!(!answer.simulated);
    let health = answer.ok();
    assert_eq!(health["cpu_temperature_celsius"], 42.9);
    let flags = &health["throttling_flags"];
    assert_eq!((&flags["under_voltage"], &flags["under_voltage_occurred"]), (&json!(false), &json!(true)));
    assert_eq!((&flags["throttled"], &flags["throttled_occurred"]), (&json!(false), &json!(true)));
    assert_eq!(health["memory_used_bytes"], (437_796 - 338_956) * 1024);
    assert_eq!(
        (&health["cpu_frequency_hz"], &health["load_average"]),
        (&json!(600_000_000), &json!([0.03, 0.08, 0.08]))
    );
    assert_eq!(health["disk_mount"], "/");
    assert_eq!(health["interval_seconds"], 0.25);
    assert!(health.get("unreadable").is_none(), "{health}");
}

#[tokio::test(start_paused = true)]
async fn a_raspberry_pi_5_without_a_way_to_ask_has_no_flags_and_no_fault() {
    let health = Pi::like("pi-5").call(TOOL, json!({})).await.ok();
    assert!(health.get("throttling_flags").is_none() && health.get("unreadable").is_none(), "{health}");
    assert_eq!(health["cpu_temperature_celsius"], 52.4);
}

#[tokio::test(start_paused = true)]
async fn rates_are_means_since_the_last_call() {
    let copy = Copied::of("pi-5");
    copy.write("proc/net/dev", net(1_000, 500, 100, 0)).write("proc/diskstats", disk(10, 100, 5, 50, 1000));
    copy.write("proc/stat", "cpu  100 0 0 900 0 0 0 0 0 0\n").write("sys/class/net/eth0/speed", "100\n");
    let pi = Pi::on(machine(copy.root()));
    pi.call(TOOL, json!({})).await.ok();
    advance(Duration::from_millis(9_750)).await;
    copy.write("proc/net/dev", net(12_501_000, 1_250_500, 1_090, 10))
        .write("proc/diskstats", disk(460, 10_100, 125, 2_550, 2550));
    copy.write("proc/stat", "cpu  155 0 0 1045 0 0 0 0 0 0\n");
    let health = pi.call(TOOL, json!({})).await.ok();

    assert_eq!((&health["interval_seconds"], &health["cpu_usage_percent"]), (&json!(10.0), &json!(27.5)));
    let wlan0 = json!({
        "bytes_sent_per_sec": 125_000.0, "bytes_recv_per_sec": 1_250_000.0,
        "packets_sent_per_sec": 99.0, "packets_recv_per_sec": 99.0,
        "error_rate_percent": 0.503, "drop_rate_percent": 0.0,
    });
    assert_eq!(health["network"]["interfaces"]["wlan0"], wlan0, "Wi-Fi has no fixed speed, so no utilisation");
    assert_eq!(health["network"]["interfaces"]["eth0"]["utilization_percent"], 10.0);
    let names: Vec<_> = health["network"]["interfaces"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["eth0", "wlan0"], "no loopback, nothing that never carried a packet");
    assert_eq!(health["network"]["total_bandwidth_mbps"], json!({"up": 1.0, "down": 20.0}));
    let card = json!({
        "read_bytes_per_sec": 512_000.0, "write_bytes_per_sec": 128_000.0, "read_iops": 45.0, "write_iops": 12.0,
        "busy_percent": 15.5, "queue_depth": 3,
    });
    assert_eq!(health["disk_io"]["devices"], json!({"mmcblk0": card}));
    assert_eq!(health["disk_io"]["total"], json!({"read_mb_per_sec": 0.512, "write_mb_per_sec": 0.128}));
}

#[tokio::test(start_paused = true)]
async fn a_reset_counter_and_a_new_disk_make_no_wild_numbers() {
    let copy = Copied::of("pi-5");
    copy.write("proc/net/dev", net(9_000_000, 9_000_000, 9_000, 9)).write("proc/diskstats", disk(9, 9, 9, 9, 9));
    let pi = Pi::on(machine(copy.root()));
    pi.call(TOOL, json!({})).await.ok();
    advance(Duration::from_secs(5)).await;
    copy.write("proc/net/dev", net(10, 10, 1, 0));
    copy.write("proc/diskstats", disk(9, 9, 9, 9, 9) + "8 0 sda 999 0 99999 0 999 0 99999 0 0 999 0\n");
    let health = pi.call(TOOL, json!({})).await.ok();
    assert_eq!(health["network"]["interfaces"]["wlan0"]["bytes_recv_per_sec"], 0.0);
    let disks: Vec<_> = health["disk_io"]["devices"].as_object().unwrap().keys().collect();
    assert_eq!(disks, ["mmcblk0"], "a disk that has just come has no rate yet");
}

#[tokio::test(start_paused = true)]
async fn the_largest_counters_there_are() {
    let copy = Copied::of("pi-5");
    let most = u64::MAX;
    let pi = Pi::on(machine(copy.root()));
    pi.call(TOOL, json!({})).await.ok();
    advance(Duration::from_secs(5)).await;
    copy.write("proc/net/dev", format!("wlan0:{}\n", format!(" {most}").repeat(16)));
    copy.write("proc/diskstats", format!("179 0 mmcblk0{}\n", format!(" {most}").repeat(17)));
    copy.write("proc/stat", format!("cpu {}\n", format!(" {most}").repeat(10)));
    let health = pi.call(TOOL, json!({})).await.ok();
    assert_eq!(health["disk_io"]["devices"]["mmcblk0"]["busy_percent"], 100.0);
}

#[tokio::test(start_paused = true)]
async fn missing_sources_are_absent_and_broken_ones_are_told() {
    let copy = Copied::of("pi-4b");
    for gone in
        ["proc/net/dev", "proc/diskstats", "proc/loadavg", "sys/class/thermal", "sys/class/hwmon", "sys/devices"]
    {
        copy.without(gone);
    }
    let health = Pi::on(machine(copy.root())).call(TOOL, json!({})).await.ok();
    let absent =
        ["network", "disk_io", "load_average", "cpu_temperature_celsius", "throttling_flags", "cpu_frequency_hz"];
    for field in absent.iter().chain(&["unreadable"]) {
        assert!(health.get(field).is_none(), "{field}: {health}");
    }

    copy.write("proc/net/dev", "eth0: none\n").write("proc/diskstats", "0 0 sda x\n").write("proc/loadavg", "low\n");
    copy.write("sys/class/thermal/thermal_zone0/type", "cpu-thermal\n");
    copy.write("sys/class/thermal/thermal_zone0/temp", "warm\n");
    copy.write("sys/devices/platform/soc/soc:firmware/get_throttled", "no\n");
    copy.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "0\n");
    let health = Pi::on(machine(copy.root())).call(TOOL, json!({})).await.ok();
    let told: Vec<&String> = health["unreadable"].as_object().unwrap().keys().collect();
    let mut expected = absent;
    expected.sort_unstable();
    assert_eq!(told, expected);
    assert_eq!(
        health["unreadable"]["cpu_temperature_celsius"],
        "/sys/class/thermal/thermal_zone0/temp cannot be understood: it does not hold a whole number"
    );
    assert!(absent.iter().all(|field| health.get(field).is_none()), "{health}");
}

#[tokio::test(start_paused = true)]
async fn what_it_cannot_do_without_refuses_the_call() {
    for (file, resource) in
        [("proc/stat", "processor time"), ("proc/meminfo", "memory"), ("proc/mounts", "the list of mounts")]
    {
        let copy = Copied::of("pi-4b");
        copy.without(file);
        let refusal = Pi::on(machine(copy.root())).call(TOOL, json!({})).await.refused();
        assert_eq!(
            (&refusal["error_code"], &refusal["details"]["resource"]),
            (&json!("capability_missing"), &json!(resource))
        );
        copy.write(file, "?");
        let refusal = Pi::on(machine(copy.root())).call(TOOL, json!({})).await.refused();
        assert_eq!(refusal["error_code"], "unavailable", "{refusal}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_simulated_board_says_so_and_does_what_a_test_says() {
    let pi = Pi::like("pc");
    let board = pi.services.machine.board.simulated.clone().unwrap();
    board.set_celsius(81.04);
    board.set_throttled_now(0b1100);
    let answer = pi.call(TOOL, json!({})).await;
    assert!(answer.simulated);
    let health = answer.ok();
    assert_eq!(health["cpu_temperature_celsius"], 81.0);
    assert_eq!(health["throttling_flags"]["soft_temperature_limit"], true);
    assert_eq!(health["memory_total_bytes"], 16_125_140_u64 * 1024, "memory is this machine's own");

    board.fail(BoardPart::Temperature, "the sensor has come off");
    let health = pi.call(TOOL, json!({})).await.ok();
    assert_eq!(health["unreadable"], json!({"cpu_temperature_celsius": "the sensor has come off"}));
    assert_eq!(health.get("cpu_temperature_celsius"), None);
}

#[tokio::test(start_paused = true)]
async fn a_linux_board_has_no_flags() {
    let health = Pi::on(machine_as(Choice::Linux, tree("pc"))).call(TOOL, json!({})).await;
    assert!(!health.simulated);
    let health = health.ok();
    // coretemp's: the thermal zone is the board's (acpitz, 27.8).
    assert_eq!((health.get("throttling_flags"), &health["cpu_temperature_celsius"]), (None::<&Value>, &json!(44.0)));
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_withdraws_does_not_wait() {
    let pi = Pi::like("pi-4b");
    pi.cancel.cancel();
    let started = tokio::time::Instant::now();
    assert_eq!(pi.call(TOOL, json!({})).await.refused()["error_code"], "cancelled");
    assert_eq!(started.elapsed(), Duration::ZERO);
}

fn cell(word: u32) -> [u8; 4] {
    word.to_be_bytes()
}

async fn health(copy: &Copied) -> Value {
    Pi::on(machine(copy.root())).call(TOOL, json!({})).await.ok()
}

#[tokio::test(start_paused = true)]
async fn low_voltage_is_remembered_across_restarts_of_server_and_machine() {
    const WORD: &str = "sys/devices/platform/soc/soc:firmware/get_throttled";
    const BOOT: &str = "proc/sys/kernel/random/boot_id";
    let (copy, home) = (Copied::of("pi-4b"), tempfile::tempdir().unwrap());
    let now = Arc::new(AtomicI64::new(0));
    let look = async |word: &str, second: i64| {
        let clock = Arc::clone(&now);
        clock.store(1_768_485_600_000 + second * 1000, Ordering::Relaxed);
        copy.write(WORD, word);
        let wall = Wall::of(move || clock.load(Ordering::Relaxed));
        let pi = Pi::living_in(machine(copy.root()), home.path(), wall);
        let health = pi.call(TOOL, json!({})).await.ok();
        pi.services.sampling.close().await.unwrap();
        health["throttling_history"].clone()
    };
    assert_eq!(look("0\n", 0).await, json!({"recorded_since": "2026-01-15T14:00:00.000Z"}));
    let once = json!({"times": 1, "first_seen": "2026-01-15T14:00:10.000Z", "last_seen": "2026-01-15T14:00:10.000Z"});
    assert_eq!(look("50005\n", 10).await["under_voltage"], once);
    // The record of the kernel's file lasts two seconds: it was so until a moment ago.
    let still = look("50000\n", 20).await;
    let longer = json!({"times": 1, "first_seen": "2026-01-15T14:00:10.000Z", "last_seen": "2026-01-15T14:00:20.000Z"});
    assert_eq!((&still["under_voltage"], &still["throttled"]), (&longer, &longer), "it counts once");
    assert_eq!(look("0\n", 25).await["under_voltage"], longer, "it has passed");
    assert_eq!(look("50005\n", 30).await["under_voltage"]["times"], 2);
    copy.write(BOOT, "01234567-89ab-cdef-0123-456789abcdef\n");
    let other = look("10000\n", 40).await;
    assert_eq!((&other["under_voltage"]["times"], &other["throttled"]["times"]), (&json!(3), &json!(2)));
    assert_eq!(other["under_voltage"]["last_seen"], "2026-01-15T14:00:40.000Z");
    assert_eq!(other["recorded_since"], "2026-01-15T14:00:00.000Z");
    assert!(other.get("freq_capped").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_dip_that_the_kernel_has_forgotten_is_told_for_the_rest_of_the_boot() {
    const WORD: &str = "sys/devices/platform/soc/soc:firmware/get_throttled";
    let copy = Copied::of("pi-4b");
    let pi = Pi::on(machine(copy.root()));
    let flags = async |word: &str| {
        copy.write(WORD, word);
        pi.call(TOOL, json!({})).await.ok()["throttling_flags"].clone()
    };
    let good = flags("0\n").await;
    assert_eq!((&good["under_voltage_occurred"], &good["since_boot"]), (&json!(false), &json!(false)));
    assert_eq!(flags("50005\n").await["under_voltage"], true);
    let passed = flags("0\n").await;
    assert_eq!((&passed["under_voltage"], &passed["under_voltage_occurred"]), (&json!(false), &json!(true)));
    assert_eq!((&passed["throttled_occurred"], &passed["freq_capped_occurred"]), (&json!(true), &json!(false)));
}

#[tokio::test(start_paused = true)]
async fn a_card_tells_its_wear_where_it_knows_it() {
    let copy = Copied::of("pi-4b");
    copy.write("proc/diskstats", disk(1, 1, 1, 2048, 1) + &disk(1, 1, 1, 4096, 1).replace("mmcblk0", "mmcblk1"));
    copy.write("proc/uptime", "7200.00 1.0\n").write("sys/block/mmcblk0/device/type", "SD\n");
    copy.write("sys/block/mmcblk1/device/type", "MMC\n").write("sys/block/mmcblk1/device/pre_eol_info", "0x02\n");
    copy.write("sys/block/mmcblk1/device/life_time", "0x02 0x07\n");
    let cards = health(&copy).await["cards"].clone();
    let sd = json!({"device": "mmcblk0", "kind": "SD", "written_since_boot_bytes": 1 << 20, "written_per_day_bytes": 12 << 20});
    assert_eq!(cards[0], sd, "an SD card does not know");
    assert_eq!((&cards[1]["life_used_percent"], &cards[1]["spare_blocks"]), (&json!(70), &json!("warning")));

    copy.write("proc/uptime", "3599.00 1.0\n").write("sys/block/mmcblk1/device/life_time", "worn\n");
    let told = health(&copy).await;
    assert!(told["cards"][0].get("written_per_day_bytes").is_none(), "a start is no day");
    assert!(told["cards"][1].get("life_used_percent").is_none() && told["cards"][1]["spare_blocks"] == "warning");
    assert!(told["unreadable"]["cards"].as_str().unwrap().contains("life_time"), "{told}");
    copy.write("proc/diskstats", "8 0 sda 1 0 1 0 1 0 1 0 0 0 0\n");
    assert!(health(&copy).await.get("cards").is_none(), "no card, no wear");
}

#[tokio::test(start_paused = true)]
async fn why_the_machine_started_and_who_says_so() {
    const RSTS: &str = "proc/device-tree/chosen/bootloader/rsts";
    const POWER: &str = "proc/device-tree/chosen/power/power_reset";
    let captured = async |name| Pi::like(name).call(TOOL, json!({})).await.ok();
    assert_eq!(captured("pi-5").await["last_reset"]["cause"], "power_on");
    let pi4 = captured("pi-4b").await;
    assert_eq!((&pi4["last_reset"]["cause"], &pi4["cards"][0]["kind"]), (&json!("restart"), &json!("SD")));
    assert!(captured("pi-3b").await.get("last_reset").is_none());
    let copy = Copied::of("pi-5");
    let reset = async || health(&copy).await["last_reset"].clone();
    copy.write(RSTS, cell(0x1000)).write(POWER, cell(0));
    assert_eq!(reset().await, json!({"cause": "power_on", "source": "device_tree"}));
    copy.write(POWER, cell(0b10));
    assert_eq!(reset().await, json!({"cause": "under_voltage", "source": "power_controller"}));
    copy.write(RSTS, cell(0x20))
        .write("sys/fs/pstore/dmesg-ramoops-0", "")
        .write("sys/fs/pstore/console-ramoops-0", "");
    assert_eq!(reset().await, json!({"cause": "restart", "source": "device_tree", "crash_records": 1}));
    copy.write("sys/class/watchdog/watchdog0/bootstatus", "32\n");
    assert_eq!(reset().await["cause"], "watchdog");
    copy.write("sys/class/watchdog/watchdog0/bootstatus", "0\n");
    copy.without(RSTS).write("proc/device-tree/chosen/bootloader/pm_rsts", cell(0x200));
    assert_eq!(reset().await["cause"], "software");

    copy.write("proc/device-tree/chosen/bootloader/pm_rsts", "0x1000\n");
    let told = health(&copy).await;
    assert!(told.get("last_reset").is_none(), "{told}");
    assert!(told["unreadable"]["last_reset"].as_str().unwrap().contains("7 bytes where a cell has 4"), "{told}");
    copy.without("proc/device-tree/chosen");
    let told = health(&copy).await;
    assert!(told.get("last_reset").is_none() && told.get("unreadable").is_none(), "{told}");
}

// In real time: a program is waited for.
#[tokio::test]
async fn older_firmware_is_asked_by_its_program() {
    let copy = Copied::of("pi-5");
    copy.without("proc/device-tree/chosen");
    copy.script("usr/bin/vcgencmd", "[ $1 = get_rsts ] && echo get_rsts=1000 || echo throttled=0x0");
    let told = health(&copy).await;
    assert_eq!(
        (&told["last_reset"]["cause"], &told["last_reset"]["source"]),
        (&json!("power_on"), &json!("vcgencmd")),
        "{told}"
    );
}

#[tokio::test(start_paused = true)]
async fn whether_the_clock_is_set() {
    assert_eq!(Pi::like("pi-4b").call(TOOL, json!({})).await.ok()["clock_synchronized"], true);
    assert_eq!(Pi::like("pi-3b").call(TOOL, json!({})).await.ok()["clock_synchronized"], false);
    assert!(Pi::like("pc").call(TOOL, json!({})).await.ok().get("clock_synchronized").is_none());
}
