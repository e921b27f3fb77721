//! The flow of boards with U-Boot: two raw copies, the older one written; and what comes of it in the model of boot.cmd.

use super::{Told, card, read, write};
use ::update::{
    Slot,
    boot::{
        BootFlow, Tries, Uboot,
        uboot::{COPY, UbootState, crc32},
    },
    disk::{Area, Disk, Event, MemoryDisk},
    firmware::{Outcome, UbootFirmware},
};
use base::error::ErrorCode;
use proptest::prelude::*;
use std::{io::ErrorKind, sync::Arc};

fn flow(disk: &MemoryDisk, told: &Told) -> Uboot {
    Uboot::new(Arc::new(disk.clone()), Arc::new(told.clone()))
}

fn state(disk: &dyn Disk, copy: u8) -> Result<UbootState, String> {
    UbootState::decode(read(disk, Area::UbootCopy(copy)).as_slice().try_into().unwrap())
}

fn put(disk: &dyn Disk, copy: u8, seq: u64, first: Slot, a: u32, b: u32) {
    write(disk, Area::UbootCopy(copy), 0, &UbootState { seq, first, left: Tries { a, b } }.encode());
}

fn boots(disk: &dyn Disk) -> Option<Slot> {
    UbootFirmware.boot(disk).slot()
}

/// A copy with these variables and a right checksum.
fn raw(text: &str) -> [u8; COPY] {
    let mut copy = [0; COPY];
    copy[4..4 + text.len()].copy_from_slice(text.as_bytes());
    let sum = crc32(&copy[4..]);
    copy[..4].copy_from_slice(&sum.to_le_bytes());
    copy
}

#[test]
fn a_trial_that_goes_well_stays_and_one_that_does_not_is_over_after_one_boot() {
    let (disk, told) = (card(), Told::running(Slot::A));
    let flow = flow(&disk, &told);
    assert_eq!((flow.name(), flow.trial_argument()), ("uboot", None));
    let factory = flow.evidence();
    assert_eq!((factory.default, factory.armed, factory.tries), (Some(Slot::A), None, Some(Tries { a: 3, b: 3 })));
    assert_eq!((factory.trial, factory.faults.len()), (Some(false), 0));

    flow.arm(Slot::B).unwrap();
    let armed = flow.evidence();
    assert_eq!((armed.default, armed.armed, armed.trial), (Some(Slot::A), Some(Slot::B), Some(false)));
    assert_eq!(boots(&disk), Some(Slot::B));
    told.say(|seen| (seen.booted, seen.root) = (Some(Slot::B), Some(Slot::B)));
    let trial = flow.evidence();
    assert_eq!((trial.default, trial.armed, trial.trial), (Some(Slot::A), Some(Slot::B), Some(true)));

    // Nobody commits it: the next boot is the old one, and the one after that.
    assert_eq!((boots(&disk), boots(&disk)), (Some(Slot::A), Some(Slot::A)));
    told.say(|seen| seen.booted = Some(Slot::A));
    assert_eq!(flow.evidence().trial, Some(false));
    flow.disarm().unwrap();
    let after = flow.evidence();
    assert_eq!((after.default, after.armed, after.tries), (Some(Slot::A), None, Some(Tries { a: 3, b: 0 })));

    // Again, and now it is committed: it starts from now on.
    flow.arm(Slot::B).unwrap();
    assert_eq!(boots(&disk), Some(Slot::B));
    told.say(|seen| seen.booted = Some(Slot::B));
    flow.commit(Slot::B).unwrap();
    assert_eq!(flow.evidence().trial, Some(false));
    for _ in 0..3 {
        assert_eq!(boots(&disk), Some(Slot::B));
    }
    // Three boots in which nobody found it healthy, and the other one is there.
    assert_eq!(boots(&disk), Some(Slot::A));
}

