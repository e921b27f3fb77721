//! The time zone of an appliance: recorded beside the identity, applied at each start, gone with a reset.

use super::Machine;
use appliance::timezone;
use base::os::clock;
use std::{fs, os::unix::fs::symlink, path::Path};
use update::slots::StateStore;

const LINK: &str = "run/raspi-mcp-zone/localtime";

/// As its image is made: the link of /etc leads into /run.
fn machine() -> Machine {
    let machine = Machine::with(&[]);
    symlink("/run/raspi-mcp-zone/localtime", machine.home.path().join("etc/localtime")).unwrap();
    fs::create_dir_all(machine.home.path().join("usr/share/zoneinfo/Asia")).unwrap();
    for zone in ["UTC", "Asia/Kolkata"] {
        machine.puts(&format!("usr/share/zoneinfo/{zone}"), "TZif2");
    }
    machine
}

/// As the agent does it.
fn choose(machine: &Machine, zone: &str) {
    let mut opened = StateStore::open(&machine.card).unwrap();
    let next = timezone::to_keep(zone, &opened.state).unwrap();
    opened.store.save(&machine.card, &next).unwrap();
    assert!(timezone::to_keep(zone, &next).is_none(), "the card is not written for nothing");
}

fn link(machine: &Machine) -> String {
    fs::read_link(machine.home.path().join(LINK)).unwrap().display().to_string()
}

#[test]
fn it_is_utc_until_it_is_chosen_and_then_that_at_every_start() {
    let machine = machine();
    machine.starts();
    assert_eq!(link(&machine), "/usr/share/zoneinfo/UTC");
    assert!(timezone::is_ours(&machine.root()));
    choose(&machine, "Asia/Kolkata");
    timezone::apply(&machine.root(), "Asia/Kolkata").unwrap();
    assert_eq!(link(&machine), "/usr/share/zoneinfo/Asia/Kolkata", "at once");
    machine.starts();
    assert_eq!(machine.starts().faults, [""; 0]);
    assert_eq!(link(&machine), "/usr/share/zoneinfo/Asia/Kolkata", "and after each start");
    assert_eq!(super::mode(Path::new(&machine.home.path().join("run/raspi-mcp-zone"))) & 0o777, 0o755);
}

#[test]
fn a_zone_that_this_image_lacks_is_told_and_kept() {
    let machine = machine();
    machine.starts();
    choose(&machine, "Europe/Atlantis");
    let done = machine.starts();
    assert_eq!(done.faults, ["this image has no time zone \"Europe/Atlantis\": times are in UTC"]);
    assert_eq!(link(&machine), "/usr/share/zoneinfo/UTC");
    assert_eq!(timezone::kept(&machine.state()).as_deref(), Some("Europe/Atlantis"), "the other image may have it");
}

#[test]
fn an_image_with_another_link_is_left_alone() {
    let machine = Machine::with(&[]);
    assert_eq!(machine.starts().faults, [""; 0]);
    assert!(!machine.home.path().join(LINK).exists() && !timezone::is_ours(&machine.root()));
}

#[test]
fn the_reader_follows_both_links() {
    let machine = machine();
    machine.starts();
    assert_eq!(clock::zone(&machine.root()).unwrap().name, "UTC");
    timezone::apply(&machine.root(), "Zulu").unwrap();
    assert_eq!(clock::zone(&machine.root()).unwrap().name, "Zulu");
}

#[test]
fn a_reset_forgets_it() {
    let machine = machine();
    machine.starts();
    choose(&machine, "Asia/Kolkata");
    machine.put(&[("factory-reset", b"reset\n")]);
    machine.starts();
    machine.starts();
    assert_eq!((timezone::kept(&machine.state()), link(&machine)), (None, "/usr/share/zoneinfo/UTC".into()));
}
