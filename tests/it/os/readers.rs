//! Every reader on every tree reads what the capture says.

use crate::support::trees::tree;
use base::os::*;
use std::time::Duration;

#[test]
fn a_zero_2_w() {
    let root = tree("pi-zero-2-w");
    assert_eq!(uptime::read(&root).unwrap(), Duration::from_millis(350_735_470));
    let memory = meminfo::read(&root).unwrap();
    assert_eq!((memory.total, memory.used()), (437_796 * 1024, (437_796 - 338_956) * 1024));
    assert_eq!((memory.swap_total, memory.swap_free), (524_284 * 1024, 505_004 * 1024));
    let cpu = cpuinfo::read(&root).unwrap();
    assert_eq!((cpu.cores, cpu.revision.as_deref()), (4, Some("902120")));
    assert_eq!(loadavg::read(&root).unwrap(), [0.03, 0.08, 0.08]);
    assert_eq!(thermal::zone(&root, 0).unwrap(), 42.932);
    assert_eq!(cpufreq::hertz(&root).unwrap(), 600_000_000);
    let net = net_dev::read(&root).unwrap();
    assert_eq!((net.len(), net[0].name.as_str(), net[0].received.drops), (1, "wlan0", 12));
    assert_eq!(net_dev::link_bits_per_second(&root, "wlan0"), None);
    assert_eq!(kernel::read(&root).unwrap().release, "6.6.20+rpt-rpi-v8");
    assert_eq!(kernel::hostname(&root).unwrap(), "zero");
    assert_eq!(ids::boot(&root).unwrap(), "0b6d7b2e-0d53-4c53-8d0c-4fb0d6d2c0f1");
    assert_eq!(ids::machine(&root).unwrap(), "0123456789abcdef0123456789abcdef");
    assert_eq!(clock::zone(&root).unwrap().name, "Etc/UTC");
    assert_eq!(clock::synchronized(&root), Some(true));
}

#[test]
fn a_3b_with_an_old_32_bit_system() {
    let root = tree("pi-3b");
    let cpu = cpuinfo::read(&root).unwrap();
    assert_eq!(
        (cpu.cores, cpu.revision.as_deref(), cpu.serial.as_deref()),
        (4, Some("a02082"), Some("00000000b5c6d7e8"))
    );
    let os = os_release::read(&root).unwrap();
    assert_eq!(
        (os.name.as_str(), os.version.as_deref(), os.id.as_str()),
        ("Raspbian GNU/Linux", Some("10 (buster)"), "raspbian")
    );
    // Eleven counters: kernels before 4.18 have no more.
    let disks = diskstats::read(&root).unwrap();
    assert_eq!(disks.iter().map(|disk| disk.name.as_str()).collect::<Vec<_>>(), ["mmcblk0", "sda"]);
    assert_eq!((disks[0].busy_ms, disks[1].in_flight), (43_580, 1));
    assert_eq!(net_dev::link_bits_per_second(&root, "eth0"), Some(100_000_000));
    let mounts = mounts::read(&root).unwrap();
    assert_eq!(mounts.last().unwrap().target, "/media/pi/USB disk");
    // No /proc/sys/kernel/arch before Linux 6.1: the running kernel answers.
    assert!(!kernel::read(&root).unwrap().architecture.is_empty());
    assert_eq!(clock::synchronized(&root), Some(false));
    assert_eq!(clock::zone(&root).unwrap().name, "UTC");
}

#[test]
fn a_4b() {
    let root = tree("pi-4b");
    assert_eq!(meminfo::read(&root).unwrap().total, 3_882_988 * 1024);
    let sensors = hwmon::temperatures(&root).unwrap();
    assert_eq!(sensors, [hwmon::Sensor { chip: "cpu_thermal".into(), celsius: 51.121 }]);
    assert_eq!(diskstats::read(&root).unwrap()[0].read_bytes, 10_649_174 * 512);
    let net = net_dev::read(&root).unwrap();
    assert_eq!(net.iter().map(|each| each.name.as_str()).collect::<Vec<_>>(), ["eth0", "wlan0"]);
}

#[test]
fn a_5_with_its_many_monitors_and_an_nvme_disk() {
    let root = tree("pi-5");
    let chips: Vec<_> =
        hwmon::temperatures(&root).unwrap().into_iter().map(|sensor| (sensor.chip, sensor.celsius)).collect();
    assert_eq!(chips, [("cpu_thermal".to_owned(), 52.35), ("rp1_adc".to_owned(), 54.31)]);
    let disks = diskstats::read(&root).unwrap();
    assert_eq!(disks.iter().map(|disk| disk.name.as_str()).collect::<Vec<_>>(), ["mmcblk0", "nvme0n1"]);
    assert_eq!(net_dev::link_bits_per_second(&root, "eth0"), None, "a port without a cable says -1");
    assert_eq!(kernel::read(&root).unwrap().architecture, "aarch64");
}

#[test]
fn a_pc() {
    let root = tree("pc");
    let cpu = cpuinfo::read(&root).unwrap();
    assert_eq!((cpu.cores, cpu.model_name.as_deref()), (2, Some("Intel(R) Celeron(R) N5105 @ 2.00GHz")));
    assert_eq!((cpu.revision, cpu.board), (None, None));
    assert_eq!(diskstats::read(&root).unwrap().len(), 1, "no partitions, no zram");
    assert_eq!(hwmon::temperatures(&root).unwrap().len(), 3);
    assert_eq!(net_dev::link_bits_per_second(&root, "enp1s0"), Some(2_500_000_000));
    assert_eq!(clock::synchronized(&root), None, "no timesyncd, no answer");
}