#[test]
fn a_change_is_one_write_of_the_older_copy_and_a_flush_and_none_when_it_is_so() {
    let (disk, told) = (card(), Told::running(Slot::A));
    let flow = flow(&disk, &told);
    let mut seqs = vec![(state(&disk, 0).unwrap().seq, state(&disk, 1).unwrap().seq)];
    for target in [Slot::B, Slot::B] {
        flow.arm(target).unwrap();
        seqs.push((state(&disk, 0).unwrap().seq, state(&disk, 1).unwrap().seq));
    }
    flow.disarm().unwrap();
    flow.commit(Slot::A).unwrap();
    seqs.push((state(&disk, 0).unwrap().seq, state(&disk, 1).unwrap().seq));
    assert_eq!(seqs, [(1, 2), (3, 2), (3, 2), (3, 4)]);
    let events = disk.take_events();
    let written: Vec<Area> = events
        .iter()
        .filter_map(|event| match event {
            Event::Write { area, at: 0, bytes } if bytes.len() == COPY => Some(*area),
            Event::Write { .. } => panic!("not one sector"),
            Event::Flush => None,
        })
        .collect();
    assert_eq!(written, [Area::UbootCopy(0), Area::UbootCopy(1)]);
    assert!(matches!(events[..], [Event::Write { .. }, Event::Flush, Event::Write { .. }, Event::Flush]));
}

#[test]
fn the_running_slot_is_not_armed_and_nothing_is_written() {
    let disk = card();
    let refused = flow(&disk, &Told::running(Slot::A)).arm(Slot::A).unwrap_err();
    assert_eq!(refused.code, ErrorCode::FailedPrecondition);
    assert!(disk.take_events().is_empty());
}

#[test]
fn a_torn_copy_is_told_and_written_next() {
    let (disk, told) = (card(), Told::running(Slot::A));
    let flow = flow(&disk, &told);
    // A power cut in the middle of the newer copy: the older one holds.
    write(&disk, Area::UbootCopy(1), 100, &[0xa5; 300]);
    let evidence = flow.evidence();
    assert_eq!(evidence.default, Some(Slot::A));
    assert!(
        evidence.faults[0].contains("U-Boot state 2 does not hold: its checksum is wrong"),
        "{:?}",
        evidence.faults
    );
    // A healthy boot has nothing to change, but to make it whole.
    flow.commit(Slot::A).unwrap();
    assert_eq!((state(&disk, 0).unwrap().seq, state(&disk, 1).unwrap().seq), (1, 2));
    assert_eq!(flow.evidence().faults, [""; 0]);
}

#[test]
fn rule_10_with_both_copies_lost_the_running_slot_rebuilds_them() {
    for lost in [[0; COPY], [0xff; COPY]] {
        let (disk, told) = (card(), Told::running(Slot::B));
        // A is being written: its head is gone.
        write(&disk, Area::Boot(Slot::A), 0, &[0; 4096]);
        for copy in 0..2 {
            write(&disk, Area::UbootCopy(copy), 0, &lost);
        }
        let flow = flow(&disk, &told);
        let evidence = flow.evidence();
        assert_eq!((evidence.default, evidence.armed, evidence.trial, evidence.tries), (None, None, None, None));
        assert_eq!(evidence.faults.len(), 2);
        // boot.cmd takes A first, whose files do not load, and then the one that does; it is whole in one copy again.
        assert_eq!(boots(&disk), Some(Slot::B));
        for copy in 0..2 {
            write(&disk, Area::UbootCopy(copy), 0, &lost);
        }
        flow.commit(Slot::B).unwrap();
        assert_eq!(flow.evidence().default, Some(Slot::B));
        assert_eq!([state(&disk, 0).unwrap().seq, state(&disk, 1).unwrap().seq].iter().max(), Some(&2));
        assert_eq!(boots(&disk), Some(Slot::B));
    }
}

