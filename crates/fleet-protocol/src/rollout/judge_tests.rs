//! The judgement at its edges: sick devices, silence, late and replayed statuses, other releases, few devices.

use super::{plan::tests::plan, *};

const MINUTE: i64 = 60_000;
const START: i64 = 1_800_000_000_000;

/// A fleet that is judged by one plan, minute by minute.
struct Trial {
    plan: RolloutPlan,
    devices: Vec<RolloutDevice>,
    memory: RolloutMemory,
    stage: usize,
    now_ms: i64,
    listening_since_ms: i64,
}

impl Trial {
    fn new(devices: usize, stages: &[(u8, &[&str], u32, u32)]) -> Self {
        let names = (0..devices).map(|n| format!("d{n:04}"));
        let heard = HeardStatus {
            heard_ms: START,
            time_ms: START,
            sequence: 1,
            manifest: Some("old".into()),
            committed: true,
            healthy: Some(true),
            ..HeardStatus::default()
        };
        let devices: Vec<RolloutDevice> =
            names.map(|name| RolloutDevice { name, heard: Some(heard.clone()) }).collect();
        let plan = plan(stages);
        let memory = RolloutMemory::at_start(&devices, "new", START, i64::from(plan.silent_minutes) * MINUTE);
        Self { plan, devices, memory, stage: 0, now_ms: START, listening_since_ms: START - 120 * MINUTE }
    }

    /// Time passes; all devices but those of `silent` report.
    fn after(&mut self, minutes: i64, silent: std::ops::Range<usize>) -> &mut Self {
        self.now_ms += minutes * MINUTE;
        for (n, device) in self.devices.iter_mut().enumerate().filter(|(n, _)| !silent.contains(n)) {
            let heard = device.heard.as_mut().unwrap();
            (heard.heard_ms, heard.time_ms) = (self.now_ms - (n as i64 % 15) * MINUTE, self.now_ms - 15 * MINUTE);
            heard.sequence += 1;
        }
        self
    }

    fn set(&mut self, devices: std::ops::Range<usize>, phase: &str) -> &mut Self {
        for device in &mut self.devices[devices] {
            let heard = device.heard.as_mut().unwrap();
            heard.sequence += 1;
            heard.committed = phase != "trial";
            heard.manifest = Some(if matches!(phase, "trial" | "committed") { "new" } else { "old" }.to_owned());
            heard.attempt =
                Some(HeardAttempt { manifest: "new".into(), phase: phase.into(), reason: "cameras stay dark".into() });
        }
        self
    }

    fn judge(&mut self) -> (Verdict, Evidence) {
        let time = JudgeTime { now_ms: self.now_ms, listening_since_ms: self.listening_since_ms };
        let judgement = judge(&self.plan, "new", self.stage, &self.devices, time, &self.memory);
        self.memory = judgement.memory;
        (judgement.verdict, judgement.evidence)
    }

