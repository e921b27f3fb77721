//! The machine's numbers under the names of Prometheus' node_exporter (github.com/prometheus/node_exporter): what its
//! collectors meminfo, stat, cpu, loadavg, netdev, diskstats, filesystem and uname give, so that a dashboard made for it
//! shows them. Read when a page is asked for, and at no other time.
//!
//! Numbers that cannot be read are left out, never 0.

use super::text::{MetricType, MetricsText};
use base::os::{Root, loadavg, mounts::Space};

/// Ticks a second of /proc/stat: USER_HZ, which is 100 for every program.
const USER_HZ: f64 = 100.0;
const CPU_MODES: [&str; 8] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
const RECEIVED: [&str; 8] = ["bytes", "packets", "errs", "drop", "fifo", "frame", "compressed", "multicast"];
const SENT: [&str; 8] = ["bytes", "packets", "errs", "drop", "fifo", "colls", "carrier", "compressed"];
/// The single lines of /proc/stat, and their families.
const STAT: [(&str, &str, MetricType, &str); 6] = [
    ("btime", "node_boot_time_seconds", MetricType::Gauge, "When the machine started, in Unix time."),
    ("intr", "node_intr_total", MetricType::Counter, "Interrupts."),
    ("ctxt", "node_context_switches_total", MetricType::Counter, "Context switches."),
    ("processes", "node_forks_total", MetricType::Counter, "Forks."),
    ("procs_running", "node_procs_running", MetricType::Gauge, "Threads that run or could."),
    ("procs_blocked", "node_procs_blocked", MetricType::Gauge, "Threads that wait for a disk."),
];
/// The columns of /proc/diskstats after the name, and the factor to the unit of the family.
const DISK: [(&str, MetricType, f64); 11] = [
    ("reads_completed_total", MetricType::Counter, 1.0),
    ("reads_merged_total", MetricType::Counter, 1.0),
    ("read_bytes_total", MetricType::Counter, 512.0),
    ("read_time_seconds_total", MetricType::Counter, 1e-3),
    ("writes_completed_total", MetricType::Counter, 1.0),
    ("writes_merged_total", MetricType::Counter, 1.0),
    ("written_bytes_total", MetricType::Counter, 512.0),
    ("write_time_seconds_total", MetricType::Counter, 1e-3),
    ("io_now", MetricType::Gauge, 1.0),
    ("io_time_seconds_total", MetricType::Counter, 1e-3),
    ("io_time_weighted_seconds_total", MetricType::Counter, 1e-3),
];

/// Everything but the file systems.
pub fn machine(root: &Root, text: &mut MetricsText) {
    memory(root, text);
    stat(root, text);
    if let Ok(means) = loadavg::read(root) {
        for (minutes, mean) in [1, 5, 15].into_iter().zip(means) {
            let name = format!("node_load{minutes}");
            text.single(&name, MetricType::Gauge, &format!("{minutes}m load average."), mean);
        }
    }
    network(root, text);
    disks(root, text);
    if root.is_system() {
        let uname = rustix::system::uname();
        let part = |part: &'static str, of: &std::ffi::CStr| (part, of.to_string_lossy().into_owned());
        let labels = [
            part("sysname", uname.sysname()),
            part("release", uname.release()),
            part("version", uname.version()),
            part("machine", uname.machine()),
            part("nodename", uname.nodename()),
            part("domainname", uname.domainname()),
        ];
        let labels: Vec<(&str, &str)> = labels.iter().map(|(label, value)| (*label, value.as_str())).collect();
        text.family("node_uname_info", MetricType::Gauge, "Always 1; the labels are those of uname(2).");
        text.sample("node_uname_info", &labels, 1);
    }
}

