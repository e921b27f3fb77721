//! A folder of files as a card.

use ::update::{
    Slot,
    disk::{Access, Area, Disk, FolderDisk},
};
use base::error::ErrorCode;
use std::{fs, io::ErrorKind, os::unix::fs::PermissionsExt};

const BOOT: Area = Area::Boot(Slot::A);

#[test]
fn what_is_written_is_there_and_outside_of_it_is_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let disk = FolderDisk::create(folder.path().join("card"), [(BOOT, 8192), (Area::UbootCopy(1), 512)]).unwrap();
    assert!(disk.path(Area::UbootCopy(1)).ends_with("u-boot-state-2.img"));
    assert_eq!(fs::metadata(disk.path(BOOT)).unwrap().permissions().mode() & 0o777, 0o600);
    let device = disk.open(BOOT, Access::Exclusive).unwrap();
    assert_eq!(device.size(), 8192);
    device.write(4096, &[7; 512]).unwrap();
    device.flush().unwrap();
    let (mut bytes, mut back) = ([0; 513], [0; 513]);
    device.read(4096, &mut bytes).unwrap();
    device.read_back(4096, &mut back).unwrap();
    assert!(bytes == back && bytes[..512] == [7; 512] && bytes[512] == 0);
    for (at, length) in [(8192, 1), (7681, 512), (u64::MAX, 512)] {
        assert_eq!(device.write(at, &vec![1; length]).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(device.read(at, &mut vec![1; length]).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
    assert_eq!(fs::metadata(disk.path(BOOT)).unwrap().len(), 8192);
}

#[test]
fn one_has_it_alone_and_others_may_look() {
    let folder = tempfile::tempdir().unwrap();
    let disk = FolderDisk::create(folder.path(), [(BOOT, 8192)]).unwrap();
    let alone = disk.open(BOOT, Access::Exclusive).unwrap();
    assert_eq!(disk.open(BOOT, Access::Exclusive).err().unwrap().code, ErrorCode::Conflict);
    let looks = disk.open(BOOT, Access::Read).unwrap();
    assert_eq!(looks.write(0, &[1; 512]).unwrap_err().kind(), ErrorKind::PermissionDenied);
    assert!(disk.open(BOOT, Access::Shared).is_ok());
    drop(alone);
    assert!(disk.open(BOOT, Access::Exclusive).is_ok());
}

#[test]
fn what_is_missing_or_no_file_is_refused_and_nothing_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let disk = FolderDisk::at(folder.path());
    let code = |disk: &FolderDisk| disk.open(BOOT, Access::Exclusive).err().unwrap().code;
    assert_eq!(code(&disk), ErrorCode::CapabilityMissing);
    std::os::unix::fs::symlink("/etc/hostname", disk.path(BOOT)).unwrap();
    assert_eq!(code(&disk), ErrorCode::FailedPrecondition);
    fs::remove_file(disk.path(BOOT)).unwrap();
    fs::create_dir(disk.path(BOOT)).unwrap();
    assert!(matches!(code(&disk), ErrorCode::FailedPrecondition | ErrorCode::Unavailable));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
