//! `metrics.*`, on a machine whose files, clock and looks a test moves.

mod bad;
mod card;
mod clock;
mod default;
mod empty;
mod history;
mod jobs;
mod realtime;
mod samples;
mod sensors;
mod task;

use crate::support::{
    pi::{Answer, Pi},
    trees::{Copied, machine},
};
use base::clock::Wall;
use serde_json::{Value, json};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};
use tempfile::TempDir;
use tokio::time::{Instant, advance};

/// 2026-01-15T14:00:00Z in milliseconds.
pub const START: i64 = 1_768_485_600_000;

/// A Raspberry Pi 5 with a state folder, on which nothing happens but what a test does: time stands still, and its looks
/// come from [`Scene::run`], not from the sampler's own task.
pub struct Scene {
    pub tree: Copied,
    pub home: TempDir,
    /// The machine's clock is this far from where it began, beside the time that passes.
    jumped: Arc<AtomicI64>,
    wall: Wall,
    pub pi: Pi,
}

impl Scene {
    pub async fn new() -> Self {
        let (tree, home) = (Copied::of("pi-5"), TempDir::new().unwrap());
        let (jumped, began) = (Arc::new(AtomicI64::new(0)), Instant::now());
        let ahead = Arc::clone(&jumped);
        let passed = move || i64::try_from(began.elapsed().as_millis()).unwrap();
        let wall = Wall::of(move || START + passed() + ahead.load(Ordering::Relaxed));
        let pi = start(&tree, home.path(), &wall).await;
        // Somebody has just looked: the first sample has something to compare with, and time does not stir for it.
        pi.services.machine.activity.measure(&pi.services.machine.root).await.unwrap();
        advance(Duration::from_millis(750)).await;
        jumped.fetch_sub(1000, Ordering::Relaxed);
        Self { tree, home, jumped, wall, pi }
    }

    /// Stops the server in order and starts another one on what it left.
    pub async fn restart(&mut self) {
        self.pi.services.sampling.close().await.unwrap();
        self.pi = start(&self.tree, self.home.path(), &self.wall).await;
    }

    /// A server on what is on the card now, as after a power cut. The old one goes on, in a folder nobody looks at again.
    pub async fn power_cut(&mut self) {
        let copy = TempDir::new().unwrap();
        for entry in std::fs::read_dir(self.home.path()).unwrap().flatten() {
            if entry.path().is_file() {
                std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
            }
        }
        self.pi = start(&self.tree, copy.path(), &self.wall).await;
        self.home = copy;
    }

    /// Somebody sets the clock by so many seconds.
    pub fn set_clock(&self, seconds: i64) {
        self.jumped.fetch_add(seconds * 1000, Ordering::Relaxed);
    }

    /// Lets time pass in steps, and looks after each.
    pub async fn run(&self, steps: u32, seconds: u64) {
        for _ in 0..steps {
            advance(Duration::from_secs(seconds)).await;
            self.pi.services.sampling.round(&self.pi.services.machine).await;
        }
    }

    /// The processor's temperature from now on.
    pub fn celsius(&self, celsius: f64) {
        self.tree.write("sys/class/thermal/thermal_zone0/temp", format!("{:.0}\n", celsius * 1000.0));
    }

    pub async fn call(&self, tool: &str, args: Value) -> Answer {
        self.pi.call(&format!("metrics.{tool}"), args).await
    }

    /// Begins a job and takes its first sample.
    pub async fn job(&self, args: Value) -> Value {
        let job = self.call("start_sampling_job", args).await.ok();
        self.pi.services.sampling.round(&self.pi.services.machine).await;
        job
    }

    pub async fn samples(&self, args: Value) -> Vec<Value> {
        self.call("get_samples", args).await.ok()["samples"].as_array().unwrap().clone()
    }

    pub async fn only_job(&self) -> Value {
        let jobs = self.call("list_sampling_jobs", json!({})).await.ok();
        assert_eq!(jobs["jobs"].as_array().unwrap().len(), 1, "{jobs:#}");
        jobs["jobs"][0].clone()
    }
}

async fn start(tree: &Copied, home: &Path, wall: &Wall) -> Pi {
    let pi = Pi::living_in(machine(tree.root()), home, wall.clone());
    // Its task ends before it begins: the test looks.
    pi.services.sampling.close().await.unwrap();
    // As at a start: what was kept goes on.
    pi.services.sampling.list().await.unwrap();
    pi
}

/// `2026-01-15T14:MM:SS.000Z`
pub fn at(seconds: i64) -> String {
    base::clock::Stamp(START + seconds * 1000).to_string()
}
