//! The flow of a Raspberry Pi 4 and newer: autoboot.txt in its sector; and what comes of it in the model of the bootloader.

use super::{Told, card, layout, read, write};
use ::update::{
    Slot,
    boot::{
        BootFlow, Tryboot,
        fat::make,
        tryboot::{Autoboot, TrybootFlag, canonical},
    },
    disk::{Area, Disk, Event, MemoryDisk},
    firmware::{Generation, Outcome, TrybootFirmware},
};
use base::error::ErrorCode;
use proptest::prelude::*;
use std::{
    io,
    sync::{Arc, Mutex},
};

fn flow(disk: &MemoryDisk, told: &Told, flag: Option<TrybootFlag>) -> Tryboot {
    Tryboot::new(Arc::new(disk.clone()), layout(), Arc::new(told.clone()), flag)
}

fn firmware(generation: Generation) -> TrybootFirmware {
    TrybootFirmware::new(layout(), generation)
}

/// Partition 1 with that autoboot.txt.
fn with(text: &[u8]) -> MemoryDisk {
    let disk = card();
    write(&disk, Area::Config, 0, &make(64 << 10, &[("autoboot.txt", text)]).unwrap());
    disk.take_events();
    disk
}

fn autoboot(disk: &dyn Disk) -> String {
    let image = read(disk, Area::Config);
    let at = image.windows(5).position(|bytes| bytes == b"[all]").unwrap();
    String::from_utf8_lossy(&image[at..at + 512]).trim_end_matches('\0').to_owned()
}

#[test]
fn a_trial_is_one_boot_and_a_commit_makes_it_all_of_them() {
    let (disk, told) = (card(), Told::running(Slot::A));
    let raised = Arc::new(Mutex::new(None));
    let chip = raised.clone();
    let flag: TrybootFlag = Arc::new(move |on| {
        *chip.lock().unwrap() = Some(on);
        Ok(())
    });
    let flow = flow(&disk, &told, Some(flag));
    assert_eq!((flow.name(), flow.trial_argument()), ("tryboot", None));
    let evidence = flow.evidence();
    assert_eq!((evidence.default, evidence.armed, evidence.faults.len()), (Some(Slot::A), Some(Slot::B), 0));

    flow.arm(Slot::B).unwrap();
    // It says so already: nothing is written.
    assert!(disk.take_events().is_empty());
    assert_eq!(raised.lock().unwrap().take(), Some(true));

    let mut board = firmware(Generation::Walks);
    board.flag = true;
    assert_eq!(board.boot(&disk), Outcome::Booted { slot: Slot::B, trial: true, wrote: 0 });
    // Nobody commits it.
    assert_eq!(board.boot(&disk), Outcome::Booted { slot: Slot::A, trial: false, wrote: 0 });
    flow.disarm().unwrap();
    assert_eq!(raised.lock().unwrap().take(), Some(false));

    board.flag = true;
    board.boot(&disk);
    told.say(|seen| (seen.trial, seen.booted) = (Some(true), Some(Slot::B)));
    flow.commit(Slot::B).unwrap();
    // Without a restart the flag is still told.
    let after = flow.evidence();
    assert_eq!((after.trial, after.default, after.armed), (Some(true), Some(Slot::B), Some(Slot::A)));
    assert_eq!(board.boot(&disk).slot(), Some(Slot::B));
    // A power cut takes an armed flag with it: armed, and not tried.
    board.flag = true;
    board.power_cut();
    assert_eq!(board.boot(&disk), Outcome::Booted { slot: Slot::B, trial: false, wrote: 0 });
}

#[test]
fn a_commit_writes_one_sector_once_and_only_two_of_its_bytes() {
    let (disk, told) = (card(), Told::running(Slot::B));
    let before = read(&disk, Area::Config);
    let flow = flow(&disk, &told, None);
    flow.commit(Slot::B).unwrap();
    flow.commit(Slot::B).unwrap();
    let events = disk.take_events();
    let [Event::Write { area: Area::Config, at, bytes }, Event::Flush] = &events[..] else {
        panic!("{} events", events.len())
    };
    assert_eq!((at % 512, bytes.len()), (0, 512));
    let after = read(&disk, Area::Config);
    let changed = before.iter().zip(&after).filter(|(before, after)| before != after).count();
    assert_eq!((changed, autoboot(&disk)), (2, canonical(3, 2)));
}

#[test]
fn where_the_kernel_has_no_mailbox_the_restart_has_to_be_told() {
    let (disk, told) = (card(), Told::running(Slot::A));
    assert_eq!(flow(&disk, &told, None).trial_argument(), Some("0 tryboot"));
}

#[test]
fn what_else_is_in_the_file_stays() {
    let text = "# ours\n[tryboot]\nboot_partition=3 # the other\n[all]\n tryboot_a_b=1\nboot_partition = 2\n";
    let (disk, told) = (with(text.as_bytes()), Told::running(Slot::B));
    let flow = flow(&disk, &told, None);
    assert_eq!(flow.evidence().default, Some(Slot::A));
    flow.commit(Slot::B).unwrap();
    let image = read(&disk, Area::Config);
    let expected = text.replace("=3 #", "=2 #").replace("= 2", "= 3");
    assert!(image.windows(text.len()).any(|bytes| bytes == expected.as_bytes()));
}

