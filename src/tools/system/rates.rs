//! Network and disk traffic per second, from two readings of the counters (docs/contract/system.md).

use base::os::{
    Root,
    activity::Interval,
    diskstats::DiskCounters,
    net_dev::{InterfaceCounters, link_bits_per_second},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Most interfaces in an answer; a machine with many containers has hundreds.
const MOST_ENTRIES: usize = 32;

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
pub struct NetworkRates {
    /// By interface name; the loopback and what has never carried anything are left out.
    interfaces: BTreeMap<String, InterfaceRates>,
    total_bandwidth_mbps: Bandwidth,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
struct InterfaceRates {
    #[schemars(range(min = 0))]
    bytes_sent_per_sec: f64,
    #[schemars(range(min = 0))]
    bytes_recv_per_sec: f64,
    #[schemars(range(min = 0))]
    packets_sent_per_sec: f64,
    #[schemars(range(min = 0))]
    packets_recv_per_sec: f64,
    #[schemars(range(min = 0, max = 100))]
    error_rate_percent: f64,
    #[schemars(range(min = 0, max = 100))]
    drop_rate_percent: f64,
    /// Of the link's speed, in the busier direction; absent where the driver does not tell the speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0, max = 100))]
    utilization_percent: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
struct Bandwidth {
    #[schemars(range(min = 0))]
    up: f64,
    #[schemars(range(min = 0))]
    down: f64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
pub struct DiskIo {
    /// By device name; whole disks only.
    devices: BTreeMap<String, DiskRates>,
    total: DiskTotal,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
struct DiskRates {
    #[schemars(range(min = 0))]
    read_bytes_per_sec: f64,
    #[schemars(range(min = 0))]
    write_bytes_per_sec: f64,
    #[schemars(range(min = 0))]
    read_iops: f64,
    #[schemars(range(min = 0))]
    write_iops: f64,
    #[schemars(range(min = 0, max = 100))]
    busy_percent: f64,
    /// Requests on their way now.
    queue_depth: u64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
struct DiskTotal {
    #[schemars(range(min = 0))]
    read_mb_per_sec: f64,
    #[schemars(range(min = 0))]
    write_mb_per_sec: f64,
}

/// Traffic of every interface present in both readings. `None` if the counters could not be read both times.
pub fn network(interval: &Interval, root: &Root) -> Option<NetworkRates> {
    let before = interval.earlier.network.as_ref().ok()?;
    let now = interval.now.network.as_ref().ok()?;
    let pairs: Vec<_> =
        now.iter().filter_map(|now| Some((before.iter().find(|old| old.name == now.name)?, now))).collect();
    let (up, down) = interval.network_bytes()?;
    let megabits = |bytes: f64| rounded(bytes * 8.0 / 1e6, 3);
    let total_bandwidth_mbps = Bandwidth { up: megabits(up), down: megabits(down) };
    let used = |(_, now): &&(&InterfaceCounters, &InterfaceCounters)| now.sent.packets > 0 || now.received.packets > 0;
    let shown = pairs.iter().filter(used).take(MOST_ENTRIES);
    let interfaces = base::sort::map(
        shown.map(|(before, now)| (now.name.clone(), InterfaceRates::between(interval, before, now, root))),
    );
    Some(NetworkRates { interfaces, total_bandwidth_mbps })
}

impl InterfaceRates {
    fn between(interval: &Interval, before: &InterfaceCounters, now: &InterfaceCounters, root: &Root) -> Self {
        let rate = |count: fn(&InterfaceCounters) -> u64| interval.per_second(count(before), count(now));
        let (sent, received) = (rate(|each| each.sent.bytes), rate(|each| each.received.bytes));
        let (packets_sent, packets_received) = (rate(|each| each.sent.packets), rate(|each| each.received.packets));
        let packets = packets_sent + packets_received;
        let link = link_bits_per_second(root, &now.name);
        Self {
            bytes_sent_per_sec: rounded(sent, 1),
            bytes_recv_per_sec: rounded(received, 1),
            packets_sent_per_sec: rounded(packets_sent, 1),
            packets_recv_per_sec: rounded(packets_received, 1),
            error_rate_percent: share(rate(|each| each.sent.errors.saturating_add(each.received.errors)), packets),
            drop_rate_percent: share(rate(|each| each.sent.drops.saturating_add(each.received.drops)), packets),
            utilization_percent: link
                .map(|bits| rounded((sent.max(received) * 800.0 / bits as f64).clamp(0.0, 100.0), 2)),
        }
    }
}

/// Traffic of every disk present in both readings. `None` if the counters could not be read both times.
pub fn disk_io(interval: &Interval) -> Option<DiskIo> {
    let before = interval.earlier.disks.as_ref().ok()?;
    let now = interval.now.disks.as_ref().ok()?;
    let pairs: Vec<_> =
        now.iter().filter_map(|now| Some((before.iter().find(|old| old.name == now.name)?, now))).collect();
    let (read, written) = interval.disk_bytes()?;
    let megabytes = |bytes: f64| rounded(bytes / 1e6, 3);
    let total = DiskTotal { read_mb_per_sec: megabytes(read), write_mb_per_sec: megabytes(written) };
    let shown = pairs.iter().take(MOST_ENTRIES);
    let devices =
        base::sort::map(shown.map(|(before, now)| (now.name.clone(), DiskRates::between(interval, before, now))));
    Some(DiskIo { devices, total })
}

impl DiskRates {
    fn between(interval: &Interval, before: &DiskCounters, now: &DiskCounters) -> Self {
        let rate = |count: fn(&DiskCounters) -> u64| rounded(interval.per_second(count(before), count(now)), 1);
        // Busy milliseconds per second, as a percentage.
        let busy = interval.per_second(before.busy_ms, now.busy_ms) / 10.0;
        Self {
            read_bytes_per_sec: rate(|each| each.read_bytes),
            write_bytes_per_sec: rate(|each| each.written_bytes),
            read_iops: rate(|each| each.reads),
            write_iops: rate(|each| each.writes),
            busy_percent: rounded(busy.clamp(0.0, 100.0), 1),
            queue_depth: now.in_flight,
        }
    }
}

/// `bad` as a percentage of all attempts; 0 without attempts.
fn share(bad: f64, good: f64) -> f64 {
    if bad == 0.0 { 0.0 } else { rounded(bad * 100.0 / (bad + good), 3) }
}

/// Rounds: insignificant digits cost a reader tokens.
pub fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (value * scale).round() / scale
}
