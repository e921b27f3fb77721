//! The judgement of a stage: a pure function of the plan, the devices' newest verified statuses, the time, and what was
//! before. It can only see what devices signed: an empty or hostile broker makes it wait or stop, never go on.

use super::{
    DeviceOutcome, Evidence, FailedDevice, RolloutDevice, RolloutMemory, RolloutPlan, Stage, decision::MAX_NAMED,
};
use serde::{Deserialize, Serialize};

const MINUTE_MS: i64 = 60_000;

/// When it is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgeTime {
    /// Milliseconds since 1970.
    pub now_ms: i64,
    /// Since when the statuses arrive without a break: what was silent before may only not have been heard.
    pub listening_since_ms: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Wait(WaitReason),
    /// The next stage may begin.
    Next,
    /// The last stage is over.
    Done,
    /// A stop condition is met.
    Stop {
        why: String,
        devices: Vec<FailedDevice>,
    },
}

/// What is waited for. Written down only when it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// More devices have to commit the release.
    Committing,
    /// The soak is not over.
    Soaking,
    /// Too short a time was listened to know who is silent.
    Listening,
}

/// A verdict, its evidence, and what has to be remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub verdict: Verdict,
    pub why: String,
    pub evidence: Evidence,
    pub memory: RolloutMemory,
}

/// Judges stage `stage` (from 0) of the rollout of the release with this `manifest`. `devices` are those that are
/// registered and not revoked.
pub fn judge(
    plan: &RolloutPlan,
    manifest: &str,
    stage: usize,
    devices: &[RolloutDevice],
    time: JudgeTime,
    before: &RolloutMemory,
) -> Judgement {
    let last = stage + 1 >= plan.stages.len();
    let Some(stage) = plan.stages.get(stage) else {
        let (verdict, why) = (Verdict::Done, "there is no further stage".into());
        return Judgement { verdict, why, evidence: Evidence::default(), memory: before.clone() };
    };
    let silent_ms = i64::from(plan.silent_minutes) * MINUTE_MS;
    let mut memory = before.clone();
    let (evidence, failed) = count(plan, manifest, stage, devices, (time, silent_ms), &mut memory);
    let enough = evidence.committed >= stage.min_committed as usize;
    // A clock that was set back begins the soak again.
    let since = memory.enough_since_ms.filter(|since| *since <= time.now_ms).unwrap_or(time.now_ms);
    memory.enough_since_ms = enough.then_some(since);
    let (verdict, why) = if let Some(why) = stops(plan, &evidence) {
        (Verdict::Stop { why: why.clone(), devices: failed.into_iter().take(MAX_NAMED).collect() }, why)
    } else if !enough {
        let (have, need) = (evidence.committed, stage.min_committed);
        (Verdict::Wait(WaitReason::Committing), format!("{have} devices have committed it, and {need} have to"))
    } else if time.now_ms < since + i64::from(stage.soak_minutes) * MINUTE_MS {
        let (have, soak) = (evidence.committed, stage.soak_minutes);
        (Verdict::Wait(WaitReason::Soaking), format!("{have} devices have committed it; it soaks for {soak} minutes"))
    } else if time.now_ms < time.listening_since_ms.saturating_add(silent_ms) {
        let minutes = plan.silent_minutes;
        (Verdict::Wait(WaitReason::Listening), format!("the soak is over; it is listened for {minutes} minutes first"))
    } else {
        let have = evidence.committed;
        let why = format!("{have} devices have committed it, and it soaked for {} minutes", stage.soak_minutes);
        (if last { Verdict::Done } else { Verdict::Next }, why)
    };
    Judgement { verdict, why, evidence, memory }
}

/// Counts all devices, and takes note of them.
fn count(
    plan: &RolloutPlan,
    manifest: &str,
    stage: &Stage,
    devices: &[RolloutDevice],
    (time, silent_ms): (JudgeTime, i64),
    memory: &mut RolloutMemory,
) -> (Evidence, Vec<FailedDevice>) {
    let mut evidence = Evidence::default();
    let mut touched = 0;
    let mut lost = Vec::new();
    for device in devices {
        let Some(heard) = &device.heard else { continue };
        let age = time.now_ms.saturating_sub(heard.alive_ms());
        let listened = time.now_ms.saturating_sub(time.listening_since_ms);
        memory.note(device, manifest, age <= silent_ms);
        let silent = age > silent_ms && listened > silent_ms && !memory.silent_before.contains(&device.name);
        let failed = memory.failed.contains_key(&device.name);
        let outcome = heard.outcome(manifest);
        let begun = outcome != DeviceOutcome::Untouched || failed;
        touched += usize::from(begun);
        if silent && begun && !failed {
            let minutes = age / MINUTE_MS;
            lost.push(FailedDevice {
                name: device.name.clone(),
                why: format!("silent for {minutes} minutes after it began"),
            });
        }
        match outcome {
            DeviceOutcome::Committed if !silent && !failed => evidence.committed += 1,
            DeviceOutcome::Trying if !silent && !failed => evidence.trying += 1,
            _ => {}
        }
        let counted = begun || stage.is_for(heard.ring.as_deref()) && !plan.pinned.contains(&device.name);
        if counted && !memory.silent_before.contains(&device.name) {
            evidence.group += 1;
            evidence.silent += usize::from(silent);
        }
    }
    evidence.reach = (evidence.group * usize::from(stage.percent)).div_ceil(100).max(touched);
    let mut failed: Vec<FailedDevice> = memory.failures().chain(lost).collect();
    base::sort::sort_by_key(&mut failed, |one| one.name.clone());
    evidence.failed = failed.len();
    (evidence, failed)
}

/// The stop condition that is met.
fn stops(plan: &RolloutPlan, evidence: &Evidence) -> Option<String> {
    let stop = &plan.stop;
    let Evidence { failed, silent, group, reach, .. } = *evidence;
    let met = |part: usize, percent: u8, whole: usize| part > 0 && part * 100 >= usize::from(percent) * whole;
    if failed >= stop.failed_count as usize {
        return Some(format!("{failed} devices failed, and failed_count is {}", stop.failed_count));
    }
    if met(failed, stop.failed_percent, reach) {
        let percent = stop.failed_percent;
        return Some(format!("{failed} of the {reach} devices of this stage failed, and failed_percent is {percent}"));
    }
    met(silent, stop.silent_percent, group)
        .then(|| format!("{silent} of {group} devices fell silent, and silent_percent is {}", stop.silent_percent))
}
