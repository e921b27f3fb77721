//! The FAT reader: every kind, long names, and whatever somebody wrote there.

use ::update::{
    boot::{
        LONGEST_HEAD,
        fat::{Fat, FatType, make},
        head_of_image, head_to_zero,
    },
    disk::{Access, Area, BlockDevice, Disk, MemoryDisk},
};
use proptest::prelude::*;
use std::collections::BTreeMap;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

pub fn device(image: &[u8]) -> Box<dyn BlockDevice> {
    let areas = BTreeMap::from([(Area::Config, image.to_vec())]);
    MemoryDisk::of(areas).open(Area::Config, Access::Shared).unwrap()
}

fn text(image: &[u8], name: &str) -> Option<Vec<u8>> {
    let device = device(image);
    let fat = Fat::of(&*device).unwrap();
    let entry = fat.find(&*device, name).unwrap()?;
    Some(fat.text(&*device, &entry).unwrap())
}

/// A FAT32 by hand: 512-byte clusters, the root in cluster 2, `autoboot.txt` in clusters 5 and 4, in that order.
pub fn fat32() -> Vec<u8> {
    let (sectors, fat, reserved) = (70_000_usize, 550_usize, 32_usize);
    let mut image = vec![0; sectors * 512];
    let mut put = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
    put(11, &512_u16.to_le_bytes());
    put(13, &[1]);
    put(14, &32_u16.to_le_bytes());
    put(16, &[2]);
    put(32, &70_000_u32.to_le_bytes());
    put(36, &550_u32.to_le_bytes());
    put(44, &2_u32.to_le_bytes());
    put(510, &[0x55, 0xaa]);
    let end = 0x0fff_ffff_u32;
    for (cluster, next) in [(2, 3), (3, end), (4, end), (5, 4)] {
        put(reserved * 512 + cluster * 4, &next.to_le_bytes());
    }
    let place = |cluster: usize| (reserved + 2 * fat + cluster - 2) * 512;
    // The first cluster of the directory is full of what is deleted; the file is in the second one.
    for entry in 0..16 {
        put(place(2) + entry * 32, &[0xe5]);
    }
    put(place(3), b"AUTOBOOTTXT\x20");
    put(place(3) + 26, &5_u16.to_le_bytes());
    put(place(3) + 28, &600_u32.to_le_bytes());
    put(place(5), &[b'a'; 512]);
    put(place(4), &[b'b'; 512]);
    image
}

#[test]
fn what_was_made_is_read_in_each_kind() {
    let long = vec![7; 3000];
    for (size, kind) in [
        (32 * KIB, FatType::Fat12),
        (MIB, FatType::Fat12),
        (4150 * 512, FatType::Fat12),
        (3 * MIB, FatType::Fat16),
        (64 * MIB, FatType::Fat16),
    ] {
        let image = make(size, &[("autoboot.txt", b"[all]\n"), ("empty", b""), ("Image", &long)]).unwrap();
        assert_eq!(image.len(), size);
        assert_eq!(Fat::of(&*device(&image)).unwrap().kind, kind, "{size}");
        assert_eq!(text(&image, "autoboot.txt").as_deref(), Some(&b"[all]\n"[..]));
        assert_eq!(text(&image, "IMAGE").as_deref(), Some(&long[..]));
        assert_eq!(text(&image, "empty").as_deref(), Some(&b""[..]));
        assert_eq!(text(&image, "other"), None);
    }
    let image = fat32();
    assert_eq!(Fat::of(&*device(&image)).unwrap().kind, FatType::Fat32);
    assert_eq!(text(&image, "autoboot.txt"), Some([[b'a'; 512].as_slice(), &[b'b'; 88]].concat()));
}

#[test]
fn a_file_that_does_not_fit_or_has_a_long_name_is_refused() {
    assert!(make(32 * KIB, &[("big", &vec![0; 32 * KIB])]).unwrap_err().0.contains("big does not fit"));
    assert!(make(32 * KIB, &[("kernel_2712.img", b"")]).unwrap_err().0.contains("no 8.3 name"));
    assert!(make(1024, &[]).unwrap_err().0.contains("too few"));
}

