//! The record on the card: torn, garbage, of a newer version, on a card that takes nothing.

use super::machine::NOW;
use ::update::{
    Slot,
    disk::{Access, Area, Disk, Event, MemoryDisk},
    slots::{StateRecord, StateStore},
    status::{Attempt, Phase, SlotState},
};
use base::error::ErrorCode;
use serde_json::{Value, json};
use std::io;

const SIZE: usize = 64 << 10;
const COPIES: [u64; 2] = [16 << 10, 32 << 10];

fn card() -> MemoryDisk {
    MemoryDisk::new([(Area::AgentState, SIZE)])
}

fn with_floor(floor: u64) -> StateRecord {
    StateRecord { counter_floor: floor, ..StateRecord::default() }
}

fn saved(disk: &MemoryDisk, floors: &[u64]) -> StateStore {
    let mut store = StateStore::open(disk).unwrap().store;
    for floor in floors {
        store.save(disk, &with_floor(*floor)).unwrap();
    }
    store
}

fn floor(disk: &MemoryDisk) -> (u64, usize) {
    let opened = StateStore::open(disk).unwrap();
    (opened.state.counter_floor, opened.faults.len())
}

fn damage(disk: &MemoryDisk, at: u64, bytes: &[u8]) {
    disk.open(Area::AgentState, Access::Shared).unwrap().write(at, bytes).unwrap();
}

#[test]
fn each_save_is_one_write_to_the_older_copy_and_a_flush() {
    let disk = card();
    assert_eq!(floor(&disk), (0, 0), "from the factory: empty, and nothing wrong");
    let mut store = saved(&disk, &[]);
    for (round, at) in [COPIES[0], COPIES[1], COPIES[0], COPIES[1]].into_iter().enumerate() {
        disk.take_events();
        store.save(&disk, &with_floor(round as u64 + 1)).unwrap();
        let events = disk.take_events();
        assert!(
            matches!(&events[..], [Event::Write { at: there, bytes, .. }, Event::Flush] if *there == at && bytes.len() % 4096 == 0)
        );
        assert_eq!(floor(&disk), (round as u64 + 1, 0));
    }
    // Another program start goes on where this one was.
    saved(&disk, &[9]);
    assert_eq!(floor(&disk), (9, 0));
}

#[test]
fn a_torn_copy_leaves_the_other_one_whatever_byte_is_wrong() {
    let disk = card();
    saved(&disk, &[1, 2]);
    let whole = disk.content();
    let length = 56 + 100;
    for at in 0..length {
        let disk = MemoryDisk::of(whole.clone());
        let byte = whole[&Area::AgentState][COPIES[1] as usize + at];
        damage(&disk, COPIES[1] + at as u64, &[byte ^ 0x40]);
        assert_eq!(floor(&disk), (1, 1), "byte {at}");
        saved(&disk, &[3]);
        assert_eq!(floor(&disk), (3, 0), "the torn one is the older one, and is mended");
    }
}

#[test]
fn a_copy_that_rots_while_the_store_is_open_is_written_by_the_second_save_at_the_latest() {
    for (rotten, after_one) in [(COPIES[0], 0), (COPIES[1], 1)] {
        let disk = card();
        let mut store = saved(&disk, &[1, 2]);
        damage(&disk, rotten + 60, b"garbage");
        store.save(&disk, &with_floor(3)).unwrap();
        assert_eq!(floor(&disk), (3, after_one));
        store.save(&disk, &with_floor(4)).unwrap();
        assert_eq!(floor(&disk), (4, 0));
    }
}

#[test]
fn saving_again_writes_the_older_copy_unless_it_would_do() {
    let disk = card();
    let mut store = saved(&disk, &[1, 2]);
    let state = with_floor(2);
    let again = |store: &mut StateStore, least: u64| {
        disk.take_events();
        let written = store.save_again(&disk, &state, |other| other.counter_floor >= least).unwrap();
        let events = disk.take_events();
        assert_eq!(events.len(), if written { 2 } else { 0 });
        events.into_iter().find_map(|event| match event {
            Event::Write { at, .. } => Some(at),
            Event::Flush => None,
        })
    };
    assert_eq!(again(&mut store, 1), None, "an older state that would do stays");
    assert_eq!(again(&mut store, 2), Some(COPIES[0]), "one that would not is written");
    assert_eq!(again(&mut store, 2), None);
    // Torn, it is whatever it said.
    damage(&disk, COPIES[1] + 60, b"garbage");
    assert_eq!(again(&mut store, 0), Some(COPIES[1]));
    assert_eq!(floor(&disk), (2, 0));
    // Where it cannot be written, the one that holds is as it was, and the error says so.
    damage(&disk, COPIES[0] + 60, b"garbage");
    disk.fail_after(0, io::ErrorKind::Other);
    let refused = store.save_again(&disk, &state, |_| true).unwrap_err();
    assert!(refused.code == ErrorCode::Unavailable && refused.message.contains("in one copy"), "{refused}");
    assert_eq!(floor(&disk), (2, 1));
}

