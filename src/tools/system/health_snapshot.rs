//! `system.get_health_snapshot`: how this machine is (document 000, section 3.2 and addendum 4).

use super::{
    rates::{self, DiskIo, Network, rounded},
    throttling::ThrottlingFlags,
};
use crate::{
    clock,
    error::ToolError,
    hw::temperature,
    machine::{Machine, unreadable},
    os::{cpufreq, loadavg, meminfo, mounts},
    registry::{context::Context, meta::Meta, tool::Tool},
    tools::none::NoArgs,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::{collections::BTreeMap, fmt::Display, io};

/// A field whose source this machine does not have is absent, never zero.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct HealthSnapshot {
    #[schemars(extend("format" = "date-time"))]
    timestamp: String,
    #[schemars(range(min = 0, max = 100))]
    cpu_usage_percent: f64,
    memory_used_bytes: u64,
    memory_total_bytes: u64,
    disk_used_bytes: u64,
    disk_total_bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    cpu_temperature_celsius: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ThrottlingFlags")]
    throttling_flags: Option<ThrottlingFlags>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Network")]
    network: Option<Network>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DiskIo")]
    disk_io: Option<DiskIo>,
    /// The file system the disk numbers are about.
    disk_mount: String,
    /// CPU, network and disk rates are means over this many seconds before `timestamp`.
    #[schemars(range(min = 0))]
    interval_seconds: f64,
    /// Means over 1, 5 and 15 minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "[f64; 3]")]
    load_average: Option<[f64; 3]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    cpu_frequency_hz: Option<u64>,
    /// Fields that are absent although this machine has a source for them, and what went wrong.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, String>")]
    unreadable: BTreeMap<&'static str, String>,
}

/// Fields that could not be filled although there is a source.
#[derive(Default)]
struct Faults(BTreeMap<&'static str, String>);

impl Faults {
    /// The value; a source that is not there is no fault, one that fails is.
    fn or_absent<T>(&mut self, field: &'static str, value: io::Result<T>) -> Option<T> {
        value.map_err(|fault| self.note(field, &fault, fault.kind())).ok()
    }
    fn note(&mut self, field: &'static str, fault: &impl Display, kind: io::ErrorKind) {
        if kind != io::ErrorKind::NotFound {
            self.0.insert(field, fault.to_string());
        }
    }
}

/// Everything at once. Waits a quarter of a second when nobody asked within the last minute.
///
/// # Errors
/// `capability_missing` or `unavailable` when processor, memory or disk cannot be read.
pub async fn read(machine: &Machine) -> Result<HealthSnapshot, ToolError> {
    let root = &machine.root;
    let interval = machine.activity.measure(root).await.map_err(|fault| unreadable("processor time", &fault))?;
    let memory = meminfo::read(root).map_err(|fault| unreadable("memory", &fault))?;
    let mounted = mounts::read(root).map_err(|fault| unreadable("the list of mounts", &fault))?;
    let disk_mount = mounts::watched(&mounted).to_owned();
    let disk = mounts::space(root, &disk_mount).map_err(|fault| unreadable("disk space", &fault))?;

    let mut faults = Faults::default();
    for (field, fault) in
        [("network", interval.now.network.as_ref().err()), ("disk_io", interval.now.disks.as_ref().err())]
    {
        if let Some(fault) = fault {
            faults.note(field, fault, fault.kind());
        }
    }
    let temperature = temperature::read(root, &machine.board, &machine.firmware).await;
    let celsius = faults.or_absent("cpu_temperature_celsius", temperature).flatten().map(|reading| reading.celsius);
    let throttled = faults.or_absent("throttling_flags", machine.firmware.throttled().await).flatten();
    let load_average = faults.or_absent("load_average", loadavg::read(root));
    let cpu_frequency_hz = faults.or_absent("cpu_frequency_hz", cpufreq::hertz(root));
    Ok(HealthSnapshot {
        timestamp: clock::now(),
        cpu_usage_percent: rounded(interval.cpu_percent(), 1),
        memory_used_bytes: memory.used(),
        memory_total_bytes: memory.total,
        disk_used_bytes: disk.used,
        disk_total_bytes: disk.total,
        cpu_temperature_celsius: celsius.map(|celsius| rounded(celsius, 1)),
        throttling_flags: throttled.map(ThrottlingFlags::from),
        network: rates::network(&interval, root),
        disk_io: rates::disk_io(&interval),
        disk_mount,
        interval_seconds: rounded(interval.seconds(), 2),
        load_average,
        cpu_frequency_hz,
        unreadable: faults.0,
    })
}

pub struct GetHealthSnapshot;

impl Tool for GetHealthSnapshot {
    type Args = NoArgs;
    type Out = HealthSnapshot;
    const META: Meta = Meta {
        name: "system.get_health_snapshot",
        title: "Health snapshot",
        description: "How this machine is now: load, memory, disk, temperature, power, traffic.\n\nUse when: it seems slow, hot or unstable, or before work that needs room.\n\nReturns: processor, memory and disk use, temperature, throttling now and since boot, network and disk rates.\n\nNote: what this machine cannot measure is absent, never 0.",
        estimated_tokens: 400,
        tags: &["system", "health", "temperature", "power"],
        resource_uri: Some("raspi://health"),
        ..Meta::READ
    };

    async fn call(cx: &Context, _: NoArgs) -> Result<HealthSnapshot, ToolError> {
        if cx.world.machine.board.is_simulated() {
            cx.notes.simulated();
        }
        tokio::select! {
            () = cx.cancel.cancelled() => Err(ToolError::cancelled(Self::META.name)),
            snapshot = read(&cx.world.machine) => snapshot,
        }
    }
}
