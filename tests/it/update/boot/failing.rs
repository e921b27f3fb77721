//! Cards that fail: reads that end in EIO, writes that are taken and lost.

use super::{Told, card, layout, read, write};
use ::update::{
    Slot,
    boot::{
        BootFlow, Tryboot, Uboot, erase,
        fat::make,
        tryboot::{canonical, restore},
    },
    disk::{Access, Area, BlockDevice, Disk, MemoryDisk},
};
use base::error::{ErrorCode, ToolError};
use std::{io, sync::Arc};

#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// Every read is EIO.
    Unreadable,
    /// Writes succeed and change nothing.
    Forgets,
}

#[derive(Clone)]
struct Failing(MemoryDisk, Way);

struct Opened(Box<dyn BlockDevice>, Way);

impl Disk for Failing {
    fn open(&self, area: Area, access: Access) -> Result<Box<dyn BlockDevice>, ToolError> {
        Ok(Box::new(Opened(self.0.open(area, access)?, self.1)))
    }
}

impl BlockDevice for Opened {
    fn size(&self) -> u64 {
        self.0.size()
    }
    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        if self.1 == Way::Unreadable { Err(io::Error::from_raw_os_error(5)) } else { self.0.read(at, into) }
    }
    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        if self.1 == Way::Forgets { Ok(()) } else { self.0.write(at, bytes) }
    }
    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }
    fn read_back(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.read(at, into)
    }
}

fn flows(way: Way, told: &Told) -> [Box<dyn BootFlow>; 2] {
    let disk = Arc::new(Failing(card(), way));
    let told = Arc::new(told.clone());
    [Box::new(Uboot::new(disk.clone(), told.clone())), Box::new(Tryboot::new(disk, layout(), told, None))]
}

#[test]
fn eio_is_told_in_the_evidence_and_refuses_every_change() {
    for flow in flows(Way::Unreadable, &Told::running(Slot::A)) {
        let evidence = flow.evidence();
        assert_eq!((evidence.default, evidence.armed, evidence.booted), (None, None, Some(Slot::A)));
        assert!(evidence.faults[0].contains("Input/output error"), "{:?}", evidence.faults);
        for change in [flow.arm(Slot::B), flow.commit(Slot::A)] {
            let error = change.unwrap_err();
            assert!(error.code == ErrorCode::Unavailable && error.hint.is_some(), "{}: {}", flow.name(), error.message);
        }
    }
}

#[test]
fn a_card_that_forgets_what_it_took_is_found_out() {
    for flow in flows(Way::Forgets, &Told::running(Slot::B)) {
        let error = flow.commit(Slot::B).unwrap_err();
        assert_eq!(error.code, ErrorCode::VerificationFailed, "{}: {}", flow.name(), error.message);
    }
    let folder = tempfile::tempdir().unwrap();
    let template = folder.path().join("config.img");
    std::fs::write(&template, make(48 << 10, &[("autoboot.txt", canonical(2, 3).as_bytes())]).unwrap()).unwrap();
    let disk = Failing(card(), Way::Forgets);
    write(&disk.0, Area::Config, 0, &[0; 512]);
    assert_eq!(restore(&disk, &template, &canonical(3, 2)).unwrap_err().code, ErrorCode::VerificationFailed);
}

/// Rule 11: a provisioning file is erased where it is.
#[test]
fn a_file_of_partition_1_is_erased_in_place() {
    let disk = card();
    let secret = b"password=hunter2\n".repeat(100);
    let files: [(&str, &[u8]); 3] = [("a.txt", b"before"), ("claim.txt", &secret), ("z.txt", b"after")];
    let image = make(64 << 10, &files).unwrap();
    write(&disk, Area::Config, 0, &image);
    assert_eq!(erase(&disk, "none.txt"), Ok(None));
    assert_eq!(erase(&disk, "CLAIM.txt"), Ok(Some(secret.len() as u64)));
    let after = read(&disk, Area::Config);
    assert!(!after.windows(7).any(|bytes| bytes == b"hunter2"));
    for kept in [&b"before"[..], b"after", b"CLAIM   TXT"] {
        assert!(after.windows(kept.len()).any(|bytes| bytes == kept));
    }
    // Only its own sectors.
    let changed: Vec<usize> = (0..image.len()).filter(|at| image[*at] != after[*at]).collect();
    assert_eq!((changed.len(), changed[changed.len() - 1] - changed[0] + 1), (secret.len(), secret.len()));

    let forgetful = Failing(card(), Way::Forgets);
    write(&forgetful.0, Area::Config, 0, &image);
    assert_eq!(erase(&forgetful, "claim.txt").unwrap_err().code, ErrorCode::VerificationFailed);
    // A chain that breaks: what could be reached is erased, and the rest is told.
    let mut broken = image.clone();
    broken[512 + 6..512 + 9].fill(0);
    write(&disk, Area::Config, 0, &broken);
    let error = erase(&disk, "claim.txt").unwrap_err();
    assert!(error.code == ErrorCode::FailedPrecondition && error.message.contains("too early"), "{}", error.message);
    write(&disk, Area::Config, 0, &[0; 512]);
    assert_eq!(erase(&disk, "claim.txt").unwrap_err().code, ErrorCode::FailedPrecondition);
}