#[test]
fn both_torn_begins_anew_and_says_so() {
    let disk = card();
    saved(&disk, &[1, 2]);
    for at in COPIES {
        damage(&disk, at + 60, b"garbage");
    }
    assert_eq!(floor(&disk), (0, 2));
    saved(&disk, &[4, 5]);
    assert_eq!(floor(&disk), (5, 0));
}

#[test]
fn garbage_of_any_kind_is_told_and_never_believed() {
    let numbers = |sequence: u64, length: u64| [sequence.to_le_bytes(), length.to_le_bytes()].concat();
    for garbage in [
        vec![0xff; 4096],
        b"RMSTATE1".to_vec(),
        [b"RMSTATE1".to_vec(), numbers(1, u64::MAX)].concat(),
        [b"RMSTATE1".to_vec(), numbers(1, SIZE as u64)].concat(),
        [b"RMSTATE1".to_vec(), numbers(u64::MAX, 0)].concat(),
        b"{\"counter_floor\":7}".to_vec(),
    ] {
        let disk = card();
        damage(&disk, COPIES[0], &garbage);
        assert_eq!(floor(&disk), (0, 1), "{:?}", &garbage[..8]);
        saved(&disk, &[3]);
        assert_eq!(floor(&disk), (3, 0));
    }
}

#[test]
fn a_card_that_takes_nothing_refuses_and_the_record_stays() {
    for (writes, kind) in [(0, io::ErrorKind::StorageFull), (0, io::ErrorKind::Other), (1, io::ErrorKind::Other)] {
        let disk = card();
        let mut store = saved(&disk, &[1, 2]);
        disk.fail_after(writes, kind);
        let refused = store.save(&disk, &with_floor(3)).unwrap_err();
        assert_eq!((refused.code, refused.hint.is_some()), (ErrorCode::Unavailable, true), "{refused}");
        // The power goes; the write may have come through or not, and the newer of what was there is not lost.
        let disk = MemoryDisk::of(disk.content());
        assert_eq!(floor(&disk), (if writes == 0 { 2 } else { 3 }, 0));
        // And the next one goes to the same place as the one that failed.
        store.save(&disk, &with_floor(4)).unwrap();
        assert_eq!(floor(&disk), (4, 0));
    }
}

#[test]
fn what_is_too_long_is_refused_before_it_is_written() {
    let disk = card();
    let mut store = saved(&disk, &[1]);
    disk.take_events();
    let mut state = with_floor(2);
    state.kept.insert("network".into(), vec![7; SIZE]);
    assert_eq!(store.save(&disk, &state).unwrap_err().code, ErrorCode::ResourceExhausted);
    assert_eq!((disk.take_events(), floor(&disk)), (vec![], (1, 0)));
}

#[test]
fn a_card_without_the_area_is_told() {
    let disk = MemoryDisk::new([]);
    assert_eq!(StateStore::open(&disk).unwrap_err().code, ErrorCode::CapabilityMissing);
}

/// Writes JSON as a record, as a newer version might.
fn record(disk: &MemoryDisk, json: &Value) {
    let json = json.to_string().into_bytes();
    let numbers = [7_u64.to_le_bytes(), (json.len() as u64).to_le_bytes()].concat();
    let sum = ring::digest::digest(&ring::digest::SHA256, &[&numbers[..], &json].concat());
    damage(disk, COPIES[0], &[b"RMSTATE1", &numbers[..], sum.as_ref(), &json].concat());
}

fn written(disk: &MemoryDisk) -> Value {
    let mut area = vec![0; SIZE];
    disk.open(Area::AgentState, Access::Read).unwrap().read(0, &mut area).unwrap();
    let at = COPIES[1] as usize;
    let length = u64::from_le_bytes(area[at + 16..at + 24].try_into().unwrap()) as usize;
    serde_json::from_slice(&area[at + 56..at + 56 + length]).unwrap()
}