    fn stopped(&mut self) -> Vec<FailedDevice> {
        match self.judge().0 {
            Verdict::Stop { devices, .. } => devices,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_stage_waits_for_commits_then_soaks_then_the_next_begins() {
    let mut trial = Trial::new(100, &[(10, &[], 8, 60), (100, &[], 90, 0)]);
    assert_eq!(trial.judge().0, Verdict::Wait(WaitReason::Committing));
    trial.after(10, 0..0).set(0..7, "committed");
    assert_eq!(trial.judge().0, Verdict::Wait(WaitReason::Committing));
    trial.set(7..8, "committed");
    assert_eq!(trial.judge().0, Verdict::Wait(WaitReason::Soaking));
    trial.after(59, 0..0);
    assert_eq!(trial.judge().0, Verdict::Wait(WaitReason::Soaking));
    trial.after(1, 0..0);
    let (verdict, evidence) = trial.judge();
    assert_eq!(verdict, Verdict::Next);
    assert_eq!(evidence, Evidence { group: 100, reach: 10, committed: 8, ..Evidence::default() });
    (trial.stage, trial.memory.enough_since_ms) = (1, None);
    assert_eq!(trial.judge().0, Verdict::Wait(WaitReason::Committing));
    trial.set(0..90, "committed");
    assert_eq!(trial.judge().0, Verdict::Done);
}

#[test]
fn one_percent_of_sick_devices_stops_at_the_count_with_their_names() {
    let mut trial = Trial::new(1000, &[(50, &[], 400, 0)]);
    trial.after(10, 0..0).set(0..400, "trial").set(400..404, "rolled_back");
    assert_eq!(trial.judge().0, Verdict::Wait(WaitReason::Committing));
    trial.set(404..405, "failed");
    let devices = trial.stopped();
    assert_eq!(devices.len(), 5);
    assert_eq!(devices[0].name, "d0400");
    assert!(devices[0].why.contains("cameras stay dark"));
    // Enough commits do not outweigh it.
    trial.set(0..400, "committed");
    trial.stopped();
}

#[test]
fn a_percentage_is_of_the_stages_share() {
    // 20 % of the 10 devices of the first stage: 2; one of them is not enough.
    let mut trial = Trial::new(100, &[(10, &[], 8, 0)]);
    trial.set(0..1, "rolled_back");
    assert_eq!(trial.judge().0, Verdict::Wait(WaitReason::Committing));
    trial.set(1..2, "rolled_back");
    assert_eq!(trial.stopped().len(), 2);
    // More began than were expected by chance: of those.
    let mut trial = Trial::new(100, &[(10, &[], 8, 0)]);
    trial.set(0..13, "trial").set(0..2, "rolled_back");
    assert_eq!(trial.judge().0, Verdict::Wait(WaitReason::Committing));
}

#[test]
fn silence_after_it_began_is_a_failure_and_ends_when_the_device_is_heard() {
    let mut trial = Trial::new(100, &[(10, &[], 8, 0)]);
    trial.set(0..10, "trial").after(46, 0..2);
    let devices = trial.stopped();
    assert_eq!(devices.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["d0000", "d0001"]);
    assert!(devices[0].why.contains("silent for 46 minutes"));
    trial.set(0..10, "committed").after(1, 0..0);
    assert_eq!(trial.judge().0, Verdict::Done);
    // A committed device that dies later is none that succeeded.
    trial.after(46, 0..1);
    assert_eq!((trial.judge().1.committed, trial.judge().1.failed), (9, 1));
}

#[test]
fn silence_of_those_that_did_not_begin_counts_for_itself() {
    let mut trial = Trial::new(100, &[(10, &[], 8, 0)]);
    trial.after(46, 91..100);
    assert_eq!(
        trial.judge(),
        (Verdict::Wait(WaitReason::Committing), Evidence { group: 100, reach: 10, silent: 9, ..Evidence::default() })
    );
    trial.after(46, 90..100);
    assert_eq!(trial.stopped(), []);
}

#[test]
fn who_was_silent_before_is_not_counted_until_it_is_heard() {
    let mut trial = Trial::new(100, &[(10, &[], 8, 0)]);
    trial.devices.push(RolloutDevice { name: "never".into(), heard: None });
    for device in &mut trial.devices[50..100] {
        device.heard.as_mut().unwrap().time_ms = START - 46 * MINUTE;
    }
    trial.memory = RolloutMemory::at_start(&trial.devices, "new", START, 45 * MINUTE);
    assert_eq!(trial.memory.silent_before.len(), 51);
    assert_eq!(trial.judge().1, Evidence { group: 50, reach: 5, ..Evidence::default() });
    let never = trial.devices.pop().unwrap();
    trial.after(10, 60..100);
    trial.devices.push(never);
    assert_eq!(trial.judge().1.group, 60);
}

#[test]
fn a_broken_connection_is_no_silence_and_no_yes() {
    let mut trial = Trial::new(100, &[(10, &[], 8, 0), (100, &[], 90, 0)]);
    trial.set(0..10, "committed");
    // The broker was away for an hour; nothing was heard, and it is listened again for 45 minutes.
    trial.now_ms += 60 * MINUTE;
    trial.listening_since_ms = trial.now_ms;
    assert_eq!(trial.judge().0, Verdict::Wait(WaitReason::Listening));
    trial.after(44, 90..100);
    assert_eq!(trial.judge().0, Verdict::Wait(WaitReason::Listening));
    trial.after(2, 90..100);
    assert!(matches!(trial.judge().0, Verdict::Stop { .. }));
    trial.after(2, 99..100);
    assert_eq!(trial.judge().0, Verdict::Next);
}

#[test]
fn statuses_of_other_releases_are_no_commits_and_no_failures() {
    let mut trial = Trial::new(100, &[(100, &[], 8, 0)]);
    for device in &mut trial.devices {
        let heard = device.heard.as_mut().unwrap();
        heard.manifest = Some("other".into());
        heard.attempt = Some(HeardAttempt { manifest: "other".into(), phase: "failed".into(), reason: String::new() });
    }
    assert_eq!(
        trial.judge(),
        (Verdict::Wait(WaitReason::Committing), Evidence { group: 100, reach: 100, ..Evidence::default() })
    );
}

#[test]
fn an_old_status_that_arrives_again_does_not_hide_a_failure() {
    let mut trial = Trial::new(100, &[(50, &[], 8, 0)]);
    trial.set(0..40, "trial").set(10..40, "committed").set(0..4, "rolled_back");
    assert_eq!(trial.judge().1.failed, 4);
    // A broker that only has statuses from before.
    trial.set(0..4, "committed");
    for device in &mut trial.devices[0..4] {
        device.heard.as_mut().unwrap().sequence = 1;
    }
    assert_eq!((trial.judge().1.failed, trial.judge().1.committed), (4, 30));
    // And one that has the same old ones for ever: the devices are silent, whenever they arrive.
    let mut trial = Trial::new(100, &[(50, &[], 8, 0)]);
    trial.now_ms += 60 * MINUTE;
    for device in &mut trial.devices {
        device.heard.as_mut().unwrap().heard_ms = trial.now_ms;
    }
    assert_eq!(trial.judge().1.silent, 100);
}

#[test]
fn rings_and_pins_are_kept_apart() {
    let mut trial = Trial::new(100, &[(100, &["early"], 5, 0)]);
    for device in &mut trial.devices[0..10] {
        device.heard.as_mut().unwrap().ring = Some("early".into());
    }
    trial.plan.pinned = vec!["d0009".into()];
    assert_eq!(trial.judge().1, Evidence { group: 9, reach: 9, ..Evidence::default() });
    // The silence of the others is not this stage's.
    trial.after(46, 9..100).set(0..5, "committed");
    assert_eq!(trial.judge().0, Verdict::Done);
    // Pinned to this very release, it failed: that counts, wherever the device belongs.
    trial.set(9..10, "failed");
    assert_eq!(trial.judge().1.failed, 1);
}

#[test]
fn a_clock_that_was_set_back_begins_the_soak_again() {
    let mut trial = Trial::new(10, &[(100, &[], 5, 60)]);
    trial.set(0..10, "committed").judge();
    trial.now_ms -= 30 * MINUTE;
    trial.judge();
    assert_eq!(trial.memory.enough_since_ms, Some(trial.now_ms));
    trial.now_ms += 59 * MINUTE;
    assert_eq!(trial.judge().0, Verdict::Wait(WaitReason::Soaking));
}

#[test]
fn the_soak_begins_again_when_there_are_not_enough_any_more() {
    let mut trial = Trial::new(100, &[(100, &[], 10, 60)]);
    trial.set(0..10, "committed").judge();
    trial.after(50, 0..1);
    assert_eq!(trial.judge().0, Verdict::Wait(WaitReason::Committing));
    trial.after(1, 0..0);
    assert_eq!(trial.judge().0, Verdict::Wait(WaitReason::Soaking));
    trial.after(59, 0..0);
    assert_eq!(trial.judge().0, Verdict::Wait(WaitReason::Soaking));
}

#[test]
fn an_empty_fleet_and_a_missing_stage_do_not_go_on() {
    let mut trial = Trial::new(0, &[(100, &[], 1, 0)]);
    assert_eq!(trial.judge().0, Verdict::Wait(WaitReason::Committing));
    trial.stage = 1;
    assert_eq!(trial.judge().0, Verdict::Done);
}
