//! Resource usage of a running service, from its properties.

use crate::registry::context::Context;
use base::os::{
    clock::monotonic,
    systemd::{UnitProperties, resident},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::{Duration, Instant};

/// Left out where systemd does not account for it, and while the service does not run.
#[derive(Serialize, JsonSchema, Default)]
#[schemars(inline)]
pub struct ServiceUsage {
    /// Its main process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", range(min = 1))]
    pid: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// What the kernel accounts to it; where it keeps no account, what its processes have resident.
    #[schemars(with = "u64")]
    memory_bytes: Option<u64>,
    /// Share of all cores: since the last reading if that is 0.5 to 60 s old, else since it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0, max = 100))]
    cpu_percent: Option<f64>,
    /// What cpu_percent was measured over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0))]
    cpu_interval_seconds: Option<f64>,
    /// Since it became active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    uptime_seconds: Option<u64>,
    /// How often systemd restarted it by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    restart_count: Option<u64>,
}

impl ServiceUsage {
    /// Of a service of which only the main process is known.
    pub fn of_process(pid: Option<u64>) -> Self {
        Self { pid, ..Self::default() }
    }

    pub fn of(cx: &Context, unit: &str, properties: &UnitProperties<'_>) -> Self {
        let pid = properties.number("MainPID").filter(|pid| *pid > 0);
        let uptime = uptime(properties);
        let used = properties.number("CPUUsageNSec").map(Duration::from_nanos);
        let cores = cx.services.machine.about.fixed().map_or(1, |fixed| fixed.cores);
        let cpu = used.zip(uptime).and_then(|(used, running)| {
            cx.services.machine.systemd.cpu_percent(unit, used, running, cores, Instant::now())
        });
        let round = |value: f64| (value * 100.0).round() / 100.0;
        Self {
            pid,
            memory_bytes: (pid.is_some() || uptime.is_some()).then(|| memory(cx, properties)).flatten(),
            cpu_percent: cpu.map(|(percent, _)| round(percent)),
            cpu_interval_seconds: cpu.map(|(_, seconds)| round(seconds)),
            uptime_seconds: uptime.map(|uptime| uptime.as_secs()),
            restart_count: properties.number("NRestarts"),
        }
    }
}

/// From the kernel's accounting or, on a kernel without it, summed over its processes.
fn memory(cx: &Context, properties: &UnitProperties<'_>) -> Option<u64> {
    let summed = || resident::of_group(&cx.services.machine.root, properties.text("ControlGroup")?);
    properties.number("MemoryCurrent").or_else(summed)
}

/// How long it has been active. systemd's timestamp is CLOCK_MONOTONIC, in microseconds.
fn uptime(properties: &UnitProperties<'_>) -> Option<Duration> {
    let since = properties.number("ActiveEnterTimestampMonotonic").filter(|since| *since > 0)?;
    properties.text("ActiveState").filter(|state| matches!(*state, "active" | "reloading" | "refreshing"))?;
    Some(monotonic().saturating_sub(Duration::from_micros(since)))
}
