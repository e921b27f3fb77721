//! Rule 14: what would rewrite the board's bootloader is refused, wherever it is in a boot image, and however the image is bent.

use crate::update::{
    a_boot,
    fat::{CLUSTER, Fat},
};
use ::update::bundle::{BundleError, check_boot, is_forbidden};
use std::io;

fn checked(image: &[u8]) -> Result<(), BundleError> {
    check_boot(image.len() as u64, &mut |at, into| {
        assert!(at % 4096 == 0 && into.len() <= 4096, "whole pages: {at}, {}", into.len());
        into.copy_from_slice(&image[at as usize..][..into.len()]);
        Ok(())
    })
}

#[test]
fn names_are_known_in_every_spelling() {
    for bad in [
        "recovery.bin",
        "RECOVERY.BIN",
        "Recovery.000",
        "pieeprom.upd",
        "pieeprom.sig",
        "PIEEPROM.BIN",
        "vl805.bin",
        "vl805.sig",
        "recovery.bin.",
    ] {
        assert!(is_forbidden(bad), "{bad}");
    }
    for good in
        ["config.txt", "start4.elf", "kernel8.img", "recovery", "my-recovery.bin", "autoboot.txt", "", "pieeprom"]
    {
        assert!(!is_forbidden(good), "{good}");
    }
}

#[test]
fn files_of_a_system_pass() {
    let content = vec![7; 5000];
    let files: Vec<(&str, &[u8])> =
        vec![("config.txt", b"a"), ("kernel8.img", &content), ("overlays/a.dtb", &content), ("overlays/b.dtb", b"")];
    checked(&a_boot(4 << 20, &files)).unwrap();
    checked(&a_boot(30 << 20, &files)).unwrap();
}

#[test]
fn a_long_name_counts_as_well_as_its_short_one() {
    let mut fat = Fat::new(4 << 20);
    let at = fat.root_at();
    let mut long = [0xff; 32];
    (long[0], long[11], long[12]) = (0x41, 0x0f, 0);
    let places = [1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24, 28, 30];
    for (place, letter) in places.iter().zip("recovery.bin\0".encode_utf16()) {
        long[*place..place + 2].copy_from_slice(&letter.to_le_bytes());
    }
    fat.image()[at..at + 32].copy_from_slice(&long);
    fat.entry(at + 32, "harmless.txt", 0x20, 0, 0);
    assert_eq!(checked(fat.image()).unwrap_err(), BundleError::Forbidden { file: "recovery.bin".into() });
    // A deleted one has no name any more.
    fat.image()[at] = 0xe5;
    checked(fat.image()).unwrap();
}

#[test]
fn it_is_found_in_the_second_cluster_of_a_folder() {
    let mut fat = Fat::new(4 << 20);
    let root = fat.root_at();
    let mut folder = vec![0; 2 * CLUSTER];
    for n in 0..31 {
        folder[n * 32..n * 32 + 11].copy_from_slice(format!("FILE{n:04}TXT").as_bytes());
    }
    folder[31 * 32..31 * 32 + 11].copy_from_slice(b"PIEEPROMUPD");
    let cluster = fat.store(&folder);
    fat.entry(root, "deep", 0x10, cluster, 0);
    assert_eq!(checked(fat.image()).unwrap_err(), BundleError::Forbidden { file: "PIEEPROM.UPD".into() });
}

#[test]
fn folders_without_an_end_have_one() {
    // A chain of clusters that comes back to itself.
    let mut fat = Fat::new(4 << 20);
    let root = fat.root_at();
    let cluster = fat.store(&[b'A'; 2 * CLUSTER]);
    fat.link(cluster + 1, cluster as u16);
    fat.entry(root, "loop", 0x10, cluster, 0);
    assert!(checked(fat.image()).unwrap_err().to_string().contains("no end"));
    // A folder that holds itself.
    let mut fat = Fat::new(4 << 20);
    let cluster = fat.store(&[0; CLUSTER]);
    let inside = fat.data_at() + (cluster - 2) * CLUSTER;
    fat.entry(inside, "self", 0x10, cluster, 0);
    fat.entry(root, "self", 0x10, cluster, 0);
    assert!(checked(fat.image()).unwrap_err().to_string().contains("no end"));
}

#[test]
fn what_is_no_fat_is_refused() {
    let sound = a_boot(4 << 20, &[]);
    for image in [vec![], vec![0; 511], vec![0; 512], vec![0xff; 8192], sound[..1 << 20].to_vec()] {
        assert!(matches!(checked(&image), Err(BundleError::Malformed { .. })), "{} bytes", image.len());
    }
    let failed = check_boot(4 << 20, &mut |_, _| Err(io::Error::other("EIO"))).unwrap_err();
    assert!(matches!(failed, BundleError::Io { .. }), "{failed}");
}

#[test]
fn no_bent_byte_of_its_first_sectors_makes_it_panic_or_hang() {
    let sound = a_boot(4 << 20, &[("config.txt", b"x"), ("overlays/a.dtb", b"y")]);
    let mut bent = sound.clone();
    for at in 0..64 {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            bent[at] = value;
            drop(checked(&bent));
        }
        bent[at] = sound[at];
    }
}
