//! Measures sampling on this machine: a week of samples every five seconds, or as told, taken by the real code of a machine whose files
//! and clocks this program moves, and questions about it. Prints one line of JSON; `ci/bench` reads it.
//!
//! ```sh
//! cargo run --release --example samples -- FOLDER [DAYS [INTERVAL_SECONDS [RETENTION_HOURS]]]
//! cargo run --release --example samples -- FOLDER 2 60 48     # the default job
//! ```
//! FOLDER must be on a disk: what is written to a memory file system is not counted by the kernel.

use agent::{AgentLink, Client};
use base::{
    clock::{Stamp, Wall},
    os::{Root, own},
};
use contract::{
    access::caller::{Caller, Transport},
    config::{Places, Settings},
    meta::Role,
};
use hw::{
    board::{Board, Choice},
    machine::Machine,
};
use raspi_mcp::{
    audit::Audit,
    log::Ring,
    registry::{
        Registry,
        context::{Context, Notes},
    },
    sampling::Sampling,
    services::Services,
    store::Store,
};
use serde_json::{Value, json};
use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// 2026-01-15T00:00:00Z
const START: i64 = 1_768_435_200_000;
const ROUNDS: usize = 20;

fn main() -> Outcome<()> {
    let folder = std::env::args().nth(1).ok_or("usage: samples FOLDER [DAYS]")?;
    let number = |at: usize, default: u64| std::env::args().nth(at).map_or(Ok(default), |text| text.parse());
    let (days, interval, retention_hours) = (number(2, 7)?, number(3, 5)?, number(4, 168)?);
    // Time here is moved by hand: a week passes in a minute.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?;
    runtime.block_on(measure(Path::new(&folder), days, interval, retention_hours))
}

async fn measure(folder: &Path, days: u64, interval: u64, retention_hours: u64) -> Outcome<()> {
    let a_day = 86_400 / interval;
    let home = folder.join(format!("samples-{}", std::process::id()));
    fs::create_dir_all(&home)?;
    let mut weather = Weather::new()?;
    let now = Arc::new(AtomicI64::new(START));
    let services = services(&home, &weather.root, &now)?;
    let resident_before = own::read(&Root::system())?.resident;
    // The server's own task would look when time is moved: here this program looks.
    services.sampling.close().await?;
    let job = json!({"interval_seconds": interval, "retention_hours": retention_hours, "job_id": "bench"});
    call(&services, "metrics.start_sampling_job", job).await?;

    let (mut card, mut took) = (Vec::new(), Duration::ZERO);
    for _ in 0..days {
        let before = written()?;
        for _ in 0..a_day {
            weather.changes()?;
            now.fetch_add(interval as i64 * 1000, Ordering::Relaxed);
            tokio::time::advance(Duration::from_secs(interval)).await;
            let began = Instant::now();
            services.sampling.round(&services.machine).await;
            took += began.elapsed();
        }
        card.push(written()? - before);
    }
    let resident_sampling = own::read(&Root::system())?.resident;

    let since = Stamp(START).to_string();
    let mut one = json!({"metric_names": ["cpu_percent"], "start_time": since, "resolution": "1m"});
    let (one_ms, points) = question(&services, "metrics.query_history", &one).await?;
    one["metric_names"] = json!(["cpu_percent", "network_received_bytes_per_sec"]);
    let (two_ms, _) = question(&services, "metrics.query_history", &one).await?;
    let hourly = json!({"metric_names": raspi_mcp::sampling::metric::MetricSet::ALL.names(), "start_time": since, "resolution": "1h"});
    let (all_ms, _) = question(&services, "metrics.query_history", &hourly).await?;
    let (page_ms, _) = question(&services, "metrics.get_samples", &json!({"limit": 1000, "offset": 100_000})).await?;
    let resident_asked = own::read(&Root::system())?.resident;

    // One more day: now old samples go as new ones come.
    let before = written()?;
    for _ in 0..a_day {
        weather.changes()?;
        now.fetch_add(interval as i64 * 1000, Ordering::Relaxed);
        tokio::time::advance(Duration::from_secs(interval)).await;
        services.sampling.round(&services.machine).await;
    }
    let steady = written()? - before;
    let jobs = call(&services, "metrics.list_sampling_jobs", json!({})).await?;
    let size = |name: &str| fs::metadata(home.join(name)).map_or(0, |file| file.len());
    let report = json!({
        "samples": days * a_day,
        "points": points.data_points,
        "query_one_metric_ms": one_ms,
        "query_two_metrics_ms": two_ms,
        "query_all_metrics_by_the_hour_ms": all_ms,
        "page_of_1000_ms": page_ms,
        "store_bytes": size("store.db") + size("store.db-wal"),
        "samples_bytes": jobs["jobs"][0]["stored_bytes"],
        "card_bytes_a_day": steady,
        "card_bytes_first_days": card,
        "look_us": took.as_micros() as u64 / (days * a_day),
        "resident_before_bytes": resident_before,
        "resident_sampling_bytes": resident_sampling,
        "resident_after_questions_bytes": resident_asked,
    });
    println!("{report}");
    services.sampling.close().await?;
    drop(services);
    fs::remove_dir_all(home)?;
    Ok(())
}

