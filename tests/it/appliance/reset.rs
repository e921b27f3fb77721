//! A reset by hand: what is on partition 1, and what is left of whose machine it was.

use super::{Machine, card, token};
use crate::update::powercut::cut::{Cutter, Dice};
use appliance::device_key;
use contract::meta::Role;
use update::{disk::Area, slots::StateStore};

const CONNECTION: &str = "etc/NetworkManager/system-connections/office.nmconnection";

fn owned() -> Machine {
    let machine = Machine::of(card(&[("raspi-mcp.toml", token("laptop", Role::Admin).1.as_bytes())]));
    machine.puts(CONNECTION, "[connection]\nid=office\n");
    assert!(machine.starts().claimed);
    // As the agent keeps it: in one copy, until the next start puts it into both.
    let opened = StateStore::open(&machine.card).unwrap();
    let mut store = opened.store;
    store.save(&machine.card, &device_key::to_keep(b"key", &opened.state)).unwrap();
    assert!(machine.starts().claimed);
    machine
}

#[test]
fn a_reset_takes_the_identity_marks_data_and_asks_for_a_restart_once() {
    let machine = owned();
    let (before, mut floor) = (machine.identity(), machine.state());
    floor.kept.clear();
    machine.put(&[("factory-reset", b" RESET\r\n")]);
    let done = machine.starts();
    assert!(done.restart && done.faults.is_empty(), "{done:?}");
    assert!(machine.folder().standing().unwrap().is_none());
    assert!(machine.reads("data/factory-reset").is_some());
    // Nothing but what was kept is gone: floors and blocked versions stay.
    assert_eq!(machine.state(), floor);
    // As the initramfs does at the next start.
    for file in ["data/factory-reset", CONNECTION] {
        std::fs::remove_file(machine.home.path().join(file)).unwrap();
    }
    let done = machine.starts();
    assert!(!done.restart && !done.claimed && machine.claim().is_some(), "{done:?}");
    assert_ne!(machine.identity().fingerprint(), before.fingerprint());
    assert!(machine.reads(CONNECTION).is_none());
}

#[test]
fn a_file_that_does_not_say_it_resets_nothing() {
    for text in [&b"no"[..], b"", b"\0\0\0\0\0", b"reset everything"] {
        let machine = owned();
        let before = machine.state();
        machine.put(&[("factory-reset", text)]);
        let done = machine.starts();
        assert!(done.claimed && !done.restart);
        assert_eq!(done.faults.iter().any(|fault| fault.contains("does not say")), text.len() > 1 && text[0] != 0);
        assert_eq!(machine.state(), before);
    }
}

#[test]
fn wherever_the_power_fails_a_reset_is_done_or_will_be() {
    let machine = owned();
    machine.put(&[("factory-reset", b"reset\n")]);
    let start = machine.card.content();
    machine.card.take_events();
    assert!(machine.starts().restart);
    let (mut cutter, mut dice) = (Cutter::new(start), Dice(0x5eed_0003));
    for event in machine.card.take_events() {
        cutter.apply(&event);
        for fate in cutter.fates(64, &mut dice) {
            let after = Machine::of(cutter.state(&fate, &mut dice).make());
            let first = after.starts();
            let second = after.starts();
            // Torn garbage in the file is no longer the word; then the identity is gone already.
            assert!(!second.restart && !second.claimed, "{first:?}, {second:?}");
            assert!(after.identity().tokens.is_empty() && after.claim().is_some());
            assert_eq!(device_key::kept(&after.state()), None, "it is another device");
        }
    }
}

#[test]
fn a_data_partition_that_cannot_be_mounted_begins_with_zeros_after_it() {
    const MIB: usize = 1 << 20;
    for size in [3 * MIB, MIB / 2] {
        let mut content = card(&[("factory-reset", b"reset")]);
        content.insert(Area::Data, vec![0x5a; size]);
        let machine = Machine::of(content);
        machine.puts("run/raspi-mcp-data-lost", "no file system\n");
        let done = machine.prepares().unwrap();
        assert!(done.restart && done.faults.is_empty(), "{done:?}");
        assert!(machine.reads("data/factory-reset").is_none());
        let data = machine.card.content().remove(&Area::Data).unwrap();
        let zeros = data.iter().take_while(|byte| **byte == 0).count();
        assert_eq!((zeros, data.len()), (size.min(MIB), size));
    }
}

#[test]
fn where_data_cannot_be_made_anew_it_says_so_and_forgets_the_owner_all_the_same() {
    let machine = owned();
    machine.put(&[("factory-reset", b"reset")]);
    machine.puts("run/raspi-mcp-data-lost", "it is not there\n");
    let done = machine.prepares().unwrap();
    assert!(done.restart && done.faults[0].contains("it is not there"), "{done:?}");
    assert!(!machine.starts().claimed && machine.claim().is_some());
}
