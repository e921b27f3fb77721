//! Block devices by sysfs, in a tree of files: finding the card, and refusing what somebody else has.

use ::update::{
    Slot,
    disk::{Access, Area, BlockDevice, Disk, Layout, RealDisk, real::root_slot},
};
use base::{
    error::{ErrorCode, ToolError},
    os::Root,
};
use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

const MIB: u64 = 1 << 20;
const SIZES: [(u8, u64); 7] = [(1, 1), (2, 2), (3, 2), (5, 1), (6, 1), (7, 16), (8, 1)];

/// A machine with a card, running slot A.
pub struct Tree {
    folder: tempfile::TempDir,
}

impl Tree {
    pub fn new() -> Self {
        let tree = Self { folder: tempfile::tempdir().unwrap() };
        tree.disk("mmcblk0", "179", 0x7270_6d63);
        tree.mounted("22 1 179:5 / / ro - squashfs /dev/mmcblk0p5 ro\n");
        tree.put("proc/cmdline", "console=tty1 root=PARTUUID=72706d63-05 ro raspi_mcp.slot=A\n");
        tree.put("proc/sys/kernel/random/boot_id", "5d3f\n");
        tree
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    pub fn root(&self) -> Root {
        Root::at(self.folder.path())
    }

    pub fn put(&self, file: &str, content: impl AsRef<[u8]>) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn mounted(&self, lines: &str) {
        self.put("proc/1/mountinfo", lines);
    }

    /// A disk with all partitions of the layout; nodes are sparse files.
    pub fn disk(&self, name: &str, major: &str, signature: u32) {
        let mut table = [0; 512];
        table[440..444].copy_from_slice(&signature.to_le_bytes());
        for (slot, kind) in [0x0c, 0x0c, 0x0c, 0x0f].into_iter().enumerate() {
            table[446 + 16 * slot + 4] = kind;
        }
        table[510..].copy_from_slice(&[0x55, 0xaa]);
        self.put(&format!("dev/{name}"), table);
        self.sparse(&format!("dev/{name}"), 8 * MIB);
        self.put(&format!("sys/block/{name}/dev"), format!("{major}:0\n"));
        self.put(&format!("sys/block/{name}/queue/logical_block_size"), "512\n");
        let mut start = 8 * MIB;
        for (number, size) in SIZES {
            let part = format!("{name}p{number}");
            let about = |what: &str, value: String| self.put(&format!("sys/block/{name}/{part}/{what}"), value + "\n");
            about("partition", number.to_string());
            about("dev", format!("{major}:{number}"));
            about("start", (start / 512).to_string());
            about("size", (size * MIB / 512).to_string());
            start += size * MIB;
            self.sparse(&format!("dev/{part}"), size * MIB);
        }
    }

    fn sparse(&self, file: &str, size: u64) {
        let file = fs::File::options().write(true).create(true).truncate(false).open(self.path(file)).unwrap();
        file.set_len(size).unwrap();
    }

    pub fn card(&self) -> RealDisk {
        RealDisk::new(self.root(), Layout::shipped().unwrap())
    }

    fn open(&self, area: Area, access: Access) -> Result<Box<dyn BlockDevice>, ToolError> {
        self.card().open(area, access)
    }

    fn refused(&self, area: Area, access: Access) -> ToolError {
        self.open(area, access).err().unwrap_or_else(|| panic!("{area:?} was opened"))
    }
}

const TARGET: Area = Area::Root(Slot::B);

#[test]
fn every_area_is_where_the_layout_says() {
    let tree = Tree::new();
    for (area, size) in [
        (Area::Config, MIB),
        (Area::Boot(Slot::A), 2 * MIB),
        (Area::Boot(Slot::B), 2 * MIB),
        (Area::Root(Slot::A), MIB),
        (TARGET, MIB),
        (Area::AgentState, 16 * MIB),
        (Area::Data, MIB),
        (Area::UbootCopy(0), 512),
        (Area::UbootCopy(1), 512),
    ] {
        assert_eq!(tree.open(area, Access::Read).unwrap().size(), size, "{area:?}");
    }
    assert_eq!(tree.refused(Area::UbootCopy(2), Access::Read).code, ErrorCode::CapabilityMissing);
    assert_eq!(tree.card().card().unwrap().root, Some(Slot::A));
    // A copy of U-Boot's state is a sector of the disk, and nothing else of the disk.
    let copy = tree.open(Area::UbootCopy(1), Access::Shared).unwrap();
    copy.write(0, &[0x5a; 512]).unwrap();
    copy.flush().unwrap();
    assert_eq!(copy.write(512, &[0; 512]).unwrap_err().kind(), ErrorKind::InvalidInput);
    let disk = fs::read(tree.path("dev/mmcblk0")).unwrap();
    let changed: Vec<usize> = (512..disk.len()).filter(|at| disk[*at] != 0).collect();
    assert_eq!((changed[0] as u64, changed.len()), (5 * MIB, 512));
}

#[test]
fn what_is_written_is_read_back_in_pieces_of_any_size() {
    let tree = Tree::new();
    let pattern: Vec<u8> = (0..700 * 1024_u32).map(|at| (at / 512 % 251) as u8).collect();
    for (area, access) in [(Area::AgentState, Access::Shared), (TARGET, Access::Exclusive)] {
        let device = tree.open(area, access).unwrap();
        device.write(512, &pattern).unwrap();
        device.flush().unwrap();
        for (at, length) in [(512, pattern.len()), (513, 1), (1000, 4097), (600_000, 100_000), (0, 512)] {
            let (mut read, mut back) = (vec![0; length], vec![1; length]);
            device.read(at, &mut read).unwrap();
            device.read_back(at, &mut back).unwrap();
            assert!(read == back, "{length} bytes at {at}");
            let at = at as usize;
            assert!(at < 512 || read == pattern[at - 512..at - 512 + length]);
        }
        for (at, length) in [(1, 512), (0, 511), (0, 0x20_0000_0000_usize)] {
            let bytes = vec![0; length.min(4096)];
            let at = if length > 4096 { u64::MAX - 511 } else { at };
            assert_eq!(device.write(at, &bytes).unwrap_err().kind(), ErrorKind::InvalidInput);
        }
    }
    let looks = tree.open(Area::AgentState, Access::Read).unwrap();
    assert_eq!(looks.write(0, &[0; 512]).unwrap_err().kind(), ErrorKind::PermissionDenied);
}

#[test]
fn a_disk_with_blocks_of_4096_bytes_takes_whole_ones() {
    let tree = Tree::new();
    tree.put("sys/block/mmcblk0/queue/logical_block_size", "4096\n");
    let device = tree.open(Area::AgentState, Access::Shared).unwrap();
    let error = device.write(512, &[0; 512]).unwrap_err();
    assert!(error.to_string().contains("no whole blocks of 4096"), "{error}");
    device.write(4096, &[3; 4096]).unwrap();
    let mut back = [0; 5];
    device.read_back(8190, &mut back).unwrap();
    assert_eq!(back, [3, 3, 0, 0, 0]);
}

#[test]
fn step_1_the_active_slot_is_refused() {
    for slot in [Area::Root(Slot::A), Area::Boot(Slot::A)] {
        let error = Tree::new().refused(slot, Access::Exclusive);
        assert_eq!(error.code, ErrorCode::Conflict);
    }
    let error = Tree::new().refused(Area::Boot(Slot::A), Access::Exclusive);
    assert!(error.message.contains("slot A is running"), "{}", error.message);
    // An overlay tells nothing, the kernel's command line does; and each word alone is enough.
    for line in ["root=PARTUUID=72706D63-06", "root=/dev/ram0 raspi_mcp.slot=B"] {
        let tree = Tree::new();
        tree.mounted("22 1 0:30 / / rw - overlay overlay rw\n");
        tree.put("proc/cmdline", line);
        assert!(tree.refused(Area::Boot(Slot::B), Access::Exclusive).message.contains("slot B is running"));
        assert!(tree.open(Area::Boot(Slot::A), Access::Exclusive).is_ok());
    }
    let tree = Tree::new();
    tree.put("proc/device-tree/chosen/bootloader/partition", 3_u32.to_be_bytes());
    assert!(tree.refused(Area::Boot(Slot::B), Access::Exclusive).message.contains("slot B is running"));
}

#[test]
fn step_1_what_is_mounted_is_refused_with_the_place() {
    let tree = Tree::new();
    tree.mounted("22 1 179:5 / / ro - squashfs /dev/root ro\n30 22 179:6 / /media/pi/root\\040B rw - ext4 /dev/x rw\n");
    let error = tree.refused(TARGET, Access::Exclusive);
    assert_eq!(error.code, ErrorCode::Conflict);
    assert_eq!(error.message, "root B (mmcblk0p6) is mounted read-write at /media/pi/root B");
    assert_eq!((error.details["area"].as_str(), error.details["device"].as_str()), (Some("root B"), Some("mmcblk0p6")));
    assert!(error.hint.as_ref().unwrap().contains("automounter"));
    // Read-only is in the way of an update, not of a sector of partition 1.
    tree.mounted("22 1 179:5 / / ro - squashfs /dev/root ro\n31 22 179:1 / /boot ro - vfat /dev/x ro\n");
    assert!(tree.open(Area::Config, Access::Shared).is_ok());
    assert!(tree.refused(Area::Config, Access::Exclusive).message.contains("is mounted at /boot"));
    // Rule 11: never while a file system writes there as well.
    tree.mounted("22 1 179:5 / / ro - squashfs /dev/root ro\n31 22 179:1 / /boot ro - vfat /dev/x rw\n");
    assert!(tree.refused(Area::Config, Access::Shared).message.contains("read-write at /boot"));
    assert!(tree.open(Area::Config, Access::Read).is_ok());
    // Nobody says what is mounted: then nothing is written.
    fs::remove_file(tree.path("proc/1/mountinfo")).unwrap();
    assert_eq!(tree.refused(TARGET, Access::Exclusive).code, ErrorCode::Unavailable);
}

#[test]
fn step_1_who_else_has_it_is_named() {
    let tree = Tree::new();
    tree.put("sys/block/dm-3/dev", "254:3\n");
    tree.put("sys/block/dm-3/dm/name", "verity-b\n");
    fs::create_dir_all(tree.path("sys/block/mmcblk0/mmcblk0p6/holders/dm-3")).unwrap();
    let error = tree.refused(TARGET, Access::Exclusive);
    assert!(
        error.code == ErrorCode::Conflict && error.message.ends_with("in use by dm-3 (verity-b)"),
        "{}",
        error.message
    );

    let tree = Tree::new();
    tree.put("proc/swaps", "Filename Type Size Used Priority\n/dev/mmcblk0p6 partition 1 0 -2\n");
    assert!(tree.refused(TARGET, Access::Exclusive).message.ends_with("in use by swap"));

    let tree = Tree::new();
    let _first = tree.open(TARGET, Access::Exclusive).unwrap();
    assert_eq!(tree.refused(TARGET, Access::Exclusive).code, ErrorCode::Conflict);
}

#[test]
fn step_1_what_is_missing_a_symlink_or_no_device_is_refused_and_nothing_is_made() {
    let tree = Tree::new();
    let node = tree.path("dev/mmcblk0p6");
    let elsewhere = tree.path("elsewhere");
    fs::write(&elsewhere, vec![0; MIB as usize]).unwrap();
    fs::remove_file(&node).unwrap();
    assert_eq!(tree.refused(TARGET, Access::Exclusive).code, ErrorCode::CapabilityMissing);
    assert!(!node.exists());
    std::os::unix::fs::symlink(&elsewhere, &node).unwrap();
    let error = tree.refused(TARGET, Access::Exclusive);
    assert!(
        error.code == ErrorCode::FailedPrecondition && error.message.contains("symbolic link"),
        "{}",
        error.message
    );
    fs::remove_file(&node).unwrap();
    fs::create_dir(&node).unwrap();
    assert!(tree.open(TARGET, Access::Exclusive).is_err());
    fs::remove_dir(&node).unwrap();
    rustix_fifo(&node);
    let error = tree.refused(TARGET, Access::Exclusive);
    assert!(error.message.contains("is not the block device 179:6"), "{}", error.message);
}

/// A pipe with a name, by the program everybody has.
fn rustix_fifo(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_machine_without_such_a_card_says_so() {
    let tree = Tree::new();
    tree.disk("mmcblk0", "179", 0x1234_5678);
    let error = tree.refused(TARGET, Access::Read);
    assert_eq!(error.code, ErrorCode::CapabilityMissing);
    assert!(error.message.contains("mbr-ab-1 (signature 72706d63)") && error.hint.is_some(), "{}", error.message);
    fs::remove_dir_all(tree.path("sys/block")).unwrap();
    assert_eq!(tree.refused(TARGET, Access::Read).code, ErrorCode::Unavailable);
}

#[test]
fn a_card_that_is_laid_out_otherwise_says_what_is_wrong() {
    type Change = fn(&Tree);
    let cases: [(Change, &str); 5] = [
        (|tree| fs::remove_dir_all(tree.path("sys/block/mmcblk0/mmcblk0p7")).unwrap(), "no partition 7 (agent state)"),
        (
            |tree| tree.put("sys/block/mmcblk0/mmcblk0p7/size", "2048\n"),
            "partition 7 has 1048576 bytes, the layout wants 16777216",
        ),
        (|tree| tree.put("sys/block/mmcblk0/mmcblk0p1/start", "8192\n"), "partition 1 begins at byte 4194304"),
        (
            |tree| {
                let mut table = fs::read(tree.path("dev/mmcblk0")).unwrap();
                table[446 + 16 + 4] = 0x83;
                tree.put("dev/mmcblk0", table);
            },
            "partition 2 has type 83, the layout 0c",
        ),
        (|tree| tree.put("sys/block/mmcblk0/mmcblk0p3/size", "many\n"), "whole number"),
    ];
    for (change, why) in cases {
        let tree = Tree::new();
        change(&tree);
        let error = tree.refused(TARGET, Access::Read);
        assert_eq!(error.code, ErrorCode::FailedPrecondition);
        assert!(error.message.contains("mmcblk0: ") && error.message.contains(why), "{why}: {}", error.message);
    }
}

#[test]
fn a_copy_of_the_card_in_a_reader_is_not_taken_for_the_card() {
    let tree = Tree::new();
    tree.disk("mmcblk1", "180", 0x7270_6d63);
    tree.disk("loop7", "7", 0x0000_0001);
    assert_eq!(tree.card().card().unwrap().disk.name, "mmcblk0");
    tree.mounted("22 1 180:6 / / ro - squashfs /dev/root ro\n");
    let card = tree.card().card().unwrap();
    assert_eq!((card.disk.name.as_str(), card.root), ("mmcblk1", Some(Slot::B)));
    tree.mounted("22 1 0:30 / / ro - overlay overlay ro\n");
    let error = tree.refused(TARGET, Access::Exclusive);
    assert!(error.code == ErrorCode::Conflict && error.message.contains("more than one disk"), "{}", error.message);
}

#[test]
fn the_root_is_found_below_verity_and_beside_an_overlay() {
    let (tree, layout) = (Tree::new(), Layout::shipped().unwrap());
    tree.put("sys/block/dm-0/dev", "254:0\n");
    fs::create_dir_all(tree.path("sys/block/dm-0/slaves/mmcblk0p6")).unwrap();
    tree.put("proc/cmdline", "quiet\n");
    tree.mounted("22 1 254:0 / / ro - erofs /dev/mapper/root ro\n");
    assert_eq!(root_slot(&tree.root(), &layout), Ok(Slot::B));
    // Verity upon verity, in a ring: an end all the same.
    fs::create_dir_all(tree.path("sys/block/dm-0/slaves/dm-0")).unwrap();
    assert_eq!(root_slot(&tree.root(), &layout), Ok(Slot::B));
    tree.mounted("22 1 0:30 / / rw - overlay overlay rw\n23 22 254:0 / /run/lower ro - erofs /dev/mapper/root ro\n");
    assert_eq!(root_slot(&tree.root(), &layout), Ok(Slot::B));
    tree.mounted("22 1 0:30 / / rw - tmpfs tmpfs rw\n");
    assert!(root_slot(&tree.root(), &layout).unwrap_err().contains("belongs to no slot"));
}