#[test]
fn rule_9_what_a_newer_version_wrote_is_read_and_kept() {
    let disk = card();
    let attempt = json!({
        "version": "3.0.0", "counter": 3, "manifest_sha256": "", "target": "B", "phase": "committed", "reason": "",
        "reset_cause": null, "boot_ids": [], "log_tail": null, "started_ms": 1, "finished_ms": 2, "weather": "fine",
    });
    let newer = json!({
        "format": 2, "counter_floor": 3, "colour": {"deep": [1, 2]}, "last_attempt": attempt,
        "slots": {"A": {"state": "good", "version": "3.0.0", "shade": 1}, "B": {"state": "unknown"}, "C": {"state": "good"}},
        "update": {"version": "4", "counter": 4, "target": "B", "stage": "dreaming", "manifest": null},
        "blocked": [{"manifest": "00".repeat(32), "version": "2", "reason": "bad", "since": 5}],
        "kept": {"identity": "AAEC", "odd": 5},
    });
    record(&disk, &newer);
    let opened = StateStore::open(&disk).unwrap();
    let (mut store, mut state) = (opened.store, opened.state);
    assert_eq!(opened.faults.len(), 3, "a newer format, an unknown stage, an odd thing kept: {:?}", opened.faults);
    assert_eq!((state.counter_floor, state.slots.a.state), (3, SlotState::Good));
    assert_eq!((state.kept["identity"].as_slice(), &state.update), ([0, 1, 2].as_slice(), &None));
    assert_eq!(state.last_attempt.as_ref().unwrap().phase, Phase::Committed);
    state.counter_floor = 4;
    state.slots.of_mut(Slot::A).note = Some("seen".into());
    store.save(&disk, &state).unwrap();
    let back = written(&disk);
    assert_eq!(back["format"], 1, "what this version wrote");
    assert_eq!((&back["colour"], &back["counter_floor"]), (&newer["colour"], &json!(4)));
    assert_eq!((&back["slots"]["A"]["shade"], &back["slots"]["C"]), (&json!(1), &newer["slots"]["C"]));
    assert_eq!(back["last_attempt"], newer["last_attempt"]);
    assert_eq!((&back["unread_update"], &back["blocked"][0]["since"]), (&newer["update"], &json!(5)));
    assert_eq!((&back["kept"], &back["unread_kept"]), (&json!({"identity": "AAEC"}), &json!({"odd": 5})));
    let again = StateStore::open(&disk).unwrap();
    assert_eq!((again.state == state, again.faults.len()), (true, 0));
}

#[test]
fn every_field_comes_back_as_it_was() {
    let disk = card();
    let mut state = with_floor(1);
    state.last_attempt = Some(Attempt {
        version: "2.0.0".into(),
        counter: 2,
        manifest_sha256: "ab".into(),
        target: Slot::B,
        phase: Phase::Trial,
        reason: "\u{0} \" \\ ü".into(),
        reset_cause: Some("power_on".into()),
        boot_ids: vec!["x".into()],
        log_tail: Some("line\nline".into()),
        started_ms: NOW,
        finished_ms: None,
    });
    state.kept.insert("identity".into(), (0..=255).collect());
    state.update = Some(super::table::pending(update::slots::Stage::Trial, Slot::B, "x"));
    (state.revoke_below, state.time_floor, state.installs_ms) = (u64::MAX, 5, vec![i64::MIN, NOW]);
    state.roots = vec!["{}".into()];
    saved(&disk, &[]).save(&disk, &state).unwrap();
    let opened = StateStore::open(&disk).unwrap();
    assert_eq!(opened.faults, Vec::<String>::new());
    assert!(opened.state == state, "{:?}", opened.state);
}

#[test]
fn records_that_are_no_object_begin_anew() {
    for json in [json!([]), json!("x"), json!(null)] {
        let disk = card();
        record(&disk, &json);
        assert_eq!(floor(&disk), (0, 1));
    }
    for (field, value) in
        [("counter_floor", json!(-1)), ("slots", json!("x")), ("kept", json!([])), ("blocked", json!({}))]
    {
        let disk = card();
        let mut whole = json!({"time_floor": 5});
        whole[field] = value;
        record(&disk, &whole);
        let opened = StateStore::open(&disk).unwrap();
        assert_eq!((opened.state.time_floor, opened.faults.len()), (5, 1), "{field}: the rest is not lost");
    }
}