/// Every line of /proc/meminfo: `Active(anon):  12 kB` is `node_memory_Active_anon_bytes`.
fn memory(root: &Root, text: &mut MetricsText) {
    for line in root.read("proc/meminfo").unwrap_or_default().lines() {
        let Some((field, value)) = line.split_once(':') else { continue };
        let mut words = value.split_whitespace();
        let Some(number) = words.next().and_then(|number| number.parse::<u64>().ok()) else { continue };
        let is_kib = words.next() == Some("kB");
        let field = field.trim_end_matches(')').replace('(', "_");
        if !field.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            continue;
        }
        let name = if is_kib { format!("node_memory_{field}_bytes") } else { format!("node_memory_{field}") };
        let help = format!("Memory information field {field}.");
        text.single(&name, MetricType::Gauge, &help, if is_kib { number.saturating_mul(1024) } else { number });
    }
}

fn stat(root: &Root, text: &mut MetricsText) {
    let stat = root.read("proc/stat").unwrap_or_default();
    let ticks = |line: &str| line.split_whitespace().filter_map(|ticks| ticks.parse().ok()).collect::<Vec<f64>>();
    let cores: Vec<(&str, Vec<f64>)> = stat
        .lines()
        .filter_map(|line| line.strip_prefix("cpu")?.split_once(' '))
        .filter(|(core, _)| !core.is_empty())
        .map(|(core, line)| (core, ticks(line)))
        .collect();
    let families: [(&str, &str, usize, &[&str]); 2] = [
        ("node_cpu_seconds_total", "Seconds the CPUs spent in each mode.", 0, &CPU_MODES),
        ("node_cpu_guest_seconds_total", "Seconds the CPUs spent in guests for each mode.", 8, &["user", "nice"]),
    ];
    for (family, help, skip, modes) in families {
        text.family(family, MetricType::Counter, help);
        for (core, ticks) in &cores {
            for (mode, ticks) in modes.iter().zip(ticks.iter().skip(skip)) {
                text.sample(family, &[("cpu", core), ("mode", mode)], ticks / USER_HZ);
            }
        }
    }
    for (word, family, kind, help) in STAT {
        let value = stat.lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(' ')?.split(' ').next());
        if let Some(number) = value.and_then(|value| value.parse::<u64>().ok()) {
            text.single(family, kind, help, number);
        }
    }
}

/// A family for each column of a table whose rows have a name.
fn columns<'a>(
    text: &mut MetricsText,
    rows: &[(&str, Vec<u64>)],
    families: impl Iterator<Item = (&'a str, &'a str, MetricType, f64)>,
) {
    for (at, (prefix, column, kind, factor)) in families.enumerate() {
        let family = format!("{prefix}{column}");
        text.family(&family, kind, &format!("{}.", family.replace('_', " ")));
        for (device, values) in rows {
            let Some(value) = values.get(at) else { continue };
            if factor == 1.0 {
                text.sample(&family, &[("device", device)], value);
            } else {
                text.sample(&family, &[("device", device)], *value as f64 * factor);
            }
        }
    }
}

fn network(root: &Root, text: &mut MetricsText) {
    let table = root.read("proc/net/dev").unwrap_or_default();
    let rows: Vec<(&str, Vec<u64>)> = table
        .lines()
        .filter(|line| !line.contains('|'))
        .filter_map(|line| line.rsplit_once(':'))
        .map(|(device, values)| (device.trim(), numbers(values)))
        .collect();
    let one = |prefix: &'static str, suffixed: &'static [&'static str; 8]| {
        suffixed.iter().map(move |column| (prefix, *column))
    };
    let names: Vec<(&str, String)> = one("node_network_receive_", &RECEIVED)
        .chain(one("node_network_transmit_", &SENT))
        .map(|(prefix, column)| (prefix, format!("{column}_total")))
        .collect();
    columns(text, &rows, names.iter().map(|(prefix, column)| (*prefix, column.as_str(), MetricType::Counter, 1.0)));
}

