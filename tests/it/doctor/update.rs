//! `raspi-mcp doctor --update`: each thing that could go wrong with an update, before it does.

use crate::{
    config::Machine,
    update::{LATER, NOW, a_bundle_of, a_plan, a_root, an_image, opened},
};
use base::{error::ToolError, os::Root};
use contract::config;
use hw::firmware::Throttled;
use raspi_mcp::doctor::{
    Finding, Severity,
    update::{Preflight, preflight},
};
use std::{fs, path::Path};
use tempfile::TempDir;
use update::{
    AHEAD, Slot,
    bundle::{BundleContent, Manifest, Renamed, ServiceChanges},
    status::{Attempt, Phase, SlotState, SlotStatus, UpdateStatus},
};

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
        restart: None,
        waits_for: Vec::new(),
        channel_reached: false,
        service_changes: ServiceChanges::default(),
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
        throttled: Some(Throttled::since_boot(0)),
        now: NOW + 10,
        release: None,
        image_dir: "/usr/lib/raspi-mcp/conf.d".into(),
        shared_dir: None,
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
fn says(findings: &[Finding], about: &str, state: Severity, words: &str) {
    let found = findings.iter().any(|one| one.about == about && one.state == state && one.says.contains(words));
    assert!(found, "no {state:?} {about} with {words:?} in {findings:#?}");
    let mended = findings.iter().all(|one| one.state == Severity::Ok || one.mend.is_some());
    assert!(mended, "whatever is not well says what to do: {findings:#?}");
}

#[test]
fn a_machine_that_is_well_has_nothing_wrong() {
    let Bench { about, root: _root } = bench();
    let findings = preflight(&about);
    assert!(findings.iter().all(|one| one.state == Severity::Ok), "{findings:#?}");
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
    says(&findings, "slots", Severity::Wrong, "on trial");
    says(&findings, "slots", Severity::Note, "nothing to go back to");
    says(&findings, "slots", Severity::Wrong, "a torn record");
    says(&findings, "last update", Severity::Note, "its server does not start");
    about.status = Err(ToolError::missing("this machine has no two slots").hint("an image has them"));
    says(&preflight(&about), "slots", Severity::Wrong, "no two slots");
}

#[test]
fn power_cards_and_the_clock() {
    let Bench { mut about, root } = bench();
    about.throttled = Some(Throttled::since_boot(0x1_0000));
    says(&preflight(&about), "power", Severity::Note, "has been too low");
    about.throttled = Some(Throttled::since_boot(0x1_0001));
    says(&preflight(&about), "power", Severity::Wrong, "too low now");
    about.throttled = Some(Throttled::last_seconds(0));
    says(&preflight(&about), "power", Severity::Note, "whether it was since the start is not known");
    about.throttled = Some(Throttled::last_seconds(0x1_0000));
    says(&preflight(&about), "power", Severity::Note, "has been too low");
    about.throttled = None;
    assert!(!preflight(&about).iter().any(|one| one.about == "power"), "nobody can be asked");
    let device = "sys/block/mmcblk0/device";
    put(root.path(), &format!("{device}/life_time"), "0x02 0x01\n");
    says(&preflight(&about), "card", Severity::Ok, "at most 20 %");
    put(root.path(), &format!("{device}/life_time"), "0x0b 0x01\n");
    says(&preflight(&about), "card", Severity::Note, "110 %");
    put(root.path(), &format!("{device}/pre_eol_info"), "0x03\n");
    says(&preflight(&about), "card", Severity::Wrong, "no spare blocks");
    about.now = NOW - AHEAD;
    says(&preflight(&about), "time", Severity::Ok, "set from the network");
    about.now = NOW - AHEAD - 1;
    says(&preflight(&about), "time", Severity::Wrong, "earlier than the newest release");
    about.now = NOW + 10;
    fs::remove_file(root.path().join("run/systemd/timesync/synchronized")).unwrap();
    says(&preflight(&about), "time", Severity::Note, "nobody knows");
}