#[test]
fn a_file_that_says_something_else_is_told_and_written_anew_when_there_is_room() {
    let (running, long) = (Told::running(Slot::A), " ".repeat(100));
    for (text, fault) in [
        (String::new() + "[all]\nboot_partition=2\n[tryboot]\nboot_partition=3\n" + &long, "tryboot_a_b is not 1"),
        ("[all]\ntryboot_a_b=1\nboot_partition=9\n".to_owned() + &long, "partition 9 is no slot"),
        ("[all]\ntryboot_a_b=1\nboot_partition=2\nboot_partition=3\n".to_owned() + &long, "stands there twice"),
        ("[all]\ntryboot_a_b=1\nboot_partition=B\n".to_owned() + &long, "boot_partition=B is no partition"),
        ("[pi4]\ntryboot_a_b=1\nboot_partition=2\n".to_owned() + &long, "under a filter"),
        ("tryboot_a_b=1\n".to_owned() + &long, "no boot_partition under [all]"),
        ("\0".repeat(100), "it is no text"),
    ] {
        let disk = with(text.as_bytes());
        let flow = flow(&disk, &running, None);
        let evidence = flow.evidence();
        assert!(evidence.faults.iter().any(|said| said.contains(fault)), "{fault}: {:?}", evidence.faults);
        assert_eq!(evidence.armed.filter(|_| fault.contains("a_b")), None);
        flow.commit(Slot::A).unwrap();
        assert_eq!(autoboot(&disk).trim_end(), canonical(2, 3).trim_end(), "{fault}");
        assert_eq!(flow.evidence().faults, [""; 0]);
    }
}

#[test]
fn a_file_that_is_short_long_or_gone_is_refused_without_a_template() {
    for (text, why) in [
        (&b"[all]\n"[..], "it has 6 bytes where 64 are needed"),
        (&[b' '; 513], "it has 513 bytes, one sector has 512"),
        (b"", "it is empty"),
    ] {
        let disk = with(text);
        let error = flow(&disk, &Told::running(Slot::A), None).commit(Slot::A).unwrap_err();
        assert_eq!(error.code, ErrorCode::FailedPrecondition);
        assert!(error.message.contains(why) && error.hint.is_some(), "{}", error.message);
        assert!(disk.take_events().is_empty());
    }
    let disk = card();
    write(&disk, Area::Config, 0, &make(64 << 10, &[("other.txt", b"")]).unwrap());
    let error = flow(&disk, &Told::running(Slot::A), None).commit(Slot::A).unwrap_err();
    assert!(error.message.contains("it is not there"), "{}", error.message);
    write(&disk, Area::Config, 0, &[0xa5; 512]);
    let flow = flow(&disk, &Told::running(Slot::A), None);
    assert!(flow.commit(Slot::A).unwrap_err().message.contains("no FAT file system"));
    let evidence = flow.evidence();
    assert_eq!((evidence.default, evidence.armed), (None, None));
    assert!(evidence.faults[0].starts_with("autoboot.txt: "), "{:?}", evidence.faults);
}

#[test]
fn only_the_other_slot_is_armed_and_only_from_the_default() {
    let disk = card();
    let refuse = |told: &Told, target| {
        let error = flow(&disk, told, None).arm(target).unwrap_err();
        assert_eq!(error.code, ErrorCode::FailedPrecondition);
        error.into_message()
    };
    // The running one; while another one runs than the default; while nobody knows which.
    assert!(refuse(&Told::running(Slot::A), Slot::A).contains("slot A cannot be tried"));
    let walked = refuse(&Told::running(Slot::B), Slot::A);
    assert!(walked.contains("starts slot A, running is slot B"), "{walked}");
    assert!(refuse(&Told::default(), Slot::B).contains("none that is known"));
    // A bootloader that says it cannot.
    let old = Told::running(Slot::A);
    old.say(|seen| seen.can_try = Some(false));
    assert!(refuse(&old, Slot::B).contains("bootloader cannot try"));
    assert!(disk.take_events().is_empty());
}

#[test]
fn a_flag_that_the_firmware_does_not_take_is_an_error() {
    let disk = card();
    let flag: TrybootFlag = Arc::new(|_| Err(io::ErrorKind::Unsupported.into()));
    let error = flow(&disk, &Told::running(Slot::A), Some(flag)).arm(Slot::B).unwrap_err();
    assert!(error.code == ErrorCode::Unavailable && error.message.contains("tryboot flag"), "{}", error.message);
}

#[test]
fn a_card_that_fails_is_told_and_the_old_sector_holds() {
    for (writes, kind) in [(0, io::ErrorKind::ReadOnlyFilesystem), (0, io::ErrorKind::Other)] {
        let disk = card();
        disk.fail_after(writes, kind);
        let error = flow(&disk, &Told::running(Slot::B), None).commit(Slot::B).unwrap_err();
        assert_eq!(error.code, ErrorCode::Unavailable);
        assert_eq!(autoboot(&disk), canonical(2, 3));
    }
}