/// Whole disks: their partitions would count the same bytes twice.
fn disks(root: &Root, text: &mut MetricsText) {
    let table = root.read("proc/diskstats").unwrap_or_default();
    let rows: Vec<(&str, Vec<u64>)> = table
        .lines()
        .filter_map(|line| {
            let name = line.split_whitespace().nth(2)?;
            let at = line.find(name)? + name.len();
            base::os::diskstats::is_whole_disk(name).then(|| (name, numbers(&line[at..])))
        })
        .collect();
    columns(text, &rows, DISK.iter().map(|(column, kind, factor)| ("node_disk_", *column, *kind, *factor)));
}

fn numbers(columns: &str) -> Vec<u64> {
    columns.split_whitespace().map_while(|column| column.parse().ok()).collect()
}

/// One number of a file system.
pub type Figure = fn(&Space, bool) -> u64;

/// The families of a file system: name, help, and its number of the space and of whether it is read-only.
pub const FILE_SYSTEM: [(&str, &str, Figure); 4] = [
    ("node_filesystem_size_bytes", "Size of a file system on a device of this machine.", |space, _| space.total),
    ("node_filesystem_free_bytes", "Free in it.", |space, _| space.total.saturating_sub(space.used)),
    ("node_filesystem_avail_bytes", "Free in it for others than root.", |space, _| space.free),
    ("node_filesystem_readonly", "1 if it is read-only.", |_, read_only| u64::from(read_only)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_machine_in_the_units_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("proc/net")).unwrap();
        for (file, content) in [
            ("meminfo", "MemTotal:  1000 kB\nActive(anon):  2 kB\nHugePages_Total:  3\nBad name: 1 kB\nBroken: x kB\n"),
            ("loadavg", "0.25 0.5 1 1/2 3\n"),
            (
                "stat",
                "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 100 200 300 400 500 600 700 800 900 1000\nintr 17 1 2\nctxt 5\nbtime 1700000000\n",
            ),
            ("net/dev", "Inter-| x\n face |bytes\n  wlan\"0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"),
            (
                "diskstats",
                " 179 0 mmcblk0 1 2 4 3000 5 6 8 7000 9 500 11 0 0\n 179 1 mmcblk0p1 1 1 1 1 1 1 1 1 1 1 1\n",
            ),
        ] {
            std::fs::write(folder.path().join("proc").join(file), content).unwrap();
        }
        let mut text = MetricsText::default();
        machine(&Root::at(folder.path()), &mut text);
        let page = text.done();
        for line in [
            "node_memory_MemTotal_bytes 1024000",
            "node_memory_Active_anon_bytes 2048",
            "node_memory_HugePages_Total 3",
            "node_load5 0.5",
            "node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 1",
            "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 4",
            "node_cpu_seconds_total{cpu=\"0\",mode=\"steal\"} 8",
            "node_cpu_guest_seconds_total{cpu=\"0\",mode=\"nice\"} 10",
            "node_intr_total 17",
            "node_boot_time_seconds 1700000000",
            "node_network_receive_bytes_total{device=\"wlan\\\"0\"} 1",
            "node_network_receive_multicast_total{device=\"wlan\\\"0\"} 8",
            "node_network_transmit_bytes_total{device=\"wlan\\\"0\"} 9",
            "node_network_transmit_carrier_total{device=\"wlan\\\"0\"} 15",
            "node_disk_read_bytes_total{device=\"mmcblk0\"} 2048",
            "node_disk_read_time_seconds_total{device=\"mmcblk0\"} 3",
            "node_disk_written_bytes_total{device=\"mmcblk0\"} 4096",
            "node_disk_io_now{device=\"mmcblk0\"} 9",
            "node_disk_io_time_seconds_total{device=\"mmcblk0\"} 0.5",
        ] {
            assert!(page.lines().any(|found| found == line), "no {line} in\n{page}");
        }
        assert!(!page.contains("mmcblk0p1") && !page.contains("Bad name") && !page.contains("Broken"), "{page}");
        let mut none = MetricsText::default();
        machine(&Root::at(folder.path().join("none")), &mut none);
        assert!(!none.done().lines().any(|line| !line.starts_with('#')), "what is not there is left out");
    }
}