#[test]
fn a_long_name_is_found_only_whole_and_with_its_own_short_entry() {
    let mut image = make(64 * KIB, &[("a", b""), ("b", b""), ("KERNEL~1.IMG", b"kernel")]).unwrap();
    let root = image.windows(11).position(|bytes| bytes == b"KERNEL~1IMG").unwrap() - 64;
    let sum = b"KERNEL~1IMG".iter().fold(0_u8, |sum, byte| sum.rotate_right(1).wrapping_add(*byte));
    let name: Vec<u16> = "kernel_2712.img".encode_utf16().chain([0]).collect();
    for (place, (number, part)) in [(0x42, &name[13..]), (1, &name[..13])].into_iter().enumerate() {
        let mut entry = [0xff; 32];
        (entry[0], entry[11], entry[12], entry[13]) = (number, 0x0f, 0, sum);
        entry[26..28].fill(0);
        let places = (1..11).step_by(2).chain((14..26).step_by(2)).chain((28..32).step_by(2));
        for (unit, at) in part.iter().zip(places) {
            entry[at..at + 2].copy_from_slice(&unit.to_le_bytes());
        }
        image[root + place * 32..][..32].copy_from_slice(&entry);
    }
    assert_eq!(text(&image, "Kernel_2712.img").as_deref(), Some(&b"kernel"[..]));
    assert_eq!(text(&image, "kernel~1.img").as_deref(), Some(&b"kernel"[..]));
    assert_eq!(text(&image, "kernel_2712.imG2"), None);
    // The short entry was replaced by somebody who knows no long names: the name is not its own any more.
    image[root + 64] = b'X';
    assert_eq!(text(&image, "kernel_2712.img"), None);
}

#[test]
fn numbers_that_do_not_fit_together_are_refused_with_the_reason() {
    let good = make(MIB, &[("autoboot.txt", b"x")]).unwrap();
    let refused = |at: usize, bytes: &[u8]| {
        let mut image = good.clone();
        image[at..at + bytes.len()].copy_from_slice(bytes);
        Fat::of(&*device(&image)).unwrap_err().to_string()
    };
    for (at, bytes, why) in [
        (510, &[0, 0][..], "no signature"),
        (11, &[0, 0], "sectors of 0 bytes"),
        (11, &[0, 1], "sectors of 256 bytes"),
        (11, &[0, 0x20], "sectors of 8192 bytes"),
        (13, &[0], "0 sectors a cluster"),
        (13, &[3], "3 sectors a cluster"),
        (14, &[0, 0], "0 reserved sectors"),
        (16, &[0], "0 FATs"),
        (16, &[9], "9 FATs"),
        (17, &[0, 0], "no root directory"),
        (19, &[0xff, 0xff], "65535 sectors of 512 bytes, the area has 1048576"),
        (19, &[10, 0], "no room for data"),
        (22, &[0xff, 0xff], "no room for data"),
        (22, &[1, 0], "do not fit into its FAT"),
    ] {
        let said = refused(at, bytes);
        assert!(said.contains(why), "{at}: {said}");
    }
}

#[test]
fn a_chain_that_breaks_or_bites_its_tail_ends() {
    let content = vec![1; 2048];
    let good = make(3 * MIB, &[("autoboot.txt", &content)]).unwrap();
    let broken = |cluster: usize, next: u16| {
        let mut image = good.clone();
        image[512 + cluster * 2..][..2].copy_from_slice(&next.to_le_bytes());
        let device = device(&image);
        let fat = Fat::of(&*device).unwrap();
        let entry = fat.find(&*device, "autoboot.txt").unwrap().unwrap();
        (fat.text(&*device, &entry).map_err(|fault| fault.to_string()), fat.whole(&*device, &entry).is_ok())
    };
    for next in [0, 1, 0xfff7, 0xffff, 0xfff0] {
        let (text, whole) = broken(3, next);
        assert!(text.unwrap_err().contains("1024 bytes too early") && !whole, "{next}");
    }
    // Back to its first cluster: as many bytes as it says, and no more.
    assert_eq!(broken(3, 2).0.unwrap().len(), 2048);
    let mut huge = good.clone();
    let entry = huge.windows(11).position(|bytes| bytes == b"AUTOBOOTTXT").unwrap();
    huge[512 + 2 * 2..][..2].copy_from_slice(&2_u16.to_le_bytes());
    huge[entry + 28..][..4].copy_from_slice(&u32::MAX.to_le_bytes());
    let device = device(&huge);
    let fat = Fat::of(&*device).unwrap();
    let entry = fat.find(&*device, "autoboot.txt").unwrap().unwrap();
    assert!(fat.text(&*device, &entry).unwrap_err().to_string().contains("64 KiB is the most"));
    assert!(fat.whole(&*device, &entry).unwrap_err().to_string().contains("too early"));
}