#[test]
fn keys_room_and_configuration() {
    let Bench { mut about, root } = bench();
    about.now = LATER - 86_400;
    says(&preflight(&about), "keys", Severity::Note, "within a month");
    about.now = LATER + 1;
    says(&preflight(&about), "keys", Severity::Note, "root of trust 1");
    about.now = NOW + 10;
    put(root.path(), "trust.json", "{}");
    says(&preflight(&about), "keys", Severity::Wrong, "trust.json");
    fs::remove_file(root.path().join("trust.json")).unwrap();
    says(&preflight(&about), "keys", Severity::Wrong, "trust.json");
    let (settings, _) = about.settings.as_mut().unwrap();
    settings.update.spool_reserve_bytes = u64::MAX;
    settings.update.url.clear();
    settings.restricted = vec!["state.toml:1:1: unknown key \"x\"".into()];
    let findings = preflight(&about);
    says(&findings, "space", Severity::Note, "written as it comes");
    says(&findings, "channel", Severity::Note, "from a file alone");
    says(&findings, "configuration", Severity::Note, "state.toml");
    about.settings = Err(config::explain(&Machine::new().site("reeds = 1").sources).unwrap_err());
    says(&preflight(&about), "configuration", Severity::Wrong, "reeds");
}

/// A release with those settings, or one that does not say.
fn release(known: &[&str]) -> Manifest {
    let boot = update::simulated::boot_image(256 << 10, "2.0.0").unwrap();
    let plan = BundleContent { config_keys: known.iter().map(|key| (*key).to_owned()).collect(), ..a_plan("2.0.0", 2) };
    opened(&a_bundle_of(&plan, &boot, &an_image(64 << 10, 1), &[11, 12])).0.manifest
}

#[test]
fn a_release_that_does_not_know_a_setting_is_told_of_before_it_is_tried() {
    let Bench { mut about, root: _root } = bench();
    let machine = Machine::new()
        .file("/usr/lib/raspi-mcp/conf.d/10-image.toml", "[audit]\nmax_bytes = 2000000\n")
        .site("[http]\nmetrics = false\n\n[policy]\n\"system.reboot\" = \"deny\"\n")
        .state("[log]\nlevel = \"warn\"\n")
        .variable("RASPI_MCP__METRICS__MAX_BYTES", "2000000");
    about.image_dir = machine.sources.places.image_dir.clone();
    about.settings = Ok(config::explain(&machine.sources).unwrap());
    let mut told = |known: &[&str]| {
        about.release = Some(Ok(release(known)));
        let findings = preflight(&about);
        findings.into_iter().filter(|one| one.about == "release").collect::<Vec<_>>()
    };
    let all = ["policy", "http.metrics", "log.level", "metrics.max_bytes", "audit.max_bytes", "a.new_one"];
    says(&told(&all), "release", Severity::Ok, "2.0.0 knows every setting");
    says(&told(&[]), "release", Severity::Note, "does not say");
    // The image's own key goes with the image.
    let findings = told(&["policy", "metrics.max_bytes"]);
    assert_eq!(findings.len(), 2, "{findings:#?}");
    says(&findings, "release", Severity::Wrong, "2.0.0 does not know http.metrics");
    says(&findings, "release", Severity::Wrong, "10-site.toml:2");
    says(&findings, "release", Severity::Note, "does not know log.level");
    says(&findings, "release", Severity::Wrong, "10-site.toml:2:1 sets: it would not start");
    says(&told(&["policy", "http.metrics", "log.level"]), "release", Severity::Wrong, "RASPI_MCP__METRICS__MAX_BYTES");
    says(&told(&["http.metrics"]), "release", Severity::Wrong, "policy.system.reboot");
    // On an appliance it would start with it.
    about.shared_dir = Some(machine.sources.places.site_dir.clone());
    about.release = Some(Ok(release(&["policy", "log.level"])));
    let findings = preflight(&about);
    says(
        &findings,
        "release",
        Severity::Wrong,
        "10-site.toml:2:1 sets: it would set that section aside and start restricted",
    );
    says(&findings, "release", Severity::Wrong, "RASPI_MCP__METRICS__MAX_BYTES sets: it would not start");
    let mut renames = release(&["policy", "log.level", "http.meters"]);
    renames.changes.settings.renames = vec![Renamed { from: "http.metrics".into(), to: "http.meters".into() }];
    about.release = Some(Ok(renames));
    let findings = preflight(&about);
    let told = findings.iter().any(|one| {
        one.mend.as_ref().is_some_and(|mend| mend.contains("http.metrics is called http.meters from version 2.0.0 on"))
    });
    assert!(told, "{findings:#?}");
    about.release = Some(Err("x.bundle: does not start as bundles do".into()));
    says(&preflight(&about), "release", Severity::Wrong, "does not start as bundles do");
}
