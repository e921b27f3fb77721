//! Every reader says which file is missing and which one it does not understand, on every tree.

use crate::support::trees::{Copied, tree};
use base::os::*;
use std::io::{self, ErrorKind};

const TREES: [&str; 5] = ["pi-zero-2-w", "pi-3b", "pi-4b", "pi-5", "pc"];

/// One row a reader: its file, content it cannot understand, and the reader.
pub type Row = (&'static str, &'static str, fn(&Root) -> io::Result<()>);

pub const READERS: &[Row] = &[
    ("proc/uptime", "since Tuesday", |root| uptime::read(root).map(drop)),
    ("proc/meminfo", "MemTotal: lots\n", |root| meminfo::read(root).map(drop)),
    ("proc/stat", "cpu 1 2\n", |root| cpu_stat::read(root).map(drop)),
    ("proc/loadavg", "0.1\n", |root| loadavg::read(root).map(drop)),
    ("proc/net/dev", "eth0: 1 2 3\n", |root| net_dev::read(root).map(drop)),
    ("proc/diskstats", "179 0 mmcblk0 many\n", |root| diskstats::read(root).map(drop)),
    ("proc/mounts", "/dev/root\n", |root| mounts::read(root).map(drop)),
    ("proc/cpuinfo", "Hardware : BCM2835\n", |root| cpuinfo::read(root).map(drop)),
    ("proc/sys/kernel/osrelease", "\n", |root| kernel::read(root).map(drop)),
    ("proc/sys/kernel/hostname", "", |root| kernel::hostname(root).map(drop)),
    ("proc/sys/kernel/random/boot_id", "0b6d7b2e", |root| ids::boot(root).map(drop)),
    ("etc/machine-id", "uninitialized\n", |root| ids::machine(root).map(drop)),
    ("sys/class/thermal/thermal_zone0/temp", "warm\n", |root| thermal::zone(root, 0).map(drop)),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "-1\n", |root| cpufreq::hertz(root).map(drop)),
];

/// Those of them that hold a name.
const NAMES: [&str; 2] = ["proc/sys/kernel/osrelease", "proc/sys/kernel/hostname"];

#[test]
fn good_on_every_tree() {
    for name in TREES {
        for (file, _, read) in READERS {
            read(&tree(name)).unwrap_or_else(|fault| panic!("{name}: {file}: {fault}"));
        }
    }
}

#[test]
fn missing_on_every_tree_names_the_file() {
    for name in TREES {
        let copy = Copied::of(name);
        for (file, _, read) in READERS {
            copy.without(file);
            let fault = read(&copy.root()).unwrap_err();
            assert_eq!(fault.kind(), ErrorKind::NotFound, "{name}: {file}: {fault}");
            assert!(fault.to_string().starts_with(&format!("/{file}: ")), "{fault}");
        }
    }
}

#[test]
fn malformed_on_every_tree_names_the_file() {
    for name in TREES {
        let copy = Copied::of(name);
        for (file, nonsense, read) in READERS {
            for content in [nonsense.as_bytes(), b"\xff\xfe"] {
                copy.write(file, content);
                // A name may have any bytes, and is shown with U+FFFD.
                if content == b"\xff\xfe" && NAMES.contains(file) {
                    read(&copy.root()).unwrap_or_else(|fault| panic!("{name}: {file}: {fault}"));
                    continue;
                }
                let fault = read(&copy.root()).unwrap_err();
                assert_eq!(fault.kind(), ErrorKind::InvalidData, "{name}: {file}: {fault}");
                assert!(fault.to_string().starts_with(&format!("/{file} cannot be understood: ")), "{fault}");
            }
        }
    }
}

#[test]
fn a_temperature_no_chip_has_is_malformed() {
    let copy = Copied::of("pi-4b");
    copy.write("sys/class/thermal/thermal_zone0/temp", "-274000\n");
    let fault = thermal::zone(&copy.root(), 0).unwrap_err();
    assert!(fault.to_string().ends_with("no chip has that temperature"), "{fault}");
}

#[test]
fn one_sleeping_sensor_does_not_hide_the_others_and_all_asleep_is_a_fault() {
    let copy = Copied::of("pi-5");
    copy.write("sys/class/hwmon/hwmon0/temp1_input", "");
    assert_eq!(hwmon::temperatures(&copy.root()).unwrap()[0].chip, "rp1_adc");
    copy.write("sys/class/hwmon/hwmon2/temp1_input", "");
    assert_eq!(hwmon::temperatures(&copy.root()).unwrap_err().kind(), ErrorKind::InvalidData);
    copy.without("sys/class/hwmon");
    assert_eq!(hwmon::temperatures(&copy.root()).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_thermometer_on_a_cable_is_not_the_boards() {
    let copy = Copied::of("pi-5");
    copy.write("sys/class/hwmon/hwmon0/name", "w1_slave_temp\n");
    let chips: Vec<_> = hwmon::temperatures(&copy.root()).unwrap().into_iter().map(|sensor| sensor.chip).collect();
    assert_eq!(chips, ["rp1_adc"]);
}

#[test]
fn os_release_has_a_second_place() {
    let copy = Copied::of("pi-4b");
    copy.without("etc/os-release");
    assert_eq!(os_release::read(&copy.root()).unwrap_err().kind(), ErrorKind::NotFound);
    copy.write("usr/lib/os-release", "NAME=Appliance\nVERSION_ID=7\n");
    let os = os_release::read(&copy.root()).unwrap();
    assert_eq!((os.name.as_str(), os.version.as_deref()), ("Appliance", Some("7")));
}