#[test]
fn a_directory_that_bites_its_tail_ends_without_the_file() {
    let mut image = fat32();
    image[32 * 512 + 3 * 4..][..4].copy_from_slice(&2_u32.to_le_bytes());
    assert_eq!(text(&image, "other"), None);
    // A root that is nowhere.
    image[44..48].copy_from_slice(&0_u32.to_le_bytes());
    let device = device(&image);
    let fault = Fat::of(&*device).unwrap().find(&*device, "autoboot.txt").unwrap_err();
    assert!(fault.to_string().contains("cluster 0 is none of"), "{fault}");
}

#[test]
fn the_head_is_all_that_leads_to_a_file() {
    let image = make(MIB, &[("autoboot.txt", b"x")]).unwrap();
    let first = image.first_chunk().unwrap();
    let head = head_of_image(first, image.len() as u64).unwrap();
    assert_eq!(head, 512 + 2 * 7 * 512);
    assert_eq!(head_to_zero(first, MIB as u64), head);
    // FAT32's copy of the first sector is inside.
    assert_eq!(head_of_image(fat32().first_chunk().unwrap(), 70_000 * 512).unwrap(), (32 + 2 * 550) * 512);
    // Garbage: refused as an image, and zeroed as far as any head goes.
    let refused = head_of_image(&[0; 512], MIB as u64).unwrap_err();
    assert!(refused.message.contains("no signature") && refused.hint.is_some());
    assert_eq!(head_to_zero(&[0; 512], MIB as u64), MIB as u64);
    assert_eq!(head_to_zero(&[0xff; 512], 1 << 30), LONGEST_HEAD);
}

/// mtools' own opinion of what is made, and ours of what it makes; where it is installed.
#[test]
fn mtools_and_this_reader_agree() {
    let Ok(folder) = tempfile::tempdir() else { return };
    let path = folder.path().join("fat.img");
    let run = |program: &str, arguments: &[&str]| {
        let done = std::process::Command::new(program).arg("-i").arg(&path).args(arguments).output();
        done.ok().map(|done| (done.status.success(), done.stdout))
    };
    for size in [32 * KIB, MIB, 4150 * 512, 5 * MIB] {
        std::fs::write(&path, make(size, &[("one.txt", b"first"), ("TWO.IMG", &[9; 5000])]).unwrap()).unwrap();
        let Some(said) = run("mcopy", &["::two.img", "-"]) else { return };
        assert!(said == (true, vec![9; 5000]), "{size}");
    }
    for (size, options) in [(MIB, &[][..]), (16 * MIB, &[]), (64 * MIB, &["-F"])] {
        std::fs::write(&path, vec![0; size]).unwrap();
        let sectors = (size / 512).to_string();
        assert!(run("mformat", &[options, &["-v", "CONFIG", "-T", &sectors, "::"]].concat()).unwrap().0);
        std::fs::write(folder.path().join("a rather long name.text"), b"long").unwrap();
        let from = folder.path().join("a rather long name.text");
        assert!(run("mcopy", &[from.to_str().unwrap(), "::"]).unwrap().0);
        assert_eq!(text(&std::fs::read(&path).unwrap(), "A rather long name.text").as_deref(), Some(&b"long"[..]));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A small disk full of anything: an answer, soon, and no panic.
    #[test]
    fn any_bytes_are_read_or_refused(mut image in proptest::collection::vec(any::<u8>(), 512..8192), seed in any::<bool>()) {
        if seed {
            image[510..512].copy_from_slice(&[0x55, 0xaa]);
            image[11..14].copy_from_slice(&[0, 2, 1]);
            image[16] = 1;
        }
        poke(&image);
    }

    /// A good one with a few bytes changed in what leads to files.
    #[test]
    fn a_few_wrong_bytes_are_read_or_refused(changes in proptest::collection::vec((0_usize..24 * KIB, any::<u8>()), 1..16), wide in any::<bool>()) {
        let mut image = if wide { fat32() } else { make(64 * KIB, &[("autoboot.txt", &[1; 2000]), ("x", &[2; 700])]).unwrap() };
        for (at, byte) in changes {
            image[at] = byte;
        }
        poke(&image);
    }
}

fn poke(image: &[u8]) {
    let device = device(image);
    let Ok(fat) = Fat::of(&*device) else { return };
    for name in ["autoboot.txt", "none"] {
        if let Ok(Some(entry)) = fat.find(&*device, name) {
            let _ = (fat.text(&*device, &entry), fat.whole(&*device, &entry), entry.first_sector(&fat));
        }
    }
}
