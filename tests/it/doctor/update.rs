//! `raspi-mcp doctor --update`: each thing that could go wrong with an update, before it does.

use crate::{
    config::Machine,
    update::{LATER, NOW, a_root},
};
use raspi_mcp::{
    config,
    doctor::{
        Finding, State,
        update::{Preflight, preflight},
    },
    error::ToolError,
    hw::firmware::Throttled,
    os::Root,
    update::{
        Slot,
        status::{Attempt, Phase, SlotState, SlotStatus, UpdateStatus},
    },
};
use std::{fs, path::Path};
use tempfile::TempDir;

fn status() -> UpdateStatus {
    let slot = |slot, running| SlotStatus {
        slot,
        state: SlotState::Good,
        running,
        next: running,
        version: Some("1.0.0".into()),
        counter: Some(1),
        note: None,
    };
    UpdateStatus {
        flow: "simulated".into(),
        slots: vec![slot(Slot::A, true), slot(Slot::B, false)],
        last_attempt: None,
        counter_floor: 1,
        time_floor: NOW,
        trial_seconds_left: None,
        layout: "mbr-ab-1".into(),
        hardware: Vec::new(),
        blocked: Vec::new(),
        faults: Vec::new(),
        simulated: true,
    }
}

/// A machine where everything is well.
struct Bench {
    root: TempDir,
    about: Preflight,
}

fn bench() -> Bench {
    let root = TempDir::new().unwrap();
    put(root.path(), "trust.json", a_root());
    put(root.path(), "run/systemd/timesync/synchronized", "");
    let mut settings = config::explain(&Machine::new().sources).unwrap();
    settings.0.update.trust = "/trust.json".into();
    settings.0.update.spool_dir = root.path().join("spool");
    settings.0.update.spool_reserve_bytes = 0;
    settings.0.update.url = "https://updates.example.org".into();
    let about = Preflight {
        root: Root::at(root.path()),
        settings: Ok(settings),
        status: Ok(status()),
        throttled: Some(Throttled(0)),
        now: NOW + 10,
    };
    Bench { root, about }
}

fn put(root: &Path, file: &str, bytes: impl AsRef<[u8]>) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// What is said about `about`, and how bad it is.
#[track_caller]
fn says(findings: &[Finding], about: &str, state: State, words: &str) {
    let found = findings.iter().any(|one| one.about == about && one.state == state && one.says.contains(words));
    assert!(found, "no {state:?} {about} with {words:?} in {findings:#?}");
    let mended = findings.iter().all(|one| one.state == State::Ok || one.mend.is_some());
    assert!(mended, "whatever is not well says what to do: {findings:#?}");
}

#[test]
fn a_machine_that_is_well_has_nothing_wrong() {
    let Bench { about, root: _root } = bench();
    let findings = preflight(&about);
    assert!(findings.iter().all(|one| one.state == State::Ok), "{findings:#?}");
    for about in ["slots", "configuration", "channel", "space", "keys", "power", "time"] {
        assert!(findings.iter().any(|one| one.about == about), "{about}");
    }
}

#[test]
fn slots_that_cannot_take_an_update_now() {
    let Bench { mut about, root: _root } = bench();
    let mut trial = status();
    trial.slots[0].state = SlotState::Trial;
    trial.slots[1].state = SlotState::Bad;
    trial.faults = vec!["a torn record".into()];
    trial.last_attempt = Some(Attempt {
        version: "1.1.0".into(),
        counter: 2,
        manifest_sha256: "00".repeat(32),
        target: Slot::B,
        phase: Phase::RolledBack,
        reason: "its server does not start".into(),
        reset_cause: None,
        boot_ids: Vec::new(),
        log_tail: None,
        started_ms: 0,
        finished_ms: Some(1),
    });
    about.status = Ok(trial);
    let findings = preflight(&about);
    says(&findings, "slots", State::Wrong, "on trial");
    says(&findings, "slots", State::Note, "nothing to go back to");
    says(&findings, "slots", State::Wrong, "a torn record");
    says(&findings, "last update", State::Note, "its server does not start");
    about.status = Err(ToolError::missing("this machine has no two slots").hint("an image has them"));
    says(&preflight(&about), "slots", State::Wrong, "no two slots");
}

#[test]
fn power_cards_and_the_clock() {
    let Bench { mut about, root } = bench();
    about.throttled = Some(Throttled(0x1_0000));
    says(&preflight(&about), "power", State::Note, "has been too low");
    about.throttled = Some(Throttled(0x1_0001));
    says(&preflight(&about), "power", State::Wrong, "too low now");
    about.throttled = None;
    assert!(!preflight(&about).iter().any(|one| one.about == "power"), "nobody can be asked");
    let device = "sys/block/mmcblk0/device";
    put(root.path(), &format!("{device}/life_time"), "0x02 0x01\n");
    says(&preflight(&about), "card", State::Ok, "at most 20 %");
    put(root.path(), &format!("{device}/life_time"), "0x0b 0x01\n");
    says(&preflight(&about), "card", State::Note, "110 %");
    put(root.path(), &format!("{device}/pre_eol_info"), "0x03\n");
    says(&preflight(&about), "card", State::Wrong, "no spare blocks");
    about.now = NOW - 1;
    says(&preflight(&about), "time", State::Wrong, "earlier than the newest release");
    about.now = NOW + 10;
    fs::remove_file(root.path().join("run/systemd/timesync/synchronized")).unwrap();
    says(&preflight(&about), "time", State::Note, "nobody knows");
}

#[test]
fn keys_room_and_configuration() {
    let Bench { mut about, root } = bench();
    about.now = LATER - 86_400;
    says(&preflight(&about), "keys", State::Note, "within a month");
    about.now = LATER + 1;
    says(&preflight(&about), "keys", State::Note, "root of trust 1");
    about.now = NOW + 10;
    put(root.path(), "trust.json", "{}");
    says(&preflight(&about), "keys", State::Wrong, "trust.json");
    fs::remove_file(root.path().join("trust.json")).unwrap();
    says(&preflight(&about), "keys", State::Wrong, "trust.json");
    let (settings, _) = about.settings.as_mut().unwrap();
    settings.update.spool_reserve_bytes = u64::MAX;
    settings.update.url.clear();
    settings.restricted = vec!["state.toml:1:1: unknown key \"x\"".into()];
    let findings = preflight(&about);
    says(&findings, "space", State::Note, "written as it comes");
    says(&findings, "channel", State::Note, "from a file alone");
    says(&findings, "configuration", State::Note, "state.toml");
    about.settings = Err(config::explain(&Machine::new().site("reeds = 1").sources).unwrap_err());
    says(&preflight(&about), "configuration", State::Wrong, "reeds");
}