#[test]
fn copies_that_make_no_sense_but_have_a_right_checksum_are_overruled() {
    for text in [
        "ab_seq=50\0ab_order=B\0",
        "ab_seq=50\0ab_order=C D\0ab_left_A=3\0",
        "ab_seq=50\0ab_left_A=many\0",
        "ab_seq=50\0ab_order=A B\0ab_left_A=fffffffff\0",
    ] {
        let (disk, told) = (card(), Told::running(Slot::A));
        write(&disk, Area::UbootCopy(0), 0, &raw(text));
        let flow = flow(&disk, &told);
        assert_eq!(flow.evidence().faults.len(), 1, "{text:?}");
        flow.commit(Slot::A).unwrap();
        // U-Boot would have believed the larger number.
        assert_eq!(state(&disk, 0).unwrap().seq, 0x51);
        assert_eq!(boots(&disk), Some(Slot::A));
    }
    // Without a number, or with one that U-Boot takes for a negative one, it does not count at all.
    for text in ["ab_order=B A\0", "ab_seq=0\0ab_order=B A\0", "ab_seq=ffffffffffffffff\0ab_order=B A\0", "ab_seq=x\0"]
    {
        assert!(UbootState::decode(&raw(text)).is_err(), "{text:?}");
        let disk = card();
        write(&disk, Area::UbootCopy(0), 0, &raw(text));
        assert_eq!(boots(&disk), Some(Slot::A), "{text:?}");
    }
}

#[test]
fn the_largest_number_there_is_does_not_end_it() {
    let (disk, told) = (card(), Told::running(Slot::A));
    put(&disk, 1, i64::MAX as u64, Slot::A, 3, 3);
    flow(&disk, &told).arm(Slot::B).unwrap();
    assert_eq!((state(&disk, 0).unwrap().seq, state(&disk, 1).unwrap().seq), (1, 2));
    assert_eq!(boots(&disk), Some(Slot::B));
}

#[test]
fn what_u_boot_wrote_is_read_and_its_other_variables_do_not_matter() {
    let disk = card();
    write(&disk, Area::UbootCopy(0), 0, &raw("ab_left_A=3\0ab_left_B=1\0ab_order=B A\0ab_seq=1f\0foo=bar=baz\0"));
    assert_eq!(state(&disk, 0).unwrap(), UbootState { seq: 0x1f, first: Slot::B, left: Tries { a: 3, b: 1 } });
    // Byte for byte what env export writes, sorted.
    let ours = UbootState { seq: 0x1f, first: Slot::B, left: Tries { a: 3, b: 1 } }.encode();
    assert_eq!(ours, raw("ab_left_A=3\0ab_left_B=1\0ab_order=B A\0ab_seq=1f\0"));
}

#[test]
fn a_card_that_fails_is_told_and_what_was_there_still_boots() {
    for (writes, kind) in [(0, ErrorKind::ReadOnlyFilesystem), (0, ErrorKind::Other), (1, ErrorKind::Other)] {
        let (disk, told) = (card(), Told::running(Slot::A));
        disk.fail_after(writes, kind);
        let error = flow(&disk, &told).arm(Slot::B).unwrap_err();
        assert_eq!(error.code, ErrorCode::Unavailable);
        assert!(error.message.contains("U-Boot state 1 cannot be written"), "{}", error.message);
        assert!(boots(&disk).is_some());
    }
    // No such area: a board without U-Boot.
    let (disk, told) = (MemoryDisk::new([(Area::Config, 512)]), Told::running(Slot::A));
    let flow = flow(&disk, &told);
    assert_eq!(flow.arm(Slot::B).unwrap_err().code, ErrorCode::CapabilityMissing);
    assert!(flow.evidence().faults[0].contains("no U-Boot state 1 area"));
}

/// The steps of dist/boot/boot.cmd, as ci/qemu's scenarios see the real one take them: trial, hang and power-cut (each boot is counted),
/// garbage (files that do not load, a kernel that is none), never-healthy, both-sick, state-lost.
mod boot_cmd {
    use super::*;

    fn left(disk: &dyn Disk) -> (u32, u32) {
        let newest = [state(disk, 0), state(disk, 1)].into_iter().flatten().max_by_key(|state| state.seq).unwrap();
        (newest.left.a, newest.left.b)
    }

    #[test]
    fn power_cut_and_never_healthy_every_boot_is_counted_before_it_begins() {
        let disk = card();
        for expected in [2, 1, 0] {
            assert_eq!((boots(&disk), left(&disk)), (Some(Slot::A), (expected, 3)));
        }
        assert_eq!((boots(&disk), left(&disk)), (Some(Slot::B), (0, 2)));
    }