/// Of an answer as much as is reported: the whole of it as a tree would be most of this program's memory.
#[derive(Default, serde::Deserialize)]
struct Told {
    #[serde(default)]
    data_points: u64,
}

/// The median of some answers to one question, in milliseconds, and what the last one told.
async fn question(services: &Arc<Services>, tool: &str, args: &Value) -> Outcome<(f64, Told)> {
    let mut times = Vec::new();
    let mut answer = Told::default();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let text = run(services, tool, args.clone()).await?;
        times.push(began.elapsed());
        answer = serde_json::from_str(&text)?;
    }
    times.sort_unstable();
    Ok((times[ROUNDS / 2].as_secs_f64() * 1000.0, answer))
}

async fn call(services: &Arc<Services>, tool: &str, args: Value) -> Outcome<Value> {
    Ok(serde_json::from_str(&run(services, tool, args).await?)?)
}

/// Schema, parser, handler and the text of the answer.
async fn run(services: &Arc<Services>, tool: &str, args: Value) -> Outcome<String> {
    let registry = Arc::new(Registry::new(raspi_mcp::tools::NAMESPACES));
    let cx = Context {
        services: Arc::clone(services),
        registry: Arc::clone(&registry),
        caller: Arc::new(Caller::new("bench", Role::Admin, Transport::Stdio)),
        cancel: Default::default(),
        progress: Default::default(),
        approval: None,
        args_sha256: "".into(),
        peer: None,
        notes: Arc::new(Notes::default()),
    };
    let entry = registry.entries().find(|entry| entry.name() == tool).ok_or("no such tool")?;
    let answer = match entry.prepare(args) {
        Ok(prepared) => prepared.run(&cx).await,
        Err(error) => Err(error),
    };
    let output = answer.map_err(|error| error.advice())?;
    Ok(output.json.get().to_owned())
}

fn services(home: &Path, root: &Path, now: &Arc<AtomicI64>) -> Outcome<Arc<Services>> {
    let settings = Arc::new(Settings::default_for(&Places::below(home)));
    let root = Root::at(root);
    let board = Board::detect(Choice::Auto, &root).map_err(|conflict| conflict.to_string())?;
    let machine = Machine::new(root, board, None);
    let store = Store::open(&home.join("store.db")).map_err(|error| error.advice())?;
    let agent = AgentLink::Socket(Client::new(&settings.places.agent_socket));
    let audit = Audit::new(store.clone(), settings.audit.max_bytes, None);
    let now = Arc::clone(now);
    let wall = Wall::of(move || now.load(Ordering::Relaxed));
    let sampling = Sampling::new(store.clone(), settings.metrics.max_bytes, wall);
    let services = Services::new(settings, Arc::new(machine), agent, store, audit, Ring::new(10));
    Ok(Arc::new(Services { sampling, ..services }))
}

