//! The simulated machine: a folder of files, restarted by the models of the firmware.

use super::{BOOT, ROOT, layout, read, write};
use ::update::{
    Slot,
    boot::{BootFlow, ResetCause},
    disk::{Area, FolderDisk},
    simulated::{RestartableBoard, SimulatedBootChain, SimulatedFlow, areas, boot_image, factory},
};
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

fn machine(folder: &std::path::Path, chain: SimulatedBootChain) -> (FolderDisk, SimulatedFlow) {
    let disk = FolderDisk::create(folder, areas(BOOT as u64, ROOT as u64)).unwrap();
    factory(&disk, &layout(), &boot_image(BOOT, "1.0.0").unwrap(), &[1; ROOT]).unwrap();
    (disk.clone(), switched_on(disk, chain))
}

fn switched_on(disk: FolderDisk, chain: SimulatedBootChain) -> SimulatedFlow {
    let count = AtomicU32::new(0);
    let ids = Box::new(move || format!("boot-{}", count.fetch_add(1, Ordering::Relaxed)));
    SimulatedFlow::new(RestartableBoard::power_on(Arc::new(disk), layout(), chain, ids), layout())
}

#[test]
fn it_tries_commits_and_falls_back_as_a_real_one_does() {
    for chain in [SimulatedBootChain::Tryboot, SimulatedBootChain::Uboot] {
        let folder = tempfile::tempdir().unwrap();
        let (disk, flow) = machine(folder.path(), chain);
        assert_eq!((flow.name(), flow.trial_argument()), ("simulated", None));
        let first = flow.evidence();
        assert_eq!(
            (first.running(), first.default, first.trial),
            (Some(Slot::A), Some(Slot::A), Some(false)),
            "{chain:?}"
        );
        assert_eq!((first.boot_id.as_deref(), first.reset), (Some("boot-0"), Some(ResetCause::PowerOn)));
        assert_eq!(first.faults, [""; 0]);

        // Tried, and not committed.
        flow.arm(Slot::B).unwrap();
        flow.board.restart(ResetCause::Restart);
        let trial = flow.evidence();
        assert_eq!(
            (trial.running(), trial.trial, trial.boot_id.as_deref()),
            (Some(Slot::B), Some(true), Some("boot-1"))
        );
        assert_eq!((trial.default, trial.armed), (Some(Slot::A), Some(Slot::B)));
        flow.board.restart(ResetCause::Watchdog);
        let back = flow.evidence();
        assert_eq!((back.running(), back.trial, back.reset), (Some(Slot::A), Some(false), Some(ResetCause::Watchdog)));
        flow.disarm().unwrap();

        // Tried, and committed; it stays through a power cut.
        flow.arm(Slot::B).unwrap();
        flow.board.restart(ResetCause::Restart);
        flow.commit(Slot::B).unwrap();
        let again = switched_on(disk.clone(), chain).evidence();
        assert_eq!((again.running(), again.default), (Some(Slot::B), Some(Slot::B)), "{chain:?}");

        // Its boot files rot: the other one, and nobody asked for it.
        write(&disk, Area::Boot(Slot::B), 0, &[0xa5; 4096]);
        flow.board.restart(ResetCause::PowerOn);
        assert_eq!(flow.evidence().running(), Some(Slot::A));
        // Both do: it says so.
        write(&disk, Area::Boot(Slot::A), 0, &[0; 4096]);
        flow.board.restart(ResetCause::PowerOn);
        let dead = flow.evidence();
        assert_eq!(dead.running(), None);
        assert!(dead.faults[0].contains("does not start"), "{:?}", dead.faults);
    }
}

#[test]
fn what_is_in_the_folder_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (disk, _) = machine(folder.path(), SimulatedBootChain::Tryboot);
    write(&disk, Area::Root(Slot::B), 0, b"mine");
    let again = FolderDisk::create(folder.path(), areas(BOOT as u64, ROOT as u64)).unwrap();
    assert!(read(&again, Area::Root(Slot::B)).starts_with(b"mine"));
}

#[test]
fn two_versions_have_two_images() {
    assert_ne!(boot_image(BOOT, "1.0.0").unwrap(), boot_image(BOOT, "2.0.0").unwrap());
    assert!(boot_image(1024, "1.0.0").unwrap_err().message.contains("1024 bytes"));
}
