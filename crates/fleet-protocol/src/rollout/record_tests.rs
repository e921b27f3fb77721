//! The record through a whole life: every phase, its step, and what is refused.

use super::{plan::tests::plan, record::Decider, *};

fn by(now_ms: i64) -> Decider<'static> {
    Decider { name: "desk", now_ms }
}

fn record() -> RolloutRecord {
    RolloutRecord::start(&plan(&[(5, &[], 1, 0), (100, &[], 2, 0)]), "aa", RolloutMemory::default(), by(1))
}

fn judgement(verdict: Verdict) -> Judgement {
    let (evidence, memory) = (Evidence::default(), RolloutMemory::default());
    Judgement { verdict, why: "so".into(), evidence, memory }
}

fn stop() -> Verdict {
    Verdict::Stop { why: "so".into(), devices: vec![FailedDevice { name: "shed".into(), why: "dark".into() }] }
}

#[test]
fn a_rollout_goes_from_stage_to_stage() {
    let first = record();
    assert_eq!((first.step(), first.last.number, first.last.kind), (1, 1, DecisionKind::Start));
    let waits = first.judged(judgement(Verdict::Wait(WaitReason::Committing)), by(2)).unwrap();
    assert_eq!((waits.step(), waits.last.number, waits.last.kind), (1, 2, DecisionKind::Wait));
    // The same again is no decision.
    assert_eq!(waits.judged(judgement(Verdict::Wait(WaitReason::Committing)), by(3)), None);
    let second = waits.judged(judgement(Verdict::Next), by(4)).unwrap();
    assert_eq!((second.step(), second.last.stage, second.last.step, second.last.number), (5, 2, 5, 3));
    let done = second.judged(judgement(Verdict::Done), by(5)).unwrap();
    assert_eq!((done.phase, done.step(), done.last.kind), (RolloutPhase::Done, 5, DecisionKind::Done));
    for verdict in [stop(), Verdict::Next, Verdict::Wait(WaitReason::Soaking)] {
        assert_eq!(done.judged(judgement(verdict), by(6)), None);
    }
    assert!(done.clone().paused("why", by(6)).is_err() && done.aborted("why", by(6)).is_err());
}

#[test]
fn a_stop_publishes_the_pause_and_names_the_devices() {
    let stopped = record().judged(judgement(stop()), by(2)).unwrap();
    assert_eq!((stopped.phase, stopped.step(), stopped.last.step), (RolloutPhase::Stopped, 2, 2));
    assert_eq!(stopped.last.devices[0].name, "shed");
    assert!(stopped.clone().resumed(by(3)).is_err());
    assert!(stopped.judged(judgement(Verdict::Next), by(3)).is_none());
}

#[test]
fn a_person_pauses_and_resumes_once_in_a_stage() {
    let paused = record().paused("lunch", by(2)).unwrap();
    assert_eq!((paused.step(), paused.last.why.as_str()), (2, "lunch"));
    assert!(paused.clone().paused("again", by(3)).is_err());
    // What is good does not go on meanwhile; what is bad stops.
    assert_eq!(paused.judged(judgement(Verdict::Next), by(3)), None);
    assert_eq!(paused.judged(judgement(stop()), by(3)).unwrap().phase, RolloutPhase::Stopped);
    let resumed = paused.resumed(by(4)).unwrap();
    assert_eq!((resumed.step(), resumed.round), (3, 1));
    let again = resumed.paused("dinner", by(5)).unwrap();
    assert_eq!(again.step(), 4);
    assert!(again.clone().resumed(by(6)).is_err());
    assert_eq!(again.aborted("enough", by(7)).unwrap().step(), 4);
    // The next stage has rounds of its own.
    let next = record().paused("a", by(1)).unwrap().resumed(by(2)).unwrap();
    assert_eq!(next.judged(judgement(Verdict::Next), by(3)).unwrap().step(), 5);
}

#[test]
fn what_has_to_be_remembered_is_kept_without_a_decision() {
    let waits = record().judged(judgement(Verdict::Wait(WaitReason::Committing)), by(2)).unwrap();
    let mut next = judgement(Verdict::Wait(WaitReason::Committing));
    next.memory.failed.insert("shed".into(), (7, "dark".into()));
    let noted = waits.judged(next.clone(), by(3)).unwrap();
    assert_eq!((&noted.memory, noted.last.number), (&next.memory, waits.last.number));
    let paused = waits.paused("lunch", by(4)).unwrap();
    assert_eq!(paused.judged(next.clone(), by(5)).unwrap().memory, next.memory);
}

#[test]
fn a_record_is_the_same_after_it_was_stored() {
    let mut record = record().judged(judgement(stop()), by(2)).unwrap().taken(by(3));
    record.memory.failed.insert("shed".into(), (7, "dark".into()));
    record.memory.silent_before.insert("attic".into());
    let text = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<RolloutRecord>(&text).unwrap(), record);
    assert!(serde_json::from_str::<RolloutRecord>(&text.replacen("plan", "plam", 1)).is_err());
}