/// Bytes that this process has caused to be written to disks (proc(5), `/proc/[pid]/io`).
fn written() -> Outcome<u64> {
    let io = fs::read_to_string("/proc/self/io")?;
    let line = io.lines().find_map(|line| line.strip_prefix("write_bytes: ")).ok_or("no write_bytes")?;
    Ok(line.parse()?)
}

/// The files of a Raspberry Pi 4 that is neither idle nor busy, in a memory file system.
struct Weather {
    root: PathBuf,
    dice: u64,
    ticks: [u64; 2],
    memory: i64,
    millidegrees: i64,
    load: i64,
    traffic: [u64; 2],
    sectors: [u64; 2],
}

impl Weather {
    fn new() -> Outcome<Self> {
        let root = PathBuf::from(format!("/dev/shm/raspi-mcp-samples-{}", std::process::id()));
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/trees/pi-4b"), &root)?;
        Ok(Self {
            root,
            dice: 0x2545_f491_4f6c_dd1d,
            ticks: [0; 2],
            memory: 2_000_000,
            millidegrees: 48_000,
            load: 30,
            traffic: [0; 2],
            sectors: [0; 2],
        })
    }

    /// A number below `sides`.
    fn throw(&mut self, sides: i64) -> i64 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        (self.dice >> 33) as i64 % sides
    }

    /// Five seconds later.
    fn changes(&mut self) -> Outcome<()> {
        let busy = 40 + self.throw(160) + if self.throw(20) == 0 { self.throw(1500) } else { 0 };
        self.ticks[0] += busy as u64;
        self.ticks[1] += 2000 - busy as u64;
        self.memory = (self.memory + self.throw(2001) - 1000).clamp(500_000, 3_500_000);
        self.millidegrees = (self.millidegrees + (self.throw(3) - 1) * 487).clamp(40_000, 80_000);
        self.load = (self.load + self.throw(11) - 5).clamp(0, 400);
        self.traffic[0] += self.throw(20_000) as u64 + if self.throw(30) == 0 { 2_000_000 } else { 0 };
        self.traffic[1] += self.throw(60_000) as u64 + if self.throw(30) == 0 { 9_000_000 } else { 0 };
        self.sectors[0] += if self.throw(4) == 0 { self.throw(4000) as u64 } else { 0 };
        self.sectors[1] += self.throw(800) as u64;
        let (kilohertz, [busy, idle]) = ([600_000, 1_000_000, 1_800_000][self.throw(3) as usize], self.ticks);
        self.write("proc/stat", format!("cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\n"))?;
        let available = self.memory;
        self.write(
            "proc/meminfo",
            format!("MemTotal: 3885396 kB\nMemAvailable: {available} kB\nSwapTotal: 102396 kB\nSwapFree: 102396 kB\n"),
        )?;
        self.write("sys/class/thermal/thermal_zone0/temp", format!("{}\n", self.millidegrees))?;
        self.write("proc/loadavg", format!("{}.{:02} 0.1 0.1 1/200 9\n", self.load / 100, self.load % 100))?;
        self.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", format!("{kilohertz}\n"))?;
        let [sent, received] = self.traffic;
        self.write("proc/net/dev", format!("eth0: {received} 1 0 0 0 0 0 0 {sent} 1 0 0 0 0 0 0\n"))?;
        let [read, written] = self.sectors;
        self.write("proc/diskstats", format!("179 0 mmcblk0 0 0 {read} 0 0 0 {written} 0 0 0 0\n"))
    }

    fn write(&self, file: &str, text: String) -> Outcome<()> {
        Ok(fs::write(self.root.join(file), text)?)
    }
}

impl Drop for Weather {
    fn drop(&mut self) {
        // It is a copy, in memory.
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn copy(from: &Path, to: &Path) -> Outcome<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &target)?,
            false => drop(fs::copy(entry.path(), target)?),
        }
    }
    Ok(())
}