#[test]
fn a_torn_sector_starts_what_is_whole_and_the_running_slot_repairs_it_from_a_template() {
    let folder = tempfile::tempdir().unwrap();
    let template = folder.path().join("config.img");
    let text = canonical(2, 3) + "# factory\n";
    std::fs::write(&template, make(48 << 10, &[("config.txt", b""), ("autoboot.txt", text.as_bytes())]).unwrap())
        .unwrap();

    for generation in [Generation::Walks, Generation::FallsBack] {
        let disk = card();
        // Rule: an untried target has no head.
        write(&disk, Area::Boot(Slot::A), 0, &[0; 8192]);
        write(&disk, Area::Config, 0, &[0xa5; 64 << 10]);
        let outcome = firmware(generation).boot(&disk);
        match generation {
            Generation::Walks => assert_eq!(outcome.slot(), Some(Slot::B)),
            // Said in docs/boot.md: gate on the bootloader.
            Generation::FallsBack => assert_eq!(outcome.slot(), None),
        }
        disk.take_events();
        let flow = flow(&disk, &Told::running(Slot::B), None).with_template(Some(template.clone()));
        flow.commit(Slot::B).unwrap();
        assert_eq!(flow.evidence().default, Some(Slot::B));
        assert_eq!(firmware(generation).boot(&disk).slot(), Some(Slot::B));

        // Sector 0 is gone first and comes last, each with a flush of its own.
        let events = disk.take_events();
        let first = |event: &Event| matches!(event, Event::Write { at: 0, bytes, .. } if bytes.len() == 512);
        assert!(first(&events[0]) && events[1] == Event::Flush);
        assert!(first(&events[events.len() - 2]) && events[events.len() - 3] == Event::Flush);
        assert_eq!(events.iter().filter(|event| first(event)).count(), 2);
    }
}

#[test]
fn a_template_that_is_none_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("template");
    let good = make(48 << 10, &[("autoboot.txt", canonical(2, 3).as_bytes())]).unwrap();
    let short = make(48 << 10, &[("autoboot.txt", b"[all]")]).unwrap();
    let without = make(48 << 10, &[]).unwrap();
    let large = make(128 << 10, &[("autoboot.txt", canonical(2, 3).as_bytes())]).unwrap();
    for (content, why) in [
        (None, "No such file"),
        (Some(vec![]), "failed to fill"),
        (Some(vec![0; 48 << 10]), "no signature"),
        (Some(good[..1000].to_vec()), "it has 1000 bytes"),
        (Some(short), "where 64 are needed"),
        (Some(without), "it is not there"),
        (Some(large), "the partition has 65536"),
    ] {
        let _ = std::fs::remove_file(&path);
        if let Some(content) = &content {
            std::fs::write(&path, content).unwrap();
        }
        let disk = card();
        write(&disk, Area::Config, 0, &[0; 512]);
        disk.take_events();
        let flow = flow(&disk, &Told::running(Slot::A), None).with_template(Some(path.clone()));
        let error = flow.commit(Slot::A).unwrap_err();
        assert!(error.code == ErrorCode::FailedPrecondition && error.message.contains(why), "{why}: {}", error.message);
        assert!(disk.take_events().is_empty(), "{why}");
    }
}

#[test]
fn what_the_firmware_is_told_to_start_and_cannot_is_not_the_end() {
    let disk = card();
    write(&disk, Area::Boot(Slot::B), 0, &[0; 512]);
    let mut new = firmware(Generation::Walks);
    new.flag = true;
    // A trial of what cannot be started: the other one, and it knows that it is a trial.
    assert_eq!(new.boot(&disk), Outcome::Booted { slot: Slot::A, trial: true, wrote: 0 });
    write(&disk, Area::Boot(Slot::A), 0, &[0; 512]);
    let Outcome::Nothing(why) = new.boot(&disk) else { panic!("nothing is there") };
    assert!(why.contains("partition 2: boot A") && why.contains("partition 3: boot B"), "{why}");
}

proptest! {
    /// Anything in the file: read or refused, and what is written anew has its length and is read as meant.
    #[test]
    fn any_file_is_read_or_refused(file in proptest::collection::vec(any::<u8>(), 0..600)) {
        check(&file)?;
    }

    #[test]
    fn any_lines_are_read_or_refused(lines in proptest::collection::vec("(\\[(all|tryboot|pi4)?\\]?|tryboot_a_b=[01]?|boot_partition ?= ?[0-9]{0,3}|#.*|é)( #x)?", 0..12)) {
        check(lines.join("\n").as_bytes())?;
    }
}

fn check(file: &[u8]) -> Result<(), TestCaseError> {
    let _ = Autoboot::parse(file);
    if let Ok(new) = Autoboot::rewrite(file, 3, 2) {
        prop_assert_eq!(new.len(), file.len());
        if new.len() <= 512 {
            prop_assert_eq!(Autoboot::parse(&new), Ok(Autoboot { all: 3, tryboot: Some(2), a_b: true }));
        }
    }
    Ok(())
}
