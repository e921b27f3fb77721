//! `system.get_health_snapshot`: the machine's health (docs/contract/system.md).

use super::{
    disks::{self, DiskInfo},
    rates::{self, DiskIo, NetworkRates, rounded},
    throttling::ThrottlingFlags,
    wear::{self, CardWear, LastReset, ThrottlingHistory},
};
use crate::{
    registry::{context::Context, tool::Tool},
    sampling::{
        look::{FLAGS, Looker, flags, moved},
        metric::{MetricSet, Sample},
    },
    services::Services,
    tools::{halted::HaltedBy, none::NoArgs},
};
use base::{
    clock,
    error::ToolError,
    os::{activity::Interval, clock as os_clock, cpufreq, file_systems, loadavg, meminfo, mounts},
};
use contract::meta::Meta;
use hw::{firmware::Throttled, machine::unreadable, temperature};
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
    #[schemars(with = "ThrottlingHistory")]
    throttling_history: Option<ThrottlingHistory>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "NetworkRates")]
    network: Option<NetworkRates>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DiskIo")]
    disk_io: Option<DiskIo>,
    /// The file system the disk numbers are about.
    disk_mount: String,
    /// Every file system on a device of this machine, once; also network ones, without figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<DiskInfo>")]
    file_systems: Option<Vec<DiskInfo>>,
    /// How many more there are than are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "usize")]
    file_systems_left_out: Option<usize>,
    /// Who halted the machine, when and why; absent unless it is halted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "HaltedBy")]
    halted: Option<HaltedBy>,
    /// What needs somebody's attention: file systems with little room left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    warnings: Vec<String>,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<CardWear>")]
    cards: Option<Vec<CardWear>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "LastReset")]
    last_reset: Option<LastReset>,
    /// Whether the clock has been set from the network since boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    clock_synchronized: Option<bool>,
    /// Why sampling jobs cannot keep what they take, when they cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    sampling_fault: Option<String>,
    /// Fields that are absent although this machine has a source for them, and what went wrong.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, String>")]
    unreadable: BTreeMap<&'static str, String>,
}

/// Fields that could not be filled although their source exists.
#[derive(Default)]
struct Faults(BTreeMap<&'static str, String>);

impl Faults {
    /// The value. A missing source is no fault; a failing one is.
    fn or_absent<T>(&mut self, field: &'static str, value: io::Result<T>) -> Option<T> {
        value.map_err(|fault| self.note(field, &fault, fault.kind())).ok()
    }
    fn note(&mut self, field: &'static str, fault: &impl Display, kind: io::ErrorKind) {
        if kind != io::ErrorKind::NotFound {
            self.0.insert(field, fault.to_string());
        }
    }
}

/// Reads everything. Waits a quarter of a second if there was no call within the last minute.
///
/// # Errors
/// `capability_missing` or `unavailable` if processor, memory or disk cannot be read.
pub async fn read(services: &Services) -> Result<HealthSnapshot, ToolError> {
    look(services, true).await.map(|(health, ..)| health)
}

/// The same without history, for repeated calls: does not wait for the card.
///
/// # Errors
/// As [`read`].
pub async fn glance(services: &Services) -> Result<HealthSnapshot, ToolError> {
    look(services, false).await.map(|(health, ..)| health)
}

/// The same, with the values that a sampling job would store.
///
/// # Errors
/// As [`read`].
pub async fn with_sample(services: &Services) -> Result<(HealthSnapshot, Sample), ToolError> {
    let (health, interval, word) = look(services, true).await?;
    let still = MetricSet::ALL.without(&FLAGS);
    let (mut sample, _) = Looker::default().look(&services.machine, still, services.sampling.now_ms()).await;
    moved(&mut sample, &interval);
    flags(&mut sample, word);
    Ok((health, sample))
}

async fn look(
    services: &Services,
    with_past: bool,
) -> Result<(HealthSnapshot, Interval, Option<Throttled>), ToolError> {
    let machine = &services.machine;
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
    let throttling_history = match throttled {
        Some(word) if with_past => {
            services.sampling.power().seen(word, root, services.sampling.now_ms()).await;
            let story = services.sampling.power().story().await.map_err(|fault| io::Error::other(fault.advice()));
            faults.or_absent("throttling_history", story).flatten()
        }
        Some(word) => {
            let (record, root, now_ms) = (services.sampling.power().clone(), root.clone(), services.sampling.now_ms());
            base::task::spawn(async move { record.seen(word, &root, now_ms).await });
            None
        }
        None => None,
    };
    let (mut cards, mut last_reset) = (None, None);
    if with_past {
        let note_card = |fault: io::Error| faults.note("cards", &fault, fault.kind());
        cards = interval.now.disks.as_ref().ok().and_then(|disks| wear::cards(machine, disks, note_card));
        last_reset = faults.or_absent("last_reset", wear::last_reset(machine).await).flatten();
    }
    let load_average = faults.or_absent("load_average", loadavg::read(root));
    let cpu_frequency_hz = faults.or_absent("cpu_frequency_hz", cpufreq::hertz(root));
    let file_systems = faults.or_absent("file_systems", file_systems::read(root)).map(disks::shown);
    let (file_systems, warnings, left_out) = match file_systems {
        Some((disks, warnings, left_out)) => (Some(disks), warnings, left_out),
        None => (None, Vec::new(), 0),
    };
    let health = HealthSnapshot {
        file_systems,
        file_systems_left_out: (left_out > 0).then_some(left_out),
        halted: services.halt.standing().map(HaltedBy::from),
        warnings,
        timestamp: clock::now(),
        cpu_usage_percent: rounded(interval.cpu_percent(), 1),
        memory_used_bytes: memory.used(),
        memory_total_bytes: memory.total,
        disk_used_bytes: disk.used,
        disk_total_bytes: disk.total,
        cpu_temperature_celsius: celsius.map(|celsius| rounded(celsius, 1)),
        throttling_flags: throttled.map(|word| ThrottlingFlags::of(word, throttling_history.as_ref())),
        throttling_history: throttling_history.map(ThrottlingHistory::from),
        network: rates::network(&interval, root),
        disk_io: rates::disk_io(&interval),
        disk_mount,
        interval_seconds: rounded(interval.seconds(), 2),
        load_average,
        cpu_frequency_hz,
        cards,
        last_reset,
        clock_synchronized: os_clock::synchronized(root),
        sampling_fault: services.sampling.fault(),
        unreadable: faults.0,
    };
    Ok((health, interval, throttled))
}

pub struct GetHealthSnapshot;

impl Tool for GetHealthSnapshot {
    type Args = NoArgs;
    type Out = HealthSnapshot;
    const META: Meta = Meta {
        name: "system.get_health_snapshot",
        title: "Health snapshot",
        description: "How this machine is now.\n\nUse when: it seems slow, hot or unstable, or before work that needs room.\n\nReturns: use of processor, memory, disks; temperature, throttling, network and disk rates.",
        estimated_tokens: 500,
        tags: &["system", "health", "temperature", "power"],
        resource_uri: Some("raspi://health"),
        ..Meta::READ
    };

    async fn call(cx: &Context, _: NoArgs) -> Result<HealthSnapshot, ToolError> {
        if cx.services.machine.board.is_simulated() {
            cx.notes.simulated();
        }
        tokio::select! {
            () = cx.cancel.cancelled() => Err(ToolError::cancelled(Self::META.name)),
            snapshot = read(&cx.services) => snapshot,
        }
    }
}