    #[test]
    fn garbage_a_slot_that_does_not_load_loses_all_its_boots_at_once() {
        let no_kernel = update::boot::fat::make(
            64 << 10,
            &[("slot.env", b"slot_kernel=Image\n"), ("Image", b"this is not a kernel")],
        )
        .unwrap();
        let no_initrd = update::boot::fat::make(
            64 << 10,
            &[("slot.env", b"slot_kernel=Image\nslot_initrd=initrd\n"), ("Image", &read(&card(), Area::Boot(Slot::A)))],
        );
        let mut images = vec![vec![0xa5; 64 << 10], vec![0; 64 << 10], no_kernel];
        images.extend(no_initrd);
        for image in images {
            let disk = card();
            write(&disk, Area::Boot(Slot::A), 0, &image);
            assert_eq!(
                (UbootFirmware.boot(&disk), left(&disk)),
                (Outcome::Booted { slot: Slot::B, trial: false, wrote: 3 }, (0, 2))
            );
        }
    }

    #[test]
    fn both_sick_it_goes_on_and_comes_up_as_soon_as_one_loads() {
        let disk = card();
        let good = read(&disk, Area::Boot(Slot::B));
        for slot in Slot::BOTH {
            write(&disk, Area::Boot(slot), 0, &[0; 512]);
        }
        let Outcome::Nothing(why) = UbootFirmware.boot(&disk) else { panic!("nothing loads") };
        assert!(why.contains("over and over"));
        assert_eq!(left(&disk), (3, 3));
        write(&disk, Area::Boot(Slot::B), 0, &good);
        assert_eq!(boots(&disk), Some(Slot::B));
    }

    #[test]
    fn both_used_up_both_get_three_again() {
        let disk = card();
        put(&disk, 0, 9, Slot::B, 0, 0);
        assert_eq!((boots(&disk), left(&disk)), (Some(Slot::A), (2, 3)));
    }

    #[test]
    fn state_lost_with_one_copy_torn_the_other_one_holds_and_both_are_whole_again_soon() {
        let disk = card();
        put(&disk, 0, 3, Slot::B, 3, 3);
        write(&disk, Area::UbootCopy(0), 0, &[0xa5; 100]);
        assert_eq!(boots(&disk), Some(Slot::A));
        assert!(state(&disk, 0).is_ok() && state(&disk, 1).is_ok());
        for copy in 0..2 {
            write(&disk, Area::UbootCopy(copy), 0, &[0xa5; COPY]);
        }
        write(&disk, Area::Boot(Slot::A), 0, &[0xa5; 4096]);
        // Counted, found not to load, counted off, and B counted: three writes.
        assert_eq!(boots(&disk), Some(Slot::B));
        assert!(state(&disk, 0).is_ok() && state(&disk, 1).is_ok());
    }
}

proptest! {
    /// Whatever is in both copies: the model starts a slot, and after a commit by the running one it is that slot.
    #[test]
    fn no_state_keeps_a_machine_with_two_good_slots_down(copies in proptest::collection::vec((proptest::collection::vec(any::<u8>(), COPY), any::<bool>()), 2)) {
        let disk = card();
        for (number, (mut copy, sealed)) in copies.into_iter().enumerate() {
            if sealed {
                let sum = crc32(&copy[4..]);
                copy[..4].copy_from_slice(&sum.to_le_bytes());
            }
            write(&disk, Area::UbootCopy(number as u8), 0, &copy);
        }
        let slot = boots(&disk).unwrap();
        flow(&disk, &Told::running(slot)).commit(slot).unwrap();
        prop_assert_eq!(boots(&disk), Some(slot));
    }

    /// Plausible states, odd ones among them.
    #[test]
    fn no_variables_keep_it_down_either(text in "(ab_seq=[0-9a-f]{1,17}\0)?(ab_order=[AB ]{0,5}\0)?(ab_left_A=[0-9a-fx]{0,4}\0)?(ab_left_B=[0-9a-f]{0,4}\0)?") {
        let disk = card();
        write(&disk, Area::UbootCopy(0), 0, &raw(&text));
        let slot = boots(&disk).unwrap();
        flow(&disk, &Told::running(slot)).commit(slot).unwrap();
        prop_assert_eq!(boots(&disk), Some(slot));
    }
}
