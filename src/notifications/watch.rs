//! Where news comes from: changes of updates and of the halt, and the samples that a sampling job takes. Nothing here polls.

use super::{Hub, event::Event, told::Supply};
use crate::sampling::{
    Sampling, ThresholdState,
    metric::{METRICS, Sample, at},
};
use agent::{AgentLink, operations::update::GetUpdateStatus};
use base::{
    error::ErrorCode,
    os::{
        Root,
        cards::{self, Spare},
        mounts,
    },
};
use contract::{
    config::NewsKind,
    halt::{HaltState, Halted},
};
use std::time::Duration;
use tokio::{sync::watch, time::Instant};
use update::{
    job::{JobRecord, JobState},
    status::{Attempt, Phase},
};
use update_client::UpdateClient;

/// Shortest time between two looks at the cards, whose wear moves in months.
const CARDS_EVERY: Duration = Duration::from_secs(24 * 3600);

/// Tells of updates that end badly.
pub async fn updates(hub: &Hub, updates: &UpdateClient, agent: &AgentLink) {
    let mut marks = updates.marks();
    loop {
        let job = updates.jobs().newest();
        if !job.as_ref().is_some_and(|job| job.state == JobState::Running) {
            if let Some(job) = &job {
                failed(hub, job);
            }
            // The server finds a system that went back when it starts again, and the trial monitor reports a change
            // once the agent has answered.
            if let Ok(status) = agent.get::<GetUpdateStatus>().await
                && let Some(attempt) = &status.last_attempt
            {
                rolled_back(hub, attempt);
            }
        }
        updates.changed(&mut marks).await;
    }
}

fn failed(hub: &Hub, job: &JobRecord) {
    let code = job.error_code.as_deref().unwrap_or("internal");
    // Somebody ended it: that is no trouble.
    if job.state != JobState::Failed || code == ErrorCode::Cancelled.symbol() {
        return;
    }
    let ended_ms = job.finished_ms.unwrap_or(job.started_ms);
    let Some(mark) = hub.told(|told, now_ms| told.update(&job.order.id, ended_ms, now_ms, false)) else { return };
    let version = job.release.as_ref().map(|release| release.version.clone()).or(job.order.wanted.version.clone());
    hub.tell(Event::UpdateFailed { version, code: code.to_owned() }, Some(mark));
}

fn rolled_back(hub: &Hub, attempt: &Attempt) {
    if attempt.phase != Phase::RolledBack {
        return;
    }
    let id = format!("{}:{}", attempt.manifest_sha256, attempt.started_ms);
    let ended_ms = attempt.finished_ms.unwrap_or(attempt.started_ms);
    let Some(mark) = hub.told(|told, now_ms| told.update(&id, ended_ms, now_ms, true)) else { return };
    let event = Event::UpdateRolledBack { version: attempt.version.clone(), reset_cause: attempt.reset_cause.clone() };
    hub.tell(event, Some(mark));
}

/// Tells of each halt, also of one that was set while no server ran.
pub async fn halts(hub: &Hub, mut changes: watch::Receiver<HaltState>) {
    loop {
        let halted = changes.borrow_and_update().halted.clone();
        if let Some(Halted { how, since_ms, .. }) = halted
            && let Some(mark) = hub.told(|told, _| told.halt(since_ms))
        {
            hub.tell(Event::Halted { how, since_ms }, Some(mark));
        }
        // Its sender lives as long as the server.
        if changes.changed().await.is_err() {
            return;
        }
    }
}

/// Tells what each sample shows.
pub async fn samples(hub: &Hub, sampling: &Sampling, root: &Root) {
    let mut samples = sampling.samples();
    let mut cards_read: Option<Instant> = None;
    // The sender lives as long as `sampling`.
    while samples.changed().await.is_ok() {
        let Some(sample) = *samples.borrow_and_update() else { continue };
        if hub.wants(NewsKind::DiskNearlyFull) {
            disk(hub, root, &sample).await;
        }
        if hub.wants(NewsKind::UnderVoltage) {
            supply(hub, sampling, &sample).await;
        }
        if hub.wants(NewsKind::ThresholdCrossed) {
            thresholds(hub, sampling).await;
        }
        if hub.wants(NewsKind::CardWorn) && cards_read.is_none_or(|read| read.elapsed() >= CARDS_EVERY) {
            cards_read = Some(Instant::now());
            worn(hub, root);
        }
    }
}

async fn disk(hub: &Hub, root: &Root, sample: &Sample) {
    let Some(raw) = sample.values[at::DISK_PERCENT] else { return };
    let percent = METRICS[at::DISK_PERCENT].number(raw);
    let (mark, tell) = hub.told(|told, now_ms| told.disk(percent, now_ms));
    let Some(mark) = mark else { return };
    if !tell {
        return hub.remember(mark).await;
    }
    let mount = mounts::read(root).map(|mounted| mounts::watched(&mounted).to_owned());
    let mount = mount.unwrap_or_else(|_| "the watched file system".into());
    hub.tell(Event::DiskNearlyFull { mount, used_percent: percent.clamp(0.0, 100.0) as u8 }, Some(mark));
}

async fn supply(hub: &Hub, sampling: &Sampling, sample: &Sample) {
    let low_now = sample.values[at::UNDER_VOLTAGE].is_some_and(|raw| raw != 0);
    let Ok(Some(story)) = sampling.power().story().await else { return };
    let seen = Supply { times: story.under_voltage.times, last_ms: story.under_voltage.last_ms, low_now };
    let (mark, tell) = hub.told(|told, now_ms| told.supply(seen, now_ms));
    match mark {
        Some(mark) if tell => hub.tell(Event::UnderVoltage { times: seen.times }, Some(mark)),
        Some(mark) => hub.remember(mark).await,
        None => {}
    }
}

async fn thresholds(hub: &Hub, sampling: &Sampling) {
    for ThresholdState { job, threshold, value, crossed_ms } in sampling.thresholds() {
        let (mark, tell) = hub.told(|told, now_ms| told.threshold(&job, crossed_ms.is_some(), now_ms));
        match (mark, value) {
            (Some(mark), Some(value)) if tell => {
                let (metric, above, limit) = (threshold.metric.name(), threshold.above, threshold.limit);
                hub.tell(Event::ThresholdCrossed { job, metric, above, limit, value }, Some(mark));
            }
            (Some(mark), _) => hub.remember(mark).await,
            (None, _) => {}
        }
    }
}

fn worn(hub: &Hub, root: &Root) {
    let disks = root.list("sys/block").unwrap_or_default();
    for device in disks.into_iter().filter(|name| name.starts_with("mmcblk") && !name.contains("boot")) {
        let card = cards::read(root, &device);
        let life_used_percent = card.life_used_percent.ok().flatten();
        let spare_blocks = card.spare.ok().flatten().map(|spare| match spare {
            Spare::Normal => "normal",
            Spare::Warning => "warning",
            Spare::Urgent => "urgent",
        });
        if let Some(mark) = hub.told(|told, _| told.card(&device, life_used_percent, spare_blocks)) {
            hub.tell(Event::CardWorn { device, life_used_percent, spare_blocks }, Some(mark));
        }
    }
}
